// The padding mask or block map nearest to a mask: every open cell stays open.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/arrays/open_tokens.h"
#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

using Flags = std::span<std::uint8_t>;

void set(Flags flags, Range tokens) {
  std::fill(flags.begin() + tokens.begin, flags.begin() + tokens.end, std::uint8_t{1});
}

void set_open_keys(const Plane& plane, Flags flags) {
  for (const Run& run : open_keys(plane)) set(flags, {run.begin, run.end});
}

void set_open_queries(const Plane& plane, Flags flags) {
  each_open_row(plane, [&](Range equal, Range) { set(flags, equal); });
}

/// A bool array [B, length] whose row b is the union over the heads: set_flags(plane, flags) sets
/// the flags of one plane, and is called once per distinct plane.
template <typename F>
Tensor any_head(const Mask& mask, Index length, const F& set_flags) {
  const auto size = static_cast<std::size_t>(length);
  std::vector<std::vector<std::uint8_t>> of_plane;
  for (const PlanePtr& plane : mask.distinct()) {
    set_flags(*plane, Flags(of_plane.emplace_back(size)));
  }
  Tensor out(DType::kBool, {mask.batch(), length});
  for (Index b = 0; b < mask.batch(); ++b) {
    const Flags row = out.as<std::uint8_t>().subspan(static_cast<std::size_t>(b) * size, size);
    std::vector<std::uint8_t> done(of_plane.size());
    for (Index h = 0; h < mask.heads(); ++h) {
      const std::uint32_t number = mask.index_of(b, h);
      if (done[number]++ != 0) continue;
      std::ranges::transform(row, of_plane[number], row.begin(),
                             [](auto a, auto c) { return static_cast<std::uint8_t>(a | c); });
    }
  }
  return out;
}

/// The result for `opened`, a mask of one head that contains every open cell of `mask`.
Nearest superset(Tensor array, Mask opened, const Mask& mask) {
  Nearest out;
  out.changed = opened.count() * mask.heads() - mask.count();
  out.mask = std::move(opened);
  out.kv = array;
  out.q = std::move(array);
  return out;
}

PlanePtr opened_plane(const Plane& plane, Index q_size, Index k_size) {
  const TileMap map = tile_map(plane, q_size, k_size);
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<RowRef> refs;
  refs.reserve(static_cast<std::size_t>(plane.queries()));
  const auto key = [&](Index tile) {
    return static_cast<std::int32_t>(std::min(tile * k_size, plane.keys()));
  };
  for (Index row = 0; row < map.tile_rows(); ++row) {
    const auto at = static_cast<std::size_t>(row);
    const auto before = static_cast<std::size_t>(offsets.back());
    for (auto i = map.row_offsets[at]; i < map.row_offsets[at + 1]; ++i) {
      const TileRun& tile = map.runs[static_cast<std::size_t>(i)];
      const Run run{key(tile.first), key(Index{tile.first} + tile.count)};
      if (runs.size() > before && runs.back().end == run.begin) {
        runs.back().end = run.end;
      } else {
        runs.push_back(run);
      }
    }
    offsets.push_back(std::ssize(runs));
    refs.resize(static_cast<std::size_t>(std::min((row + 1) * q_size, plane.queries())),
                {static_cast<std::uint32_t>(row), 0, static_cast<std::int32_t>(plane.keys())});
  }
  return row_lists(plane.keys(), std::move(runs), std::move(offsets), std::move(refs));
}

}  // namespace

Nearest nearest_padding(const Mask& mask) {
  if (mask.queries() != mask.keys()) {
    throw Error(Errc::kShape,
                fmt::format("a padding mask has as many queries as keys, but the mask is {}; write "
                            "key-padding",
                            shape_text(mask)));
  }
  Tensor valid = any_head(mask, mask.keys(), [](const Plane& plane, Flags flags) {
    set_open_keys(plane, flags);
    set_open_queries(plane, flags);
  });
  Mask opened = mask_from_padding(valid);
  return superset(std::move(valid), std::move(opened), mask);
}

Nearest nearest_key_padding(const Mask& mask) {
  Tensor valid = any_head(mask, mask.keys(), set_open_keys);
  Mask opened = mask_from_key_padding(valid, mask.queries());
  return superset(std::move(valid), std::move(opened), mask);
}

Mask opened_blocks(const Mask& mask, Index q_size, Index k_size) {
  return mask.map([&](const PlanePtr& plane) { return opened_plane(*plane, q_size, k_size); });
}

void blockmap_rows(const Plane& plane, Range block_rows, Index q_size, Index k_size,
                   std::span<std::uint8_t> out) {
  const auto width = static_cast<std::size_t>(ceil_div(plane.keys(), k_size));
  std::ranges::fill(out, std::uint8_t{0});
  if (width == 0) return;
  std::vector<TileRun> tiles;
  for (Index row = block_rows.begin; row < block_rows.end; ++row) {
    tiles.clear();
    plane.tiles({row * q_size, std::min((row + 1) * q_size, plane.queries())}, k_size, tiles);
    const auto to = out.subspan(static_cast<std::size_t>(row - block_rows.begin) * width, width);
    for (const TileRun& tile : tiles) {
      std::fill_n(to.begin() + tile.first, tile.count,
                  static_cast<std::uint8_t>(tile.fill == Fill::kFull ? 2 : 1));
    }
  }
}

}  // namespace maskctl
