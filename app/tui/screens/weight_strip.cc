#include "app/tui/screens/weight_strip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "maskctl/base/printable.h"
#include "maskctl/render/figure/inks.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {
namespace {

/// Returns, for each character of a line, the sum of the weights of the keys that it stands for.
std::vector<float> sums_of(std::span<const float> weights, const Geometry& at) {
  const Index unit = at.unit().k * at.shape.columns;
  std::vector<float> out;
  for (Index k = at.keys.begin; k < at.keys.end; k += unit) {
    float sum = 0;
    for (Index i = k; i < std::min(k + unit, at.keys.end); ++i) sum += weights[as_size(i)];
    out.push_back(sum);
  }
  return out;
}

/// Returns how dark (as a number of `inks`) to draw a sum that is `share` times the largest sum of
/// the line. A positive share is always visible.
std::uint8_t ink_of(float share) {
  if (!(share > 0)) return ink::kNone;
  if (share >= 1) return ink::kAll;
  return static_cast<std::uint8_t>(1 + static_cast<int>(share * (ink::kAll - 1)));
}

Glyph glyph_of(const State& state, float share) {
  const std::uint8_t number = ink_of(share);
  const Ink& ink = inks(InkSet::kMask, Palette::kCividis)[number];
  Glyph out{.code = state.screen.utf8 ? ink.shade : static_cast<char32_t>(ink.ascii)};
  if (state.screen.colored() && number != ink::kNone) out.fg = terminal_color(ink.color);
  return out;
}

}  // namespace

void draw_weights(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas) {
  if (at.weight_rows.empty()) return;
  const Index top = at.weight_rows.begin, shown = at.weight_rows.size() - 1;
  const WeightRow& row =
      state.scene->weight_row(state.view.batch, state.view.cursor.query, pane.sources);
  canvas.write(top, pane.column + 1, fmt::format("weights of query {}", state.view.cursor.query),
               Glyph{.bold = true});
  if (!row.problem.empty()) {
    const Index room = at.first.key + at.columns - 1;
    return canvas.write(top + 1, pane.column + 1, shortened(printable(row.problem, kUncut), room));
  }
  // If two masks are side by side, one may have a single head where the other has several.
  const Index heads = row.weights.extent(0), drawn = std::min(shown, heads);
  const Index first = std::clamp<Index>(state.view.head - drawn / 2, 0, heads - drawn);
  for (Index i = 0; i < drawn; ++i) {
    const Index head = first + i;
    const auto sums = sums_of(row.of(head), at);
    const float most = std::ranges::max(sums);
    canvas.write(top + 1 + i, pane.column + 1, fmt::format("{}", head),
                 Glyph{.bold = head == state.view.head});
    for (std::size_t c = 0; c < sums.size(); ++c) {
      const Glyph glyph = glyph_of(state, most > 0 ? sums[c] / most : 0);
      for (Index j = 0; j < at.shape.characters; ++j) {
        const Index column = static_cast<Index>(c) * at.shape.characters + j;
        canvas.put(top + 1 + i, pane.column + at.first.key + column, glyph);
      }
    }
  }
}

}  // namespace maskctl::app::tui
