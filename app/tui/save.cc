#include "app/tui/save.h"

#include <fmt/format.h>

#include <span>

#include "app/session/save.h"
#include "app/tui/drawn.h"
#include "app/tui/geometry.h"
#include "app/tui/steps.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app::tui {
namespace {

/// The part that is visible, under the names of its SOURCEs.
Figure figure_of(const State& state) {
  const Scene& scene = *state.scene;
  const Geometry at = geometry(state);
  Figure figure{.name = scene.name, .other_name = scene.other_name, .pad_id = scene.pad_id};
  if (!scene.pipeline.empty()) figure.name += " | " + scene.pipeline;
  const Mask& mask = scene.mask;
  const bool whole = at.queries.size() == mask.queries() && at.keys.size() == mask.keys();
  if (!whole) figure.queries = at.queries;
  if (!whole) figure.keys = at.keys;
  if (!state.view.tiled) scene.tokens.label(figure);
  for (const Pane& pane : at.panes) {
    figure.panels.push_back(panel_of(state, pane.sources));
    if (state.view.tiled) figure.panels.back().tile_size = smallest_unit(state.view);
  }
  return figure;
}

DrawOptions drawing_of(const State& state, bool color) {
  const Geometry at = geometry(state);
  DrawOptions out = at.layout.options;
  const BlockSize least = smallest_unit(state.view);
  out.block = BlockSize{at.unit().q / least.q, at.unit().k / least.k};
  out.color = color;
  return out;
}

void write_text(const std::string& text, const std::string& file, bool replace) {
  AtomicFile out(file, replace);
  out.write(std::as_bytes(std::span(text)));
  out.commit();
}

void save_mask(const State& state, const Workbench& bench, const std::string& file, bool replace) {
  OutputOptions output;
  output.dest = file;
  output.force = replace;
  write_output(state.scene->mask, output, bench.session());
}

}  // namespace

void save(State& state, const Workbench& bench, const std::string& dest, bool replace) {
  if (dest.empty()) throw Error(Errc::kInvalidArgument, "w: no file; :w FILE");
  WriteOptions write;
  write.force = replace;
  if (dest.starts_with('@')) {
    const auto steps = split_steps(state.scene->pipeline);
    write_text(join_steps(steps, "\n") + "\n", dest.substr(1), replace);
    state.saved_pipeline = state.scene->pipeline;
  } else if (dest.ends_with(".txt") || dest.ends_with(".ansi")) {
    const DrawOptions options = drawing_of(state, dest.ends_with(".ansi"));
    write_text(draw_text(figure_of(state), options), dest, replace);
  } else if (is_picture_name(dest)) {
    write_picture(dest, figure_of(state), {}, write);
  } else {
    save_mask(state, bench, dest, replace);
    state.saved_pipeline = state.scene->pipeline;
  }
  state.message = fmt::format("wrote {}", shown(dest));
}

}  // namespace maskctl::app::tui
