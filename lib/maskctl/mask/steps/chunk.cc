#include "maskctl/mask/steps/chunk.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::string words(const Chunk& rule) {
  return rule.sizes.empty() ? fmt::format("chunk size {}", rule.size) : "chunks";
}

Meets meets(const Chunk&) { return Meets::kKeeps; }

Mask cells(const Chunk& rule, const MaskShape& shape) {
  const Index shift = rule.align == Align::kUnset ? 0 : align_shift(shape, rule.align, "chunk");
  const auto plane = [&](Index given, Index offset, Index origin) {
    if (given < 1) refuse("chunk", fmt::format("size {}: expected at least 1", given));
    check_offset(offset, "chunk");
    check_offset(origin, "chunk");
    const Index size = std::min(given, 4 * kUnbounded), moved = offset + shift;
    std::vector<Slab> slabs;
    for (Index start = origin - ceil_div(origin, size) * size; start < shape.keys; start += size) {
      const Range rows = intersect({start - moved, start + size - moved}, {0, shape.queries});
      if (!rows.empty()) slabs.push_back({rows, {{start, start + size, 0, 0}}});
    }
    return bands(shape.queries, shape.keys, slabs);
  };
  if (!rule.is_per_batch()) return Mask(plane(rule.size, rule.offset, 0));
  return per_values(shape, plane, per_batch(shape, rule.sizes, rule.size, "chunk", "sizes"),
                    per_batch(shape, rule.offsets, rule.offset, "chunk", "offsets"),
                    per_batch(shape, rule.origins, 0, "chunk", "origins"));
}

PairReason reason(const Chunk& rule, const MaskShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const Index origin = of_batch(rule.origins, cell.batch);
  const Index size = of_batch(rule.sizes, cell.batch, rule.size);
  const Index offset = of_batch(rule.offsets, cell.batch, rule.offset);
  const Index q = floor_div(cell.query + shift + offset - origin, size);
  const Index k = floor_div(cell.key - origin, size);
  std::string moved =
      shift == 0 ? "" : fmt::format(" {} {} from K - Q", shift < 0 ? '-' : '+', std::abs(shift));
  if (offset != 0) moved += fmt::format(" + offset {}", offset);
  const std::string from = origin == 0 ? "" : fmt::format(", origin={}", origin);
  return {q == k, fmt::format("query {}{} is in chunk {}, key {} in chunk {} (size={}{})",
                              cell.query, moved, q, cell.key, k, size, from)};
}

Expr formula(const Chunk& rule) {
  // Without align, rows are counted from the first one.
  const Align align = rule.align == Align::kUnset ? Align::kTopLeft : rule.align;
  const Expr origin = expr::of_batch("origin", rule.origins);
  const Expr size = expr::of_batch("size", rule.sizes, rule.size);
  const Expr offset = expr::of_batch("offset", rule.offsets, rule.offset);
  return expr::floor_divide(expr::diagonal(align) + offset - origin, size) ==
         expr::floor_divide(expr::key() - origin, size);
}

/// Two bits more than the arguments, so that a single chunk is described as padding instead.
Index bits(const Chunk&, const ArgumentBits& bits) { return bits.arguments() + 2; }

/// Adds the usual edits (steps that may have been meant instead), and variations in which two
/// neighbouring chunks are one, written as lengths of documents.
void edits(const Chunk& rule, StepEdits& edits) {
  edits.usual(rule);
  if (!edits.square() || rule.offset != 0 || rule.is_per_batch()) return;
  std::vector<Index> lengths;
  for (Index left = edits.keys(); left > 0; left -= rule.size) {
    lengths.push_back(std::min(left, rule.size));
  }
  edits.join(lengths.size(),
             [&](std::size_t n) { return DocumentLengths{StepEdits::joined(lengths, n)}; });
}

namespace {

constexpr std::array kChunkFields = {
    fields::number_or_each<Chunk, &Chunk::size, &Chunk::sizes>(
        {.name = "size",
         .help = "tokens in a chunk: a number, or one per batch",
         .required = true,
         .min = 1}),
    fields::number_or_each<Chunk, &Chunk::offset, &Chunk::offsets>(
        {.name = "offset",
         .help = "added to the query before its chunk is found: a number, or one per batch",
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
             .noun = "chunks",
             .synonyms = "chunked block-diagonal blocked",
             .make = blank<Chunk>}};
constexpr RuleInfo kChunkRow =
    describe<Chunk>(kChunkNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Chunk*) { return kChunkRow; }

}  // namespace maskctl::step
