// The inks of parts of a mask: counted beside the interface, and kept.
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "app/tui/scene.h"
#include "maskctl/render/figure/ink_grid.h"

namespace maskctl::app::tui {

/// A part of a panel in units of some cells.
struct GridPart {
  Panel panel;
  Range queries, keys;
  BlockSize block;
};

class Grids {
 public:
  /// `done` is called on another thread when a grid has been counted.
  explicit Grids(std::function<void()> done);
  ~Grids();

  /// The next grids belong to one screen, which waits for them until `end`.
  void begin_screen(const ScenePtr& scene, Time end);
  /// The grid of a part of the scene. Rows that are not counted in time are unknown in it.
  std::shared_ptr<const InkGrid> grid(const GridPart& part);
  /// Stops counting what the screen does not show.
  void end_screen();
  /// True while something that the screen shows is being counted.
  bool busy() const;

 private:
  struct Kept;

  std::function<void()> done_;
  ScenePtr scene_;
  Time end_;
  std::list<Kept> kept_;   // the most recent first
  std::size_t shown_ = 0;  // so many of them are on the screen
};

}  // namespace maskctl::app::tui
