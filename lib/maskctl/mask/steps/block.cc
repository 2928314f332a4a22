#include "maskctl/mask/steps/block.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::step {

std::string words(const Block&) { return "a block map"; }

Meets meets(const Block&) { return Meets::kKeeps; }

Mask cells(const Block& rule, const MaskShape& shape) {
  const Index rank = rule.map.array.rank();
  if (rank < 2 || rank > 4) {
    refuse("block", fmt::format("map of shape {}: expected (Qb, Kb), (B, Qb, Kb) or (B, H, Qb, Kb)",
                                shape_text(rule.map.array.shape())));
  }
  if (rule.q_size < 1 || rule.k_size < 1) {
    refuse("block",
           fmt::format("size {}x{}: expected sizes of at least 1", rule.q_size, rule.k_size));
  }
  const Tensor& map = rule.map.array;
  return mask_from_blocks(map, rank >= 3 ? map.extent(0) : 1, rank == 4 ? map.extent(1) : 1,
                          shape.queries, shape.keys, {rule.q_size, rule.k_size});
}

Expr formula(const Block& rule) {
  return expr::element("block_map", rule.map.array,
                       {expr::floor_divide(expr::query(), rule.q_size),
                        expr::floor_divide(expr::key(), rule.k_size)}) != 0;
}

PairReason reason(const Block& rule, const MaskShape& shape, const Cell& cell) {
  const Index row = cell.query / rule.q_size, column = cell.key / rule.k_size;
  const bool yes = evaluate(formula(rule), shape, cell) != 0;
  return {yes, fmt::format("block row {}, column {} of {}x{} is {}", row, column, rule.q_size,
                           rule.k_size, yes ? "set" : "0")};
}

/// One bit for each block: runs of equal blocks would not make the description shorter.
Index bits(const Block& rule, const ArgumentBits& bits) {
  return ArgumentBits::kName + rule.map.array.elements() + 2 * bits.number();
}

/// Compares the block sizes and counts the blocks that differ.
std::optional<Reason> change(const Block& a, const Step& other) {
  const auto* b = other.get_if<Block>();
  if (!b) return std::nullopt;
  Reason out = Reason::unchanged();
  out.compare("block rows", a.q_size, b->q_size);
  out.compare("block columns", a.k_size, b->k_size);
  if (a.map.array.shape() != b->map.array.shape()) {
    if (out.changes == 0) out.add("another block map");
    ++out.changes;
    return out;
  }
  const auto before = as_int64(a.map.array, "map"), after = as_int64(b->map.array, "map");
  Index differ = 0, first = -1;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if ((before[i] != 0) == (after[i] != 0)) continue;
    if (differ++ == 0) first = static_cast<Index>(i);
  }
  const Index columns = a.map.array.extent(a.map.array.rank() - 1);
  if (differ > 0) {
    out.add(fmt::format("{} of {} blocks changed, first block row {}, column {}", differ,
                        before.size(), first / columns, first % columns));
    out.changes += differ - 1;
  }
  // a grid of blocks fits almost any mask: counting one change more makes a change of a simpler
  // rule the preferred one
  if (out.changes > 0) ++out.changes;
  return out;
}

namespace {

/// Both block sizes as the single argument "64x128".
FieldValue size_of_block(const Step& step) {
  const Block& rule = step.as<Block>();
  return BlockSize{rule.q_size, rule.k_size};
}
void set_size_of_block(Step& step, FieldValue value) {
  Block& rule = step.as<Block>();
  const auto [q, k] = std::get<BlockSize>(value);
  rule.q_size = q;
  rule.k_size = k;
}

constexpr std::array kBlockFields = {
    fields::of<&Block::map>({.name = "SRC",
                             .type = FieldType::kSource,
                             .help = "map [Qb,Kb], [B,Qb,Kb] or [B,H,Qb,Kb]; nonzero = open",
                             .required = true,
                             .positional = true,
                             .stem = "map"}),
    Field{.name = "size",
          .type = FieldType::kBlockSize,
          .help = "queries x keys of a block",
          .required = true,
          .min = 1,
          .get = size_of_block,
          .set = set_size_of_block}};

constexpr std::array kBlockNames = {
    StepInfo{.name = "block",
             .kind = StepKind::kAnd,
             .meaning = "keeps the blocks that a map names",
             .formula = "map[floor(q / Qsize), floor(k / Ksize)] != 0",
             .example = "block:map.npy,size=64x128",
             .args = kBlockFields,
             .synonyms = "blocksparse block-sparse blockmap",
             .make = blank<Block>}};
constexpr RuleInfo kBlockRow =
    describe<Block>(kBlockNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Block*) { return kBlockRow; }

}  // namespace maskctl::step
