// streaming: keeps the query's chunk and some chunks before it, as encoders of speech that stream
// do. Source: WeNet 0f46608, wenet/utils/mask.py, subsequent_chunk_mask; NeMo's att_context_style
// "chunked_limited" is the same with size = right + 1 and left / size chunks, by its copies.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/text.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

/// Keeps cells where 0 <= floor((q + shift) / size) - floor(k / size) <= left.
struct Streaming {
  Index size = 0;
  Index left = 0;
  Align align = Align::kUnset;
  friend bool operator==(const Streaming&, const Streaming&) = default;
};
const RuleInfo& row(const Streaming*);

std::string words(const Streaming& rule) {
  return fmt::format("chunks of {} that see {} before them", rule.size,
                     counted(rule.left, "chunk"));
}

Meets meets(const Streaming&) { return Meets::kKeeps; }

Mask cells(const Streaming& rule, const MaskShape& shape) {
  if (rule.size < 1) refuse("streaming", fmt::format("size {}: expected at least 1", rule.size));
  if (rule.left < 0) refuse("streaming", fmt::format("left {}: expected at least 0", rule.left));
  const Index shift = shift_of(shape, rule.align), size = std::min(rule.size, 4 * kUnbounded);
  std::vector<Slab> slabs;
  const Index last = floor_div(std::max<Index>(shape.queries - 1, 0) + shift, size);
  for (Index chunk = std::max<Index>(floor_div(shift, size), 0); chunk <= last; ++chunk) {
    const Range rows =
        intersect({chunk * size - shift, (chunk + 1) * size - shift}, {0, shape.queries});
    const Index first = std::max<Index>(chunk - std::min(rule.left, chunk), 0);
    if (!rows.empty()) slabs.push_back({rows, {{first * size, (chunk + 1) * size, 0, 0}}});
  }
  return Mask(bands(shape.queries, shape.keys, slabs));
}

PairReason reason(const Streaming& rule, const MaskShape& shape, const Cell& cell) {
  const Index shift = shift_of(shape, rule.align);
  const Index q = floor_div(cell.query + shift, rule.size), k = cell.key / rule.size;
  return {
      k <= q && q - k <= rule.left,
      fmt::format("query {}{} is in chunk {}, key {} in chunk {} (size={}, left={})", cell.query,
                  diagonal_text(cell, shift, 0), q, cell.key, k, rule.size, rule.left)};
}

Streaming idle(const Streaming&, const MaskShape& shape) {
  return {.size = std::max<Index>(std::max(shape.queries, shape.keys), 1)};
}

Expr formula(const Streaming& rule) {
  const Align align = rule.align == Align::kUnset ? Align::kTopLeft : rule.align;
  const Expr q = expr::floor_divide(expr::diagonal(align), rule.size);
  const Expr k = expr::floor_divide(expr::key(), rule.size);
  return k <= q && q - k <= expr::number(rule.left);
}

/// Guesses the size as what most rows that differ from the row before see more at their end, and
/// how many chunks are left from the rows that do not begin at key 0.
std::vector<Chain> guesses(const Streaming*, const SampledRows& rows) {
  Votes sizes, widths;
  for (Index i = 0; i < rows.size(); ++i) {
    const auto runs = rows[i].runs;
    if (runs.size() != 1) continue;
    if (runs[0].begin > 0 && runs[0].end < rows.keys()) widths.add(runs[0].end - runs[0].begin);
    if (!rows.follows(i) || rows[i - 1].runs.size() != 1) continue;
    const Index more = runs[0].end - rows[i - 1].runs[0].end;
    if (more > 0 && runs[0].end < rows.keys()) sizes.add(more);
  }
  const auto size = sizes.majority(), width = widths.majority();
  if (!size || !width || *size < 2 || *width % *size != 0 || *width == *size) return {};
  const Align align = rows.queries() == rows.keys() ? Align::kUnset : Align::kBottomRight;
  return {{Step(Streaming{*size, *width / *size - 1, align})}};
}

namespace {

constexpr std::array kStreamingFields = {
    fields::of<&Streaming::size>(
        {.name = "size", .help = "tokens in a chunk", .required = true, .min = 1}),
    fields::of<&Streaming::left>({.name = "left",
                                  .help = "chunks before the query's own that it sees",
                                  .required = true,
                                  .min = 0}),
    fields::align<&Streaming::align>(
        "which key row 0 sits at when Q != K: 0 (also when left out), or K - Q")};

constexpr std::array kStreamingNames = {
    StepInfo{.name = "streaming",
             .kind = StepKind::kAnd,
             .meaning = "keeps the keys in the query's chunk and in some chunks before it",
             .formula = "0 <= floor((q + shift) / size) - floor(k / size) <= left",
             .example = "streaming:size=4,left=2",
             .args = kStreamingFields,
             .noun = "streaming chunks",
             .synonyms = "chunked-limited left-context asr speech wenet",
             .make = blank<Streaming>}};
constexpr RuleInfo kStreamingRow =
    describe<Streaming>(kStreamingNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Streaming*) { return kStreamingRow; }

}  // namespace maskctl::step
