#include "app/tui/drawn.h"

namespace maskctl::app::tui {

Panel panel_of(const State& state, Sources sources) {
  const View& view = state.view;
  Panel out = state.scene->facts(view.batch, view.head, sources).panel;
  if (!view.tiled) return out;
  out.other = nullptr;
  out.tiles = &state.scene->tiles(view.batch, view.head, sources, view.tile);
  return out;
}

const TileMap& tiles_of(const State& state) {
  const View& view = state.view;
  return state.scene->tiles(view.batch, view.head, view.sources, view.tile);
}

BlockSize smallest_unit(const View& view) {
  const Index cells = view.tiled ? Index{1} << view.tile : 1;
  return {cells, cells};
}

}  // namespace maskctl::app::tui
