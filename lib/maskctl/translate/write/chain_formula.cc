#include "maskctl/translate/write/chain_formula.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "maskctl/mask/steps/at.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/slice.h"
#include "maskctl/mask/steps/take.h"

namespace maskctl {
namespace {

/// The most tokens for which documents are written as arrays with an entry per token.
constexpr Index kMostTokens = Index{1} << 20;

/// Combines the formulas of the steps of a chain into one expression, starting from an all-open
/// mask.
class Composer {
 public:
  explicit Composer(const StepName& name) : name_(name) {}

  /// Returns false if a step has no formula; `missing` then says which step, and why.
  bool add(const Chain& chain) {
    return std::ranges::all_of(chain, [this](const Step& step) { return add(step); });
  }

  Expr mask = expr::truth(true);
  std::string missing;
  std::vector<std::string> notes;

 private:
  using Mapping = std::function<Expr(const Expr&)>;

  bool add(const Step& step);
  bool add_scope(const Step& step, const StepScope& scope);
  bool add_documents(const Step& step, const StepDocuments& documents);
  bool add_positions(const Step& step, const step::At& rule);
  bool slice(const Step& step, const step::Slice& part);
  bool take(const Step& step, const step::Take& rule);
  bool move(const Step& step, const Expr& query, const Expr& key, const Expr& batch,
            const Expr& head, bool keeps_arrays);
  bool refuse(const Step& step, std::string_view why) {
    missing = fmt::format("{} has no formula: {}", name_(step), why);
    return false;
  }

