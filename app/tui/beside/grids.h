// Counts the grids (open cells per unit) that screens draw, in the background, and caches them.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "app/tui/beside/scene.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// A rectangle of a panel. Each unit of its drawing shows a block of `block` cells.
struct GridPart {
  Panel panel;
  Range queries, keys;
  BlockSize block;
};

class Grids {
 public:
  /// `done` is called on another thread when a grid is complete.
  explicit Grids(std::function<void()> done);
  ~Grids();

  /// Begins the drawing of a screen. Calls of grid() before end_screen() wait for counts until
  /// `end`.
  void begin_screen(const ScenePtr& scene, Time end);
  /// The grid for a part of the scene. Rows that are not counted in time are marked as unknown.
  std::shared_ptr<const InkGrid> grid(const GridPart& part);
  /// Stops counting for parts that this screen does not show.
  void end_screen();
  /// True while a part on the screen is being counted.
  bool busy() const;

 private:
  struct Kept;

  std::function<void()> done_;
  ScenePtr scene_;
  Time end_;
  std::list<Kept> kept_;   // grids, most recently used first
  std::size_t shown_ = 0;  // the first `shown_` elements of kept_ are on the screen
};

}  // namespace maskctl::app::tui
