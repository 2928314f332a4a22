#include "maskctl/mask/steps/at.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/inner_chain.h"
#include "maskctl/mask/steps/token_indices.h"

namespace maskctl::step {

bool operator==(const At& a, const At& b) {
  const TokenIndices &own = a, &other = b;
  return own == other && a.n == b.n && a.chain == b.chain;
}

namespace {

/// How many tokens the chain is applied to.
Index tokens_of(const At& rule, const MaskShape& shape) {
  const auto end = [](const GivenIndices& side, Index extent) {
    return side.is_given() ? side.end() : extent;
  };
  const Index least =
      std::max(end(queries_of(rule), shape.queries), end(keys_of(rule), shape.keys));
  if (rule.n != 0 && rule.n < least) {
    refuse("at", fmt::format("n={}: expected at least {}, the last position and 1", rule.n, least));
  }
  return std::max(rule.n, least);
}

/// The side as it is, or all indices of a mask that has fewer than the chain is applied to.
Mask placed(const At& rule, const Mask& all, const MaskShape& shape) {
  const std::vector<Range> first_q{{0, shape.queries}}, first_k{{0, shape.keys}};
  const GivenIndices q = queries_of(rule), kv = keys_of(rule);
  const Mask out = taken_of(all, q.is_given() ? q : GivenIndices{rule.q, first_q},
                            kv.is_given() ? kv : GivenIndices{rule.kv, first_k}, "at");
  if (out.queries() != shape.queries || out.keys() != shape.keys) {
    refuse("at", fmt::format("positions of {} queries and {} keys: the mask has {} and {}",
                             out.queries(), out.keys(), shape.queries, shape.keys));
  }
  return out;
}

}  // namespace

Meets meets(const At&) { return Meets::kOwn; }

Mask apply_rule(const At& rule, const Mask& mask) {
  const MaskShape shape = shape_of(mask);
  return apply_to_tokens(rule.chain, mask, tokens_of(rule, shape), "at",
                         [&](const Mask& all) { return placed(rule, all, shape); });
}

std::optional<Inside> inside(const At& rule, const MaskShape& shape, const Cell& cell) {
  const Index n = tokens_of(rule, shape);
  return Inside{{shape.batch, shape.heads, n, n},
                {cell.batch, cell.head, queries_of(rule).at(cell.batch, cell.query),
                 keys_of(rule).at(cell.batch, cell.key)}};
}

PairReason reason(const At& rule, const MaskShape&, const Cell& cell) {
  return {true, fmt::format("query {} is token {}, key {} is token {}", cell.query,
                            queries_of(rule).at(cell.batch, cell.query), cell.key,
                            keys_of(rule).at(cell.batch, cell.key))};
}

CellFormula formula(const At&) { return no_formula("it applies a chain"); }

std::optional<Misfit> misfit(const At& rule, GivenNames) {
  return misfit_of(queries_of(rule), keys_of(rule));
}

std::string words(const At&) { return "positions of tokens"; }

void edits(const At& rule, StepEdits& edits) {
  edits.without(rule);
  edits.inside(rule);
}

namespace {

constexpr auto kAtFields = [] {
  std::array<Field, 6> out;
  std::ranges::copy(index_fields<At>(), out.begin());
  out[5] = fields::of<&At::n>(
      {.name = "n", .help = "the tokens of the whole, if the last is not here", .fallback = "0"});
  return out;
}();

constexpr std::array kAtNames = {
    StepInfo{.name = "at",
             .kind = StepKind::kOwn,
             .meaning = "applies a chain at the positions of tokens: ranks, slots, evicted caches",
             .formula = "chain(mask)[q_index[q], kv_index[k]]",
             .example = "at:queries=0-3+12-15,keys=0-15{causal}",
             .args = kAtFields,
             .synonyms = "positions zigzag striped rank ring slots",
             .make = blank<At>,
             .chain = chain_in<At>}};
constexpr RuleInfo kAtRow = describe<At>(kAtNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const At*) { return kAtRow; }

}  // namespace maskctl::step
