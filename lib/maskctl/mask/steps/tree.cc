#include "maskctl/mask/steps/tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/mask/planes/computed_rows.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tree_parents.h"

namespace maskctl::step {
namespace {

/// Computed when read: a row costs O(stretches on the path to the root). A stretch is a range of
/// tokens each of which is the parent of the next.
class TreePlane final : public ComputedRows {
 public:
  TreePlane(Index queries, Index shift, TreeTokens parents)
      : ComputedRows(queries, std::ssize(parents)), shift_(shift), above_(std::move(parents)) {
    first_.resize(above_.size());
    for (std::size_t i = 0; i < above_.size(); ++i) {
      const bool continues = i > 0 && above_[i] == static_cast<std::int32_t>(i) - 1;
      first_[i] = continues ? first_[i - 1] : static_cast<std::int32_t>(i);
      if (continues) above_[i] = above_[as_size(first_[i])];
    }
  }

  Index bytes() const override {
    return static_cast<Index>(sizeof(*this) + 2 * above_.size() * sizeof(std::int32_t));
  }

 private:
  void row(Index q, std::vector<Run>& runs) const override {
    const Index token = q + shift_;
    if (token >= 0 && token < keys()) path(static_cast<std::int32_t>(token), runs);
  }

  /// The token and its ancestors, whose stretches may come in any order.
  void path(std::int32_t token, std::vector<Run>& runs) const {
    if (above_[as_size(token)] == kOutside) return;
    std::vector<Run> stretches;
    for (; token != kRoot; token = above_[as_size(token)]) {
      stretches.push_back({first_[as_size(token)], token + 1});
    }
    std::ranges::sort(stretches, {}, &Run::begin);
    for (const Run& stretch : stretches) append_run(stretch, runs);
  }

