#include "maskctl/mask/steps/block_causal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

Meets meets(const BlockCausal&) { return Meets::kKeeps; }

Mask cells(const BlockCausal& rule, const MaskShape& shape) {
  if (rule.size < 1) refuse("block-causal", fmt::format("size {}: expected at least 1", rule.size));
  const Index size = std::min(rule.size, kUnbounded);
  std::vector<Slab> slabs;
  for (Index first = 0; first < shape.queries; first += size) {
    // The end of the last block of keys that begins before the last token of this block.
    const Index end = ceil_div(first + size - 1, size) * size;
    slabs.push_back({{first, first + size}, {{0, end, 0, 0}}});
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

PairReason reason(const BlockCausal& rule, const MaskShape&, const Cell& cell) {
  const Index begin = cell.key - cell.key % rule.size;
  const Index last = cell.query - cell.query % rule.size + rule.size - 1;
  return {begin < last,
          fmt::format("the block of key {} begins at {}, that of query {} ends with {} (size={})",
                      cell.key, begin, cell.query, last, rule.size)};
}

Expr formula(const BlockCausal& rule) {
  const Expr q = expr::query(), k = expr::key();
  return k - expr::modulo(k, rule.size) < q - expr::modulo(q, rule.size) + (rule.size - 1);
}

namespace {

constexpr std::array kBlockCausalFields = {fields::of<&BlockCausal::size>(
    {.name = "size", .help = "tokens in a block", .required = true, .min = 1})};

constexpr std::array kBlockCausalNames = {
    StepInfo{.name = "block-causal",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys of blocks that begin before the query's block ends",
             .formula = "floor(k / size) * size < (floor(q / size) + 1) * size - 1",
             .example = "block-causal:size=64",
             .args = kBlockCausalFields,
             .make = blank<BlockCausal>,
             .for_calls = true}};
constexpr RuleInfo kBlockCausalRow =
    describe<BlockCausal>(kBlockCausalNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const BlockCausal*) { return kBlockCausalRow; }

}  // namespace maskctl::step
