#include "maskctl/mask/planes/band_key.h"

#include <algorithm>

namespace maskctl {
namespace {

/// An edge of a band on some rows of a tile: key = value + slope * row, both relative to the tile.
/// Where the edge is outside the tile on all rows it is clipped to the tile, so that it is a
/// constant.
struct Edge {
  Index value, slope;
};
Edge relative_edge(Index value, bool slope, Range rows, Index width) {
  const Index first = value + (slope ? rows.begin : 0), last = value + (slope ? rows.end - 1 : 0);
  if (last <= 0) return {0, 0};
  if (first >= width) return {width, 0};
  if (rows.size() == 1) return {first, 0};
  return {value, slope ? 1 : 0};
}

/// Appends the edges of the bands that reach into the tile. `rows` are rows of the plane, `local`
/// the same rows relative to the tile.
void add_lines(std::span<const Band> bands, Range rows, Range local, Range k, BandKey& key) {
  const Index first = rows.begin - local.begin;
  // Bands ascend on every row: skip those to the left of the tile.
  auto band = std::ranges::partition_point(
      bands, [&](const Band& b) { return b.end_at(rows.end - 1) <= k.begin; });
  for (; band != bands.end() && band->begin_at(rows.begin) < k.end; ++band) {
    const Edge begin =
        relative_edge(band->begin_at(first) - k.begin, band->begin_slope != 0, local, k.size());
    const Edge end =
        relative_edge(band->end_at(first) - k.begin, band->end_slope != 0, local, k.size());
    for (const Index v : {begin.value, begin.slope, end.value, end.slope}) {
      key.push_back(static_cast<std::int32_t>(v));
    }
  }
}

}  // namespace

std::uint64_t hash_of_values(std::span<const std::int32_t> values) {
  std::uint64_t h = values.size();
  for (const std::int32_t v : values) {
    h = (h ^ static_cast<std::uint32_t>(v)) * 0x9e3779b97f4a7c15U;
    h ^= h >> 32;
  }
  return h;
}

std::optional<std::uint64_t> packed_band_key(const Band& band, Range q, Range k) {
  if (q.size() > kMostPacked || k.size() > kMostPacked) return std::nullopt;
  const Range local{0, q.size()};
  const auto packed = [&](Index key, bool slope) {
    const Edge edge = relative_edge(key - k.begin, slope, local, k.size());
    return static_cast<std::uint64_t>((edge.value + kMostPacked) * 2 + edge.slope);
  };
  return packed(band.begin_at(q.begin), band.begin_slope != 0) << 32 |
         packed(band.end_at(q.begin), band.end_slope != 0);
}

// The key describes groups of rows that are bounded by the same lines, one group after another: the
// first row, the row after the last one with a minus sign, and the lines.
void band_key(std::span<const Slab> slabs, Range q, Range k, BandKey& key) {
  constexpr std::size_t kHead = 2;
  key.clear();
  auto slab =
      std::ranges::partition_point(slabs, [&](const Slab& s) { return s.q.end <= q.begin; });
  std::size_t last = 0;  // start of the last group in the key
  for (; slab != slabs.end() && slab->q.begin < q.end; ++slab) {
    const Range rows = intersect(slab->q, q), local{rows.begin - q.begin, rows.end - q.begin};
    const std::size_t group = key.size();
    key.insert(key.end(), {static_cast<std::int32_t>(local.begin),
                           // The minus sign distinguishes this pair of rows from the (value, slope)
                           // of a line.
                           static_cast<std::int32_t>(-local.end)});
    add_lines(slab->bands, rows, local, k, key);
    const auto at = [&](std::size_t i) { return key.begin() + static_cast<std::ptrdiff_t>(i); };
    const bool continues = group > 0 && -key[last + 1] == local.begin &&
                           std::equal(at(last + kHead), at(group), at(group + kHead), key.end());
    if (continues) key[last + 1] = key[group + 1];
    const bool is_empty = key.size() == group + kHead;
    if (continues || is_empty) {
      key.resize(group);
    } else {
      last = group;
    }
  }
}

}  // namespace maskctl
