// Where each part of a picture is, both for pixels and for markup.
#pragma once

#include <string>
#include <vector>

#include "maskctl/render/figure/axis.h"
#include "maskctl/render/picture/picture.h"

namespace maskctl {

/// The size of a character in pixels, for every surface.
inline constexpr Index kCharWidth = 8, kTextHeight = 16;
inline constexpr Rgb kFrameColor = {120, 120, 120};

enum class Anchor : std::uint8_t { kStart, kMiddle, kEnd };

/// What a sheet is drawn on. Positions are in pixels from the upper left corner.
class Surface {
 public:
  virtual ~Surface() = default;
  /// `title`: a description of the rectangle, shown when the reader points at it.
  virtual void fill(Index x, Index y, Index width, Index height, Rgb color,
                    const std::string& title = "") = 0;
  /// Draws UTF-8 text whose start, middle or end (`anchor`) is at x and whose upper edge is at y.
  /// Rising text reads upwards: its left edge is at x, its anchor at y.
  virtual void text(Index x, Index y, const std::string& utf8, Rgb color, Anchor anchor,
                    bool rising = false) = 0;
  /// Draws the cells of a panel, with their upper left corner at (x, y).
  virtual void cells(Index x, Index y, const InkGrid& grid, UnitSize unit) = 0;
};

/// One entry of the legend: colours, and the text after them. swatches() returns all entries: for
/// the size of a unit, for inks, for padding and for units with several segments.
struct Swatches {
  std::vector<Rgb> colors;
  std::string text;
};
std::vector<Swatches> swatches(const std::vector<InkGrid>& grids,
                               const std::vector<AxisBands>& bands, Palette palette,
                               const char* unit);

/// Computes the positions of title, captions, panels and legend, then draws them. The figure, the
/// options and the grids must outlive it.
class Sheet {
 public:
  Sheet(const Figure& figure, const PictureOptions& options, const std::vector<InkGrid>& grids);

  Index width() const { return width_; }
  Index height() const { return height_; }
  void draw(Surface& surface) const;

 private:
  /// One axis of a panel. Positions are in pixels from its first cell.
  struct Axis {
    Range cells;
    Index step = 1;  // cells per unit
    Index unit = 1;  // pixels per unit
    Index size = 0;  // length in pixels

    Index pixel(Index cell) const;
    Index tick(Index cell) const;
    std::string last() const;
  };
  struct Placed {
    std::vector<std::string> caption;
    Index x = 0, y = 0;       // upper left corner of the caption
    Index left = 0, top = 0;  // upper left corner of the cells
  };

  void measure();
  void place_panels();
  void place_legend();
  void draw_axes(const Placed& panel, const AxisBands& bands, Surface& surface) const;
  void draw_bands(const Placed& panel, const AxisBands& bands, Surface& surface) const;
  void draw_legend(Surface& surface) const;

  const Figure& figure_;
  const PictureOptions& options_;
  const std::vector<InkGrid>& grids_;
  UnitSize unit_;
  Axis q_, k_;
  std::vector<AxisBands> bands_;
  Index q_band_ = 0, k_band_ = 0;  // width of the bands in pixels; 0: no bands
  Index width_ = 0, height_ = 0, legend_top_ = 0;
  std::vector<std::string> title_;
  std::vector<Placed> panels_;
  std::vector<std::vector<Swatches>> legend_;  // the entries in each line of the legend
};

}  // namespace maskctl
