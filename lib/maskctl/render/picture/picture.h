// What a picture shows and how large it may be; drawn by raster.h, svg.h and html.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/mask/blocks/block_map.h"
#include "maskctl/mask/plane.h"
#include "maskctl/render/text/draw.h"

namespace maskctl {

/// One mask, two masks over each other, or the tiles of a block map.
struct PictureInput {
  PlanePtr plane;                  // the mask, or A; not needed with `tiles`
  PlanePtr other;                  // B, of equal extents; null = one mask
  const TileMap* tiles = nullptr;  // if set, the picture shows these; must outlive the call
  /// Shown in the title; may contain anything, even bytes that are not text. Empty = not shown.
  std::string name, other_name;
  Index batch = -1, head = -1;  // shown in the title; -1 = not shown
  /// Ids along both axes, one for each query and key; empty = not shown.
  std::span<const std::int32_t> q_segments, k_segments;
  std::int32_t pad_id = -1;
};

struct PictureOptions {
  /// The most pixels on the longer side of the matrix (2 .. 4096), not counting rulers. If cells do
  /// not fit, a pixel represents a block of them.
  Index max_size = 1024;
  /// Pixels per cell (or block) on each axis; 0 = enlarge small masks to about 512 pixels.
  Index scale = 0;
  Palette palette = Palette::kCividis;  // for a single mask; overlays and tiles have fixed colours
  bool title = true;                    // name and statistics
  bool axes = true;                     // rulers and bands of segment ids
  bool legend = true;
};

struct Rgb {
  std::uint8_t r = 0, g = 0, b = 0;
  friend bool operator==(const Rgb&, const Rgb&) = default;
};

/// Throws Error(kInvalidArgument) for a missing plane, a B together with tiles, ids of another
/// extent and options out of range, Error(kShape) for planes of unequal extents.
void check_picture(const PictureInput& input, const PictureOptions& options);

/// Extents in cells.
Index picture_queries(const PictureInput& input);
Index picture_keys(const PictureInput& input);

}  // namespace maskctl