  const StepName& name_;
  // turns indices of a rule into those of the mask
  Mapping to_mask_ = [](const Expr& expr) { return expr; };
  bool moved_ = false;  // whether it changes queries and keys
};

Expr met(Meets how, const Expr& mask, const Expr& cells) {
  switch (how) {
    case Meets::kKeeps:
      return mask && cells;
    case Meets::kOpens:
      return mask || cells;
    case Meets::kCloses:
      return mask && !cells;
    case Meets::kFlips:
      return cells->kind == Expr::Kind::kNumber ? !mask : (mask && !cells) || (!mask && cells);
    case Meets::kReplaces:
    case Meets::kOwn:
      break;
  }
  return cells;
}

bool Composer::add(const Step& step) {
  if (const auto scope = step.row().scope) return add_scope(step, scope(step));
  if (chain_of(step)) {
    const auto documents = documents_in(step);
    if (documents) return add_documents(step, *documents);
  }
  if (const auto* at = step.get_if<step::At>()) return add_positions(step, *at);
  if (const auto* part = step.get_if<step::Slice>()) return slice(step, *part);
  if (const auto* rule = step.get_if<step::Take>()) return take(step, *rule);
  const RuleInfo& rule = step.row();
  const CellFormula formula = rule.formula(step);
  if (!formula.cells) return refuse(step, formula.missing);
  mask = met(rule.meets(step), mask, to_mask_(*formula.cells));
  return true;
}

/// Whether the expression reads an array, or another mask, with an entry per batch (or per head).
bool differs_along(const Expr& expr, bool heads) {
  const ExprNode& node = *expr;
  const Index outer = node.array.rank() - std::ssize(node.parts);
  const Index along = heads ? 1 : 0;
  const bool array =
      node.kind == Expr::Kind::kElement && outer > along && node.array.extent(along) > 1;
  const bool other =
      node.kind == Expr::Kind::kOtherMask && (heads ? node.mask.heads() : node.mask.batch()) > 1;
  return array || other || (!heads && node.kind == Expr::Kind::kOfBatch) ||
         std::ranges::any_of(node.parts,
                             [&](const Expr& part) { return differs_along(part, heads); });
}

/// Applies the chain to the heads or batches of the scope; the others keep the mask so far.
bool Composer::add_scope(const Step& step, const StepScope& scope) {
  const Chain& chain = *chain_of(step);
  Composer inner(*this);
  inner.mask = expr::query() == expr::query();  // a constant would hide what it is joined with
  inner.to_mask_ = [](const Expr& own) { return own; };  // documents take the place of batches
  if (!inner.add(chain)) {
    missing = inner.missing;
    return false;
  }
  const bool from_first = scope.members.size() == 1 && scope.members.front().begin == 0;
  if (!from_first && differs_along(inner.mask, scope.of_heads)) {
    return refuse(step, "its arrays count the members only");
  }
  inner.mask = mask;
  inner.to_mask_ = to_mask_;
  inner.add(chain);
  const Expr member = to_mask_(scope.of_heads ? expr::head() : expr::batch());
  const std::vector<Range> members(scope.members.begin(), scope.members.end());
  mask = expr::where(expr::is_in(members, member), inner.mask, mask);
  notes = std::move(inner.notes);
  return true;
}

/// For each token: its position in its document, and how many queries and keys the document has.
struct DocumentSide {
  std::vector<Index> position, queries, keys;
};

DocumentSide document_side(const std::vector<Index>& own, const std::vector<Index>& queries,
                           const std::vector<Index>& keys) {
  DocumentSide out;
  for (std::size_t d = 0; d < own.size(); ++d) {
    for (Index i = 0; i < own[d]; ++i) out.position.push_back(i);
    out.queries.insert(out.queries.end(), as_size(own[d]), queries[d]);
    out.keys.insert(out.keys.end(), as_size(own[d]), keys[d]);
  }
  return out;
}

/// Applies the chain inside documents: the positions and lengths that it reads are those of the
/// token's document.
bool Composer::add_documents(const Step& step, const StepDocuments& documents) {
  if (documents.q_lengths.empty()) return refuse(step, "it has ids that are not lengths");
  const std::vector<Index> queries(documents.q_lengths.begin(), documents.q_lengths.end());
  const std::vector<Index> keys(documents.k_lengths.begin(), documents.k_lengths.end());
  const bool shared = queries == keys;
  const Index total_q = std::accumulate(queries.begin(), queries.end(), Index{0});
  const Index total_k = std::accumulate(keys.begin(), keys.end(), Index{0});
  if (std::max(total_q, total_k) > kMostTokens) return refuse(step, "it has too many tokens");
  const Expr row = expr::of_tokens(shared);
  const auto numbers = [](std::string_view stem, const std::vector<Index>& values, const Expr& at) {
    return expr::element(stem, fields::numbers(values).array, {at});
  };
  const DocumentSide q = document_side(queries, queries, keys);
  const DocumentSide k = document_side(keys, queries, keys);
  const Expr query = numbers("q_pos", q.position, row);
  const Expr key = numbers(shared ? "q_pos" : "kv_pos", k.position, expr::key());
  const Expr all_keys = numbers(shared ? "q_len" : "kv_len", q.keys, row);
  const Expr last = shared ? query : query + all_keys - numbers("q_len", q.queries, row);
  const Expr number = expr::document("doc_id", queries, row);
  bool fits = true;
  Composer inner(*this);
  inner.moved_ = true;
  inner.to_mask_ = [&](const Expr& own) {
    return to_mask_(replaced(own, [&](const ExprNode& leaf) -> std::optional<Expr> {
      if (leaf.kind == Expr::Kind::kOfBatch) {
        fits = fits && leaf.array.elements() == std::ssize(queries);
        return expr::element(leaf.name, leaf.array, {number});
      }
      if (leaf.kind == Expr::Kind::kBatch) return number;
      if (leaf.kind == Expr::Kind::kQuery) return query;
      if (leaf.kind == Expr::Kind::kKey) return key;
      if (leaf.kind == Expr::Kind::kKeys) return all_keys;
      if (leaf.kind != Expr::Kind::kDiagonal) return std::nullopt;
      return leaf.align == Align::kBottomRight ? last : query;
    }));
  };
  const Expr same =
      to_mask_(number == expr::document(shared ? "doc_id" : "kv_doc_id", keys, expr::key()));
  if (!inner.add(*chain_of(step))) {
    missing = inner.missing;
    return false;
  }
  if (!fits) return refuse(step, "it has a list of other than one number per document");
  mask = inner.mask && same;
  notes = std::move(inner.notes);
  if (!shared) {
    notes.push_back(
        fmt::format("the arrays hold {0} queries and {1} keys: for Q_LEN = {0}, KV_LEN = {1}",
                    total_q, total_k));
  }
  return true;
}

/// The tokens of both sides as expressions of the query and the key.
struct TokenExprs {
  Expr query, key;
};
std::optional<TokenExprs> tokens_of(const step::TokenIndices& rule,
                                    std::vector<std::string>& notes) {
  const auto q = query_tokens(rule, kMostTokens), k = key_tokens(rule, kMostTokens);
  if (!q || !k || std::max(q->elements(), k->elements()) > kMostTokens) return std::nullopt;
  const auto side = [&](const Tensor& array, const char* name, const Expr& place, const char* what,
                        const char* length) {
    if (array.elements() == 0) return place;
    const Index tokens = array.extent(array.rank() - 1);
    notes.push_back(fmt::format("the arrays hold {0} {1}: for {2} = {0}", tokens, what, length));
    return expr::element(name, array, {place});
  };
  const bool shared = q->shape() == k->shape() && std::ranges::equal(q->bytes(), k->bytes());
  return TokenExprs{side(*q, shared ? "token" : "q_token", expr::query(), "queries", "Q_LEN"),
                    side(*k, shared ? "token" : "kv_token", expr::key(), "keys", "KV_LEN")};
}

/// Applies the chain to the positions of the tokens.
bool Composer::add_positions(const Step& step, const step::At& rule) {
  if (moved_) return refuse(step, "it counts tokens inside another step");
  Composer inner(*this);
  const auto tokens = tokens_of(rule, inner.notes);
  if (!tokens) return refuse(step, "it has too many tokens");
  bool sized = false;  // whether a formula reads the number of all tokens
  inner.moved_ = true;
  inner.to_mask_ = [&](const Expr& own) {
    return to_mask_(replaced(own, [&](const ExprNode& leaf) -> std::optional<Expr> {
      sized = sized || leaf.kind == Expr::Kind::kKeys;
      // As many queries as keys: both diagonals are the same.
      const bool query = leaf.kind == Expr::Kind::kQuery || leaf.kind == Expr::Kind::kDiagonal;
      if (query) return tokens->query;
      return leaf.kind == Expr::Kind::kKey ? std::optional(tokens->key) : std::nullopt;
    }));
  };
  if (!inner.add(*chain_of(step))) {
    missing = inner.missing;
    return false;
  }
  if (sized) return refuse(step, "its chain reads the number of all tokens");
  mask = inner.mask;
  notes = std::move(inner.notes);
  return true;
}

/// Gives the formulas so far other indices.
bool Composer::move(const Step& step, const Expr& query, const Expr& key, const Expr& batch,
                    const Expr& head, bool keeps_arrays) {
  using Kind = Expr::Kind;
  if (moved_) return refuse(step, "it moves cells inside another step");
  // true if some formula reads sizes of the mask before the step, which the code does not know
  bool sized = false;
  mask = replaced(mask, [&](const ExprNode& leaf) -> std::optional<Expr> {
    const bool array = leaf.kind == Kind::kOfBatch || leaf.kind == Kind::kElement ||
                       leaf.kind == Kind::kDocument || leaf.kind == Kind::kOtherMask;
    sized = sized || leaf.kind == Kind::kKeys || (array && !keeps_arrays) ||
            (leaf.kind == Kind::kDiagonal && leaf.align == Align::kBottomRight);
    if (leaf.kind == Kind::kQuery || leaf.kind == Kind::kDiagonal) return query;
    if (leaf.kind == Kind::kKey) return key;
    if (leaf.kind == Kind::kBatch) return batch;
    if (leaf.kind == Kind::kHead) return head;
    return std::nullopt;
  });
  return sized ? refuse(step, "the mask before it has other sizes") : true;
}

/// Slices the mask. Indices start at 0 again, so the begin of the slice is added to those in the
/// formulas so far.
bool Composer::slice(const Step& step, const step::Slice& part) {
  const auto begin = [](const std::optional<Range>& range) { return range ? range->begin : 0; };
  return move(step, expr::query() + begin(part.q), expr::key() + begin(part.k),
              expr::batch() + begin(part.b), expr::head() + begin(part.h), false);
}

/// Takes queries and keys by index: the formulas so far read those of the mask before.
bool Composer::take(const Step& step, const step::Take& rule) {
  const auto tokens = tokens_of(rule, notes);
  if (!tokens) return refuse(step, "it has too many tokens");
  return move(step, tokens->query, tokens->key, expr::batch(), expr::head(), true);
}

}  // namespace

ChainFormula chain_formula(const Chain& chain, const StepName& name) {
  Composer composer(name);
  composer.add(chain);
  return {std::move(composer.mask), std::move(composer.missing), std::move(composer.notes)};
}

}  // namespace maskctl
