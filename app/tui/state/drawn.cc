#include "app/tui/state/drawn.h"

#include "maskctl/mask/planes/bands.h"

namespace maskctl::app::tui {

Panel panel_of(const State& state, Sources sources) {
  const View& view = state.view;
  Panel out = state.counts().panel;
  if (view.sources == Sources::kBeside && state.counts().counted && !view.tiled) {
    const auto& [only_a, only_b] = state.counts().only;
    out.documents = {sources == Sources::kB ? only_b : only_a,
                     empty_plane(out.plane->queries(), out.plane->keys())};
  }
  if (view.sources == Sources::kBeside && sources == Sources::kB) out.plane = out.other;
  // Side by side, or in tiles, each drawing shows a single mask.
  if (view.sources == Sources::kBeside || view.tiled) out.other = out.different = nullptr;
  return out;
}

BlockSize smallest_unit(const View& view) {
  const Index cells = view.tiled ? Index{1} << view.tile : 1;
  return {cells, cells};
}

}  // namespace maskctl::app::tui