  Index shift_;
  TreeTokens first_;  // the first token of a token's stretch
  TreeTokens above_;  // the parent of that one
};

/// The parent of one token, read without the other batch entries. Depths cost O(the token), lens
/// O(stretches).
Index parent_of(const Tree& rule, Index batch, Index token) {
  const auto at = [&](const NamedArray& array, Index i) {
    return element(array.array, token_index(array.array, batch, i));
  };
  if (!rule.lens.empty()) {
    std::vector<Index> ends;
    Index start = 0;
    for (std::size_t i = 0; i < rule.lens.size() && start <= token; ++i) {
      const Index after = rule.after[i];
      if (token == start) return after == static_cast<Index>(i) ? kRoot : ends[as_size(after)] - 1;
      start += rule.lens[i];
      ends.push_back(start);
    }
    return token < start ? token - 1 : kOutside;
  }
  if (!rule.parents.empty()) {
    const Index parent = at(rule.parents, token);
    return parent == token ? kRoot : parent;
  }
  Index parent = token - 1;
  while (parent >= 0 && at(rule.depth, parent) >= at(rule.depth, token)) --parent;
  return parent;
}

/// "9 <- 5 <- 2": a token and its ancestors up to `last`, or to the root.
std::string path_text(const Tree& rule, Index batch, Index token, Index last) {
  constexpr int kShown = 6;
  std::string out = std::to_string(token);
  for (int n = 0; token != last; ++n) {
    token = parent_of(rule, batch, token);
    if (token < 0) break;
    if (n < kShown) out += fmt::format(" <- {}", token);
    if (n == kShown) out += " <- ...";
  }
  return out;
}

bool is_ancestor(const Tree& rule, Index batch, Index token, Index key) {
  if (parent_of(rule, batch, token) == kOutside) return false;
  while (token >= 0 && token != key) token = parent_of(rule, batch, token);
  return token == key;
}

}  // namespace

Meets meets(const Tree&) { return Meets::kKeeps; }

/// Whether no stretch forks, so that the tokens below each root are a document, and these take
/// turns after a token or two.
bool are_interleaved(const Tree& rule) {
  if (2 * std::ssize(rule.lens) < std::reduce(rule.lens.begin(), rule.lens.end())) return false;
  std::vector<bool> continued(rule.lens.size());
  for (std::size_t i = 0; i < rule.lens.size(); ++i) {
    const std::size_t before = as_size(rule.after[i]);
    if (before != i && continued[before]) return false;
    continued[before] = continued[before] || before != i;
  }
  return true;
}

/// A stretch as long as the one before it, and one that continues the same stretch, say little.
Index bits(const Tree& rule, const ArgumentBits& argument) {
  if (rule.lens.empty() || are_interleaved(rule)) return argument.arguments();
  Index out = rule.align == Align::kUnset ? 0 : 1;
  for (std::size_t i = 0; i < rule.lens.size(); ++i) {
    const bool same = i > 0 && rule.lens[i] == rule.lens[i - 1];
    const bool beside = i > 0 && rule.after[i] == rule.after[i - 1];
    out += same ? 1 : argument.number();
    out += beside ? 1 : 1 + static_cast<Index>(std::bit_width(i));
  }
  return out;
}

Mask cells(const Tree& rule, const MaskShape& shape) {
  const Index shift = align_shift(shape, rule.align, "tree");
  for (const NamedArray* array : {&rule.parents, &rule.depth, &rule.tin, &rule.tout}) {
    if (!array->empty()) check_batched(shape, array->array, shape.keys, "tree", "keys");
  }
  const std::vector<TreeTokens> parents = parents_of(rule, shape.keys);
  return Mask::make(std::ssize(parents), 1, shape.queries, shape.keys, [&](Index b, Index) {
    return std::make_shared<TreePlane>(shape.queries, shift, parents[as_size(b)]);
  });
}

PairReason reason(const Tree& rule, const MaskShape& shape, const Cell& cell) {
  const Index token = cell.query + shift_of(shape, rule.align);
  const std::string at = diagonal_text(cell, shift_of(shape, rule.align), 0);
  if (token < 0 || token >= shape.keys) {
    return {false, fmt::format("query {}{} is no token of the tree", cell.query, at)};
  }
  if (rule.lens.empty() && !rule.tin.empty()) {
    const auto read = [&](const NamedArray& array, Index i) {
      return element(array.array, token_index(array.array, cell.batch, i));
    };
    const Index tin = read(rule.tin, cell.key), tout = read(rule.tout, cell.key);
    const Index query = read(rule.tin, token);
    return {tin <= query && query < tout,
            fmt::format("query {}{} has tin {}, key {} has tin {} and tout {}", cell.query, at,
                        query, cell.key, tin, tout)};
  }
  if (parent_of(rule, cell.batch, token) == kOutside) {
    return {false, fmt::format("query {}{} is past the last stretch", cell.query, at)};
  }
  if (is_ancestor(rule, cell.batch, token, cell.key)) {
    return {true, fmt::format("key {} is on the path of query {}{}: {}", cell.key, cell.query, at,
                              path_text(rule, cell.batch, token, cell.key))};
  }
  return {false, fmt::format("key {} is not on the path of query {}{}: {}", cell.key, cell.query,
                             at, path_text(rule, cell.batch, token, kRoot))};
}

CellFormula formula(const Tree& rule) {
  std::vector<TreeTokens> parents;
  const Index stretched = std::reduce(rule.lens.begin(), rule.lens.end());
  try {
    parents = parents_of(rule, stretched);
  } catch (const Error&) {
    return no_formula("its arguments make no tree");
  }
  const Index batches = std::ssize(parents), tokens = std::ssize(parents.front());
  Tensor tin(DType::kInt32, {batches, tokens}), tout(DType::kInt32, {batches, tokens});
  for (Index b = 0; b < batches; ++b) {
    const Tour tour = tour_of(parents[as_size(b)]);
    std::ranges::copy(tour.tin, tin.as<std::int32_t>().begin() + b * tokens);
    std::ranges::copy(tour.tout, tout.as<std::int32_t>().begin() + b * tokens);
  }
  const Expr token = expr::diagonal(rule.align);
  const Expr known = rule.lens.empty() ? expr::keys() : expr::number(tokens);
  const Expr inside = expr::number(0) <= token && token < known && expr::key() < known;
  const Expr query = expr::element("tin", tin, {token});
  return expr::where(inside,
                     expr::element("tin", tin, {expr::key()}) <= query &&
                         query < expr::element("tout", tout, {expr::key()}),
                     expr::truth(false));
}

std::optional<Misfit> misfit(const Tree& rule, GivenNames) {
  if (rule.lens.size() == rule.after.size()) return std::nullopt;
  return Misfit{"after", fmt::format("after= of tree has {}, lens= has {}",
                                     counted(std::ssize(rule.after), "number"), rule.lens.size())};
}

namespace {

template <auto Member>
constexpr Field stretch_field(std::string_view name, std::string_view help) {
  return fields::of<Member>(
      {.name = name, .type = FieldType::kLengths, .help = help, .required = true, .group = 1});
}
template <auto Member>
constexpr Field tree_field(std::string_view name, std::string_view help, int group) {
  return fields::of<Member>({.name = name,
                             .type = FieldType::kSource,
                             .help = help,
                             .required = true,
                             .group = group,
                             .stem = name});
}

constexpr std::array kTreeFields = {
    stretch_field<&Tree::lens>("lens", "tokens of each stretch, from the first token on"),
    stretch_field<&Tree::after>("after", "the stretch that each continues; its own number: a root"),
    tree_field<&Tree::parents>("parents", "the parent of each token [K] or [B,K]; -1: a root", 2),
    tree_field<&Tree::depth>("depth", "the depth of each token, in preorder", 3),
    tree_field<&Tree::tin>("tin", "where the interval of a token's descendants begins", 4),
    tree_field<&Tree::tout>("tout", "where it ends", 4),
    fields::align<&Tree::align>("which token row 0 is when Q != K; needed then (0 or K - Q)")};

constexpr std::array kTreeNames = {
    StepInfo{.name = "tree",
             .kind = StepKind::kAnd,
             .meaning = "keeps a token's ancestors and itself (rollouts, drafts)",
             .formula = "tin[k] <= tin[q + shift] < tout[k]",
             .example = "tree:lens=6+3+3,after=0+0+0",
             .args = kTreeFields,
             .synonyms = "ancestors medusa eagle rollouts speculative trie",
             .make = blank<Tree>}};
constexpr RuleInfo kTreeRow = describe<Tree>(kTreeNames, Reopening::kLeak, Declares::kPadding);

}  // namespace

const RuleInfo& row(const Tree*) { return kTreeRow; }

}  // namespace maskctl::step
