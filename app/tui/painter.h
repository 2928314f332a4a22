// Draws a state.
#pragma once

#include <list>

#include "app/tui/geometry.h"
#include "app/tui/overview.h"
#include "maskctl/render/text/canvas.h"

namespace maskctl::app::tui {

/// Draws states one after another, and keeps what the next one may need too.
class Painter {
 public:
  /// Exactly as large as the screen of the state.
  Canvas draw(const State& state);

 private:
  /// The inks of a part of a plane.
  struct Kept {
    Index batch = 0, head = 0;
    Sources sources = Sources::kBoth;
    int tile = -1;  // of tiles of 2^tile cells
    Range queries, keys;
    BlockSize block;
    InkGrid grid = {};

    bool same_part(const Kept& other) const;
  };
  const InkGrid& grid_of(const State& state, const Figure& figure, Sources sources,
                         BlockSize block);
  void draw_pane(const State& state, const Geometry& at, const Pane& pane, Canvas& canvas);
  void draw_mask(const State& state, const Geometry& at, Canvas& canvas);
  void draw_side(const State& state, const Geometry& at, Canvas& canvas);
  void draw_overview(const State& state, const Geometry& at, Canvas& canvas);

  ScenePtr scene_;        // of what is kept
  std::list<Kept> kept_;  // the most recent first
};

}  // namespace maskctl::app::tui
