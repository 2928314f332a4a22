// compressed: causal attention to keys that stand for several tokens each, as the compressed branch
// of native sparse attention has them (arXiv:2502.11089, section 3.3.1).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// Key k stands for the `size` tokens from k * stride on. Keeps cells where the last of them is not
/// after the query: k * stride + size - 1 <= q + offset. `offset` is the position of query 0.
struct Compressed {
  Index size = 0;
  Index stride = 0;
  Index offset = 0;
  friend bool operator==(const Compressed&, const Compressed&) = default;

  /// How many keys the query sees.
  Index seen(Index query) const {
    return std::max<Index>(floor_div(query + offset + 1 - size, stride) + 1, 0);
  }
};
const RuleInfo& row(const Compressed*);

std::string words(const Compressed& rule) {
  return fmt::format("compressed keys of {} tokens every {}", rule.size, rule.stride);
}

Meets meets(const Compressed&) { return Meets::kKeeps; }

Mask cells(const Compressed& rule, const MaskShape& shape) {
  if (rule.size < 1 || rule.stride < 1) {
    refuse("compressed", fmt::format("size {} and stride {}: expected at least 1 of both",
                                     rule.size, rule.stride));
  }
  std::vector<Slab> slabs;
  for (Index first = 0; first < shape.queries;) {
    const Index keys = rule.seen(first);
    // The first query that sees one key more, unless all are seen.
    const Index next = keys * rule.stride + rule.size - 1 - rule.offset;
    const Index end = keys < shape.keys ? std::min(next, shape.queries) : shape.queries;
    slabs.push_back({{first, end}, {{0, keys, 0, 0}}});
    first = end;
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

PairReason reason(const Compressed& rule, const MaskShape&, const Cell& cell) {
  const Index first = cell.key * rule.stride, last = first + rule.size - 1;
  const Index at = cell.query + rule.offset;
  return {last <= at, fmt::format("key {} stands for tokens {} to {}, query {} is token {}",
                                  cell.key, first, last, cell.query, at)};
}

Expr formula(const Compressed& rule) {
  return expr::key() <=
         expr::floor_divide(expr::query() + (rule.offset + 1 - rule.size), rule.stride);
}

/// Guesses the stride as the distance between rows that see one key more, and the size from the
/// first such row. If row 0 sees keys already, the size is taken to be the stride.
std::vector<Chain> guesses(const Compressed*, const SampledRows& rows) {
  Votes strides;
  std::vector<std::pair<Index, Index>> steps;  // rows that see one key more, and how many they see
  for (Index i = 0; i < rows.size(); ++i) {
    const bool prefix = rows[i].runs.empty() || (rows[i].runs.size() == 1 && rows[i].sees(0));
    if (!rows.follows(i) || !prefix || rows[i].keys() != rows[i - 1].keys() + 1) continue;
    if (!steps.empty() && steps.back().second + 1 == rows[i].keys()) {
      strides.add(rows[i].query - steps.back().first);
    }
    steps.emplace_back(rows[i].query, rows[i].keys());
  }
  const Index stride = strides.majority().value_or(1);
  if (stride < 2) return {};
  Votes firsts;  // the query that sees key 0, and no more, for the first time
  for (const auto& [query, keys] : steps) firsts.add(query - (keys - 1) * stride);
  const auto first = firsts.majority();
  if (!first) return {};
  if (*first >= 0) return {{Step(Compressed{.size = *first + 1, .stride = stride})}};
  return {{Step(Compressed{.size = stride, .stride = stride, .offset = stride - 1 - *first})}};
}

namespace {

constexpr std::array kCompressedFields = {
    fields::of<&Compressed::size>(
        {.name = "size", .help = "tokens that one key stands for", .required = true, .min = 1}),
    fields::of<&Compressed::stride>({.name = "stride",
                                     .help = "tokens from the first of one key to that of the next",
                                     .required = true,
                                     .min = 1}),
    fields::of<&Compressed::offset>({.name = "offset",
                                     .help = "the position of query 0 among the tokens",
                                     .fallback = "0",
                                     .min = kAnyNumber})};

constexpr std::array kCompressedNames = {
    StepInfo{.name = "compressed",
             .kind = StepKind::kAnd,
             .meaning = "keeps keys that stand for several tokens, once all of them are past",
             .formula = "k * stride + size - 1 <= q + offset",
             .example = "compressed:size=32,stride=16",
             .args = kCompressedFields,
             .noun = "compressed keys",
             .synonyms = "nsa compression pooled-keys",
             .make = blank<Compressed>}};
constexpr RuleInfo kCompressedRow =
    describe<Compressed>(kCompressedNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Compressed*) { return kCompressedRow; }

}  // namespace maskctl::step
