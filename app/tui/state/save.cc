#include "app/tui/state/save.h"

#include <fmt/format.h>

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "app/reports/page_notes.h"
#include "app/tui/beside/steps.h"
#include "app/tui/state/drawn.h"
#include "app/tui/state/geometry.h"
#include "maskctl/base/atomic_file.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/check.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/pipeline/picture.h"

namespace maskctl::app::tui {
namespace {

/// A figure of the visible part of the mask, with the names of the SOURCEs.
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

WriteFile text_file(const std::string& text, const std::string& file, bool replace) {
  return [=](const auto&) {
    AtomicFile out(file, replace);
    out.write(std::as_bytes(std::span(text)));
    out.commit();
  };
}

/// Returns a function that writes the drawing to `file`. It keeps the scene alive, because the
/// figure points into the scene.
WriteFile drawing_file(const State& state, const std::string& file, bool replace) {
  const DrawOptions options = drawing_of(state, file.ends_with(".ansi"));
  return [=, scene = state.scene, figure = figure_of(state)](const auto& progress) {
    text_file(draw_text(figure, options), file, replace)(progress);
  };
}

WriteFile picture_file(const State& state, const std::string& file, bool replace) {
  // Steps and findings are those of A.
  const bool of_a = !state.scene->other || state.view.sources == Sources::kBoth ||
                    state.view.sources == Sources::kA;
  return [=, scene = state.scene, figure = figure_of(state)](const auto&) mutable {
    WriteOptions write;
    write.force = replace;
    PageNotes notes;
    if (of_a && picture_format(file) == PictureFormat::kHtml) {
      notes = page_notes(scene->start, scene->chain, check(scene->checked));
      figure.notes = &notes;
    }
    write_picture(file, figure, {}, write);
  };
}

/// The array that is written: in a container with one array, which needs no name, that one. Throws
/// for a container with several, because all of them would go.
std::string array_in(const std::string& file) {
  const DestName name = parse_dest_name(file);
  const auto content = name.member.empty() ? dest_content(file) : std::nullopt;
  if (!content || content->arrays.empty()) return file;
  const std::string& first = content->arrays.front().name;
  if (content->arrays.size() == 1) return file + ":" + first;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} holds {}; :w {}:{} replaces one, another name is added",
                          printable(file), content->text(), printable(file), first));
}

/// Says what an array is that would be replaced; nothing if DEST names none that is there.
std::optional<std::string> what_is_there(const std::string& dest) {
  const auto content = dest_content(dest);
  if (!content || !content->named) return std::nullopt;
  const auto& [name, dtype, shape] = *content->named;
  const Index others = std::ssize(content->arrays) - 1;
  return fmt::format(
      "{} has an array {}, {} of {}{}", printable(parse_dest_name(dest).path), name,
      joined(shape, "x"), dtype,
      others == 0 ? ""
                  : fmt::format(" ({} stay{})", counted(others, "other"), others == 1 ? "s" : ""));
}

WriteFile mask_file(const State& state, const std::string& file, bool replace, Index max_bytes) {
  return [=, scene = state.scene](const auto& progress) {
    MaskWriteOptions write;
    write.max_bytes = max_bytes;
    write.rank = scene->rank;
    write.force = replace;
    write.progress = progress;
    const std::string dest = array_in(file);
    const auto there = replace ? std::nullopt : what_is_there(dest);
    if (there) throw Error(Errc::kIo, *there, {{Remedy::kOverwrite}});
    write_mask(dest, scene->mask, write);
  };
}

/// Prepares the file that the user asked for: what to write to `dest`, and, unless that is a
/// drawing, the pipeline that counts as saved afterwards.
FileAsked file_of(const State& state, const std::string& dest, bool replace, Index max_bytes) {
  const std::string& pipeline = state.scene->pipeline;
  const auto asked = [&](WriteFile write, std::optional<std::string> saved) {
    return FileAsked{dest, std::make_shared<const WriteFile>(std::move(write)), std::move(saved)};
  };
  if (dest.starts_with('@')) {
    const std::string steps = join_steps(split_steps(pipeline), "\n") + "\n";
    return asked(text_file(steps, dest.substr(1), replace), pipeline);
  }
  if (dest.ends_with(".txt") || dest.ends_with(".ansi")) {
    return asked(drawing_file(state, dest, replace), {});
  }
  if (is_picture_name(dest)) return asked(picture_file(state, dest, replace), {});
  return asked(mask_file(state, dest, replace, max_bytes), pipeline);
}

}  // namespace

void save(State& state, const Workbench& bench, const std::string& dest, bool replace) {
  if (dest.empty()) throw Error(Errc::kInvalidArgument, "w: no file; :w FILE");
  if (state.saving) {
    throw Error(Errc::kInvalidArgument, being_written(*state.saving) + "; <Esc> stops that");
  }
  state.saving = file_of(state, dest, replace, bench.max_bytes());
}

void leave(State& state, Request how) {
  const std::string_view verb = how == Request::kQuit ? "quit" : "leave";
  if (state.saving) {
    state.question = {fmt::format("{}; {} without it?", being_written(*state.saving), verb), how};
  } else if (state.scene->pipeline != state.saved_pipeline) {
    state.question = {
        fmt::format("the pipeline has changes (:w @FILE saves it); {} without them?", verb), how};
  } else {
    state.request = how;
  }
}

}  // namespace maskctl::app::tui
