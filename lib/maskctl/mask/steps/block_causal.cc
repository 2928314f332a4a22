#include "maskctl/mask/steps/block_causal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const BlockCausal& rule) {
  return rule.sizes.empty() ? fmt::format("causal blocks of {}", rule.size) : "causal blocks";
}

Meets meets(const BlockCausal&) { return Meets::kKeeps; }

Mask cells(const BlockCausal& rule, const MaskShape& shape) {
  const Index shift = shift_of(shape, rule.align);
  const auto plane = [&](Index given, Index offset) {
    if (given < 1) refuse("block-causal", fmt::format("size {}: expected at least 1", given));
    check_offset(offset, "block-causal");
    const Index size = std::min(given, 4 * kUnbounded), moved = offset + shift;
    std::vector<Slab> slabs;
    // Each slab has the rows of one block, from the block of row 0 on; blocks before key 0 see
    // nothing.
    const Index last = floor_div(std::max<Index>(shape.queries - 1, 0) + moved, size);
    for (Index block = std::max<Index>(floor_div(moved, size), 0); block <= last; ++block) {
      const Range rows =
          intersect({block * size - moved, (block + 1) * size - moved}, {0, shape.queries});
      if (!rows.empty()) slabs.push_back({rows, {{0, (block + 1) * size, 0, 0}}});
    }
    return bands(shape.queries, shape.keys, slabs);
  };
  if (!rule.is_per_batch()) return Mask(plane(rule.size, rule.offset));
  return per_values(shape, plane, per_batch(shape, rule.sizes, rule.size, "block-causal", "sizes"),
                    per_batch(shape, rule.offsets, rule.offset, "block-causal", "offsets"));
}

PairReason reason(const BlockCausal& rule, const MaskShape& shape, const Cell& cell) {
  const Index size = of_batch(rule.sizes, cell.batch, rule.size);
  const Index offset = of_batch(rule.offsets, cell.batch, rule.offset);
  const Index shift = shift_of(shape, rule.align);
  const Index q = floor_div(cell.query + shift + offset, size), k = cell.key / size;
  return {k <= q, fmt::format("query {}{} is in block {}, key {} in block {} (size={})", cell.query,
                              diagonal_text(cell, shift, offset), q, cell.key, k, size)};
}

BlockCausal idle(const BlockCausal&, const MaskShape& shape) {
  return {.size = std::max<Index>(std::max(shape.queries, shape.keys), 1)};
}

Expr formula(const BlockCausal& rule) {
  const Align align = rule.align == Align::kUnset ? Align::kTopLeft : rule.align;
  const Expr size = expr::of_batch("size", rule.sizes, rule.size);
  const Expr offset = expr::of_batch("offset", rule.offsets, rule.offset);
  return expr::floor_divide(expr::key(), size) <=
         expr::floor_divide(expr::diagonal(align) + offset, size);
}

/// Guesses the block size as the number of keys, of more than one, by which most rows see more than
/// the row before, and the offset as the one with which most of these rows begin a block. Two
/// blocks do not suffice: they are an open mask with a closed rectangle.
std::vector<Chain> guesses(const BlockCausal*, const SampledRows& rows) {
  Votes sizes;
  struct Begun {
    Index query, end, more;
  };
  std::vector<Begun> steps;  // rows that see more than the one before
  for (Index i = 0; i < rows.size(); ++i) {
    const auto runs = rows[i].runs, above = rows[std::max<Index>(i - 1, 0)].runs;
    if (!rows.follows(i) || runs.empty() || runs.front().begin != 0 || above.empty()) continue;
    const Index end = runs.back().end, before = above.back().end;
    if (end <= before + 1 || before == 0) continue;
    steps.push_back({rows[i].query, end, end - before});
    if (end < rows.keys()) sizes.add(end - before);  // the last block may be cut
  }
  const auto size = sizes.most();
  if (steps.size() < 2 || !size) return {};
  BlockCausal rule{.size = *size};
  Votes moved;
  for (const Begun& step : steps) {
    if (step.end < rows.keys() && step.more == *size) moved.add(step.end - *size - step.query);
  }
  const auto offset = moved.most();
  if (!offset) return {};
  rule.offset = *offset;
  if (rule.offset != 0 && rule.offset == rows.keys() - rows.queries()) {
    rule.offset = 0;
    rule.align = Align::kBottomRight;
  }
  return {{Step(rule)}};
}

namespace {

constexpr std::array kBlockCausalFields = {
    fields::number_or_each<BlockCausal, &BlockCausal::size, &BlockCausal::sizes>(
        {.name = "size",
         .help = "tokens in a block: a number, or one per batch",
         .required = true,
         .min = 1}),
    fields::number_or_each<BlockCausal, &BlockCausal::offset, &BlockCausal::offsets>(
        {.name = "offset",
         .help = "added to the query before its block is found: a number, or one per batch",
         .fallback = "0",
         .min = kAnyNumber}),
    fields::align<&BlockCausal::align>(
        "which key row 0 sits at when Q != K: 0 (also when left out), or K - Q")};

constexpr std::array kBlockCausalNames = {
    StepInfo{.name = "block-causal",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys in the query's block and in all blocks before it",
             .formula = "floor(k / size) <= floor((q + shift + offset) / size)",
             .example = "block-causal:size=4",
             .args = kBlockCausalFields,
             .noun = "causal blocks",
             .synonyms = "blockwise-causal chunk-causal causal-chunk semi-autoregressive",
             .make = blank<BlockCausal>}};
constexpr RuleInfo kBlockCausalRow =
    describe<BlockCausal>(kBlockCausalNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const BlockCausal*) { return kBlockCausalRow; }

}  // namespace maskctl::step
