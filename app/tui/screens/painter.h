// Draws a state of the inspector.
#pragma once

#include "app/tui/beside/grids.h"
#include "app/tui/screens/overview.h"
#include "app/tui/state/geometry.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// The screen before anything is known about the mask.
Canvas opening_screen(const Screen& screen, const std::string& name, const std::string& status);

/// Draws states one after another, and caches what the next one may need again.
class Painter {
 public:
  /// `done` is called on another thread when more is known about what was drawn.
  explicit Painter(std::function<void()> done) : grids_(std::move(done)) {}

  /// Draws a canvas of the size of the state's screen. Parts that are not known by `end` are
  /// hatched.
  Canvas draw(const State& state, Time end);
  /// True while a part that was drawn as unknown is being counted.
  bool busy() const { return grids_.busy(); }

 private:
  std::shared_ptr<const InkGrid> grid_of(const State& state, const Figure& figure, BlockSize block);
  void draw_pane(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas);
  void draw_mask(const State& state, const Geometry& at, Canvas& canvas);
  void draw_side(const State& state, const Geometry& at, Canvas& canvas);
  void draw_overview(const State& state, const Geometry& at, Canvas& canvas);

  Grids grids_;
};

}  // namespace maskctl::app::tui
