#include "maskctl/mask/planes/diagonal_parts.h"

#include <algorithm>
#include <array>

#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

/// Appends the slabs (ranges of rows with the same bands) of one part, a band inside a rectangle.
/// Sloped edges become constant where they leave the keys of the part, which takes up to three
/// slabs.
void append_part(const DiagonalPart& part, std::vector<Slab>& slabs) {
  const Range rows = part.q, keys = part.k;
  const Index begin = part.low, end = part.high + 1;
  std::array<Index, 4> cuts{rows.begin, keys.begin - begin, keys.end - end, rows.end};
  for (Index& cut : cuts) cut = std::clamp(cut, rows.begin, rows.end);
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Range q{cuts[i], cuts[i + 1]};
    if (q.empty()) continue;
    const bool begin_slopes = q.begin + begin >= keys.begin, end_slopes = q.begin + end < keys.end;
    slabs.push_back(
        {q,
         {{begin_slopes ? begin : keys.begin, end_slopes ? end : keys.end,
           static_cast<std::uint8_t>(begin_slopes), static_cast<std::uint8_t>(end_slopes)}}});
  }
}

}  // namespace

PlanePtr diagonal_parts(Index queries, Index keys, std::span<const DiagonalPart> parts) {
  std::vector<Slab> slabs;
  for (const DiagonalPart& part : parts) append_part(part, slabs);
  return bands(queries, keys, slabs);
}

}  // namespace maskctl
