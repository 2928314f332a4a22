#include "maskctl/mask/steps/chunk.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const Chunk& rule) {
  return rule.sizes.empty() ? fmt::format("chunk size {}", rule.size) : "chunks";
}

Meets meets(const Chunk&) { return Meets::kKeeps; }

Mask cells(const Chunk& rule, const MaskShape& shape) {
  const auto batch = as_size(shape.batch);
  const std::vector<Index> sizes = rule.sizes.empty()
                                       ? std::vector<Index>(batch, rule.size)
                                       : per_batch(shape, rule.sizes, "chunk", "sizes");
  for (const Index size : sizes) {
    if (size < 1) refuse("chunk", fmt::format("size {}: expected at least 1", size));
  }
  check_offset(rule.offset, "chunk");
  const Index moved =
      rule.offset + (rule.align == Align::kUnset ? 0 : align_shift(shape, rule.align, "chunk"));
  const auto plane = [&](Index chunk, Index origin) {
    const Index size = std::min(chunk, 4 * kUnbounded);
    std::vector<Slab> slabs;
    for (Index start = origin - ceil_div(origin, size) * size; start < shape.keys; start += size) {
      const Range rows = intersect({start - moved, start + size - moved}, {0, shape.queries});
      if (!rows.empty()) slabs.push_back({rows, {{start, start + size, 0, 0}}});
    }
    return bands(shape.queries, shape.keys, slabs);
  };
  if (rule.origins.empty() && rule.sizes.empty()) return Mask(plane(rule.size, 0));
  const std::vector<Index> origins =
      rule.origins.empty() ? std::vector<Index>(batch, 0)
                           : per_batch_offsets(shape, rule.origins, "chunk", "origins");
  return per_values(shape, plane, sizes, origins);
}

PairReason reason(const Chunk& rule, const MaskShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const Index origin = of_batch(rule.origins, cell.batch);
  const Index size = of_batch(rule.sizes, cell.batch, rule.size);
  const Index q = floor_div(cell.query + shift + rule.offset - origin, size);
  const Index k = floor_div(cell.key - origin, size);
  std::string moved =
      shift == 0 ? "" : fmt::format(" {} {} from K - Q", shift < 0 ? '-' : '+', std::abs(shift));
  if (rule.offset != 0) moved += fmt::format(" + offset {}", rule.offset);
  const std::string from = origin == 0 ? "" : fmt::format(", origin={}", origin);
  return {q == k, fmt::format("query {}{} is in chunk {}, key {} in chunk {} (size={}{})",
                              cell.query, moved, q, cell.key, k, size, from)};
}

Expr formula(const Chunk& rule) {
  // Without an alignment rows count from the first.
  const Align align = rule.align == Align::kUnset ? Align::kTopLeft : rule.align;
  const Expr origin = expr::of_batch("origin", rule.origins);
  const Expr size =
      rule.sizes.empty() ? expr::number(rule.size) : expr::of_batch("size", rule.sizes);
  return expr::floor_divide(expr::diagonal(align) + rule.offset - origin, size) ==
         expr::floor_divide(expr::key() - origin, size);
}

namespace {

constexpr std::array kChunkFields = {
    fields::number_or_each<Chunk, &Chunk::size, &Chunk::sizes>(
        {.name = "size",
         .help = "tokens in a chunk: a number, or one per batch",
         .required = true,
         .min = 1}),
    fields::of<&Chunk::offset>({.name = "offset",
                                .help = "added to the query before its chunk is found",
                                .fallback = "0",
                                .min = kAnyNumber}),
    fields::align<&Chunk::align>(
        "which key row 0 sits at when Q != K: 0 (also when left out), or K - Q"),
    fields::of<&Chunk::origins>({.name = "origin",
                                 .type = FieldType::kIntegerOrSource,
                                 .help = "a key where a chunk starts: a number, or one per batch",
                                 .fallback = "0",
                                 .min = kAnyNumber})};

constexpr std::array kChunkNames = {
    StepInfo{.name = "chunk",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys in the query's chunk; not causal by itself",
             .formula = "floor((q + shift + offset - origin) / size) == floor((k - origin) / size)",
             .example = "chunk:size=8192",
             .args = kChunkFields,
             .synonyms = "chunked block-diagonal blocked",
             .make = blank<Chunk>}};
constexpr RuleInfo kChunkRow =
    describe<Chunk>(kChunkNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Chunk*) { return kChunkRow; }

}  // namespace maskctl::step
