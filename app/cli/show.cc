// maskctl show: draws a mask in characters.
#include <fmt/format.h>

#include <span>

#include "app/cli/commands.h"
#include "app/cli/load.h"
#include "app/cli/output.h"
#include "app/cli/terminal.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/picture.h"
#include "maskctl/render/ejkernel/ejkernel.h"
#include "maskctl/render/ejkernel/mask_info_view.h"

namespace maskctl::app {
namespace {

/// The ids along the axes, [B,S] each.
struct AxisIds {
  std::optional<Tensor> q, kv;
};

void check_member(std::string_view axis, Index index, Index count) {
  if (index >= 0 && index < count) return;
  throw Error(
      Errc::kInvalidArgument,
      count == 1
          ? fmt::format("--{} {} is out of range: the mask has only {} 0", axis, index, axis)
          : fmt::format("--{} {} is out of range: the mask has 0 to {}", axis, index, count - 1));
}

/// The row of batch b; a single row serves all batches.
std::span<const std::int32_t> row_of(const std::optional<Tensor>& ids, Index b) {
  if (!ids) return {};
  const Index row = ids->extent(0) == 1 ? 0 : b;
  if (row >= ids->extent(0)) {
    throw Error(Errc::kShape, fmt::format("--segments: ids of {} batches, but batch {} is drawn",
                                          ids->extent(0), b));
  }
  const auto extent = static_cast<std::size_t>(ids->extent(1));
  return ids->as<std::int32_t>().subspan(static_cast<std::size_t>(row) * extent, extent);
}

/// The ids that came with the mask label it only if no step has changed its extents.
AxisIds ids_for(const ShowOptions& options, LoadedMask& loaded, const Mask& mask, Loader& loader) {
  if (!options.segments.empty()) {
    LoadedMask named = loader.read_segments(options.segments);
    return {std::move(named.q_segment_ids), std::move(named.kv_segment_ids)};
  }
  const bool fits = loaded.q_segment_ids && loaded.kv_segment_ids &&
                    loaded.q_segment_ids->extent(1) == mask.queries() &&
                    loaded.kv_segment_ids->extent(1) == mask.keys() &&
                    loaded.mask.batch() == mask.batch();
  if (!fits) return {};
  return {std::move(loaded.q_segment_ids), std::move(loaded.kv_segment_ids)};
}

std::string ejkernel_text(const ShowOptions& options, const Mask& mask, const AxisIds& ids) {
  EjkernelOptions out;
  if (options.block) {
    out.q_block = options.block->q;
    out.kv_block = options.block->k;
  }
  out.batch = options.batch;
  out.head = options.head;
  out.fit_in_screen = !options.no_fit;
  out.max_rows = options.max_rows.value_or(out.max_rows);
  out.max_cols = options.max_columns.value_or(out.max_cols);
  out.ascii = options.ascii;
  out.show_segments = !options.no_segments;
  out.mask_shape = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  const auto axis = [&](const std::optional<Tensor>& tensor) {
    return tensor ? std::optional(row_of(tensor, options.batch)) : std::nullopt;
  };
  return visualize_text(*mask.plane(options.batch, options.head), axis(ids.q), axis(ids.kv), out);
}

/// The whole drawing by the rules of MaskInfo.visualize.
std::string visualized(const ShowOptions& options, MaskInfo info) {
  VisualizeOptions out;
  if (options.block) out.block_size = std::pair(options.block->q, options.block->k);
  out.batch = options.batch;
  out.head = options.head;
  out.fit_in_screen = !options.no_fit;
  out.max_rows = options.max_rows.value_or(out.max_rows);
  out.max_cols = options.max_columns.value_or(out.max_cols);
  out.charset = options.ascii ? "ascii" : "unicode";
  out.show_segments = !options.no_segments;
  return visualize(info, out);
}

/// What a MaskInfo stores, in the form of a loaded mask, for our own drawing.
LoadedMask loaded_from(MaskInfo info) {
  LoadedMask out;
  const auto ids = [](const Array& array) {
    const bool drawable = array && array->rank() == 2 && array->dtype() == DType::kInt32;
    return drawable ? std::optional(*array) : std::nullopt;
  };
  out.q_segment_ids = ids(info.fields().q_segment_ids);
  out.kv_segment_ids = ids(info.fields().kv_segment_ids);
  out.mask = info.attention_mask().mask();
  return out;
}

DrawOptions draw_options(const ShowOptions& options, const GlobalOptions& globals) {
  DrawOptions out = stdout_drawing(options.style, globals.color);
  if (options.max_rows) out.max_rows = *options.max_rows;
  if (options.max_columns) out.max_columns = *options.max_columns;
  out.block = options.block;
  out.agg = options.agg;
  out.palette = options.palette;
  out.grid = options.grid;
  return out;
}

std::string own_text(const ShowOptions& options, const GlobalOptions& globals, const Mask& mask,
                     const AxisIds& ids) {
  DrawOptions out = draw_options(options, globals);
  if (!options.no_segments) {
    out.q_segments = row_of(ids.q, options.batch);
    out.k_segments = row_of(ids.kv, options.batch);
  }
  out.pad_id = options.source.pad_id;
  if (mask.batch() > 1) out.batch = options.batch;
  if (mask.heads() > 1) out.head = options.head;
  return draw_text(*mask.plane(options.batch, options.head), out);
}

void check_picture_options(const ShowOptions& options) {
  const char* lone = options.scale > 0          ? "--scale"
                     : !options.overlay.empty() ? "--overlay"
                     : options.tiles            ? "--tiles"
                                                : nullptr;
  if (!options.output.empty()) picture_format(options.output);  // refuse it before reading
  if (options.output.empty() && lone) {
    throw Error(Errc::kInvalidArgument, fmt::format("show: {} goes with -o FILE.png", lone));
  }
  if (!options.overlay.empty() && options.tiles) {
    throw Error(Errc::kInvalidArgument, "show: --overlay and --tiles exclude each other");
  }
}

void write_picture_of(const ShowOptions& options, const Mask& mask, const AxisIds& ids,
                      Loader& loader) {
  PictureInput input;
  input.plane = mask.plane(options.batch, options.head);
  input.name = options.name;
  if (mask.batch() > 1) input.batch = options.batch;
  if (mask.heads() > 1) input.head = options.head;
  if (!options.no_segments) {
    input.q_segments = row_of(ids.q, options.batch);
    input.k_segments = row_of(ids.kv, options.batch);
  }
  input.pad_id = options.source.pad_id;
  Mask other;
  if (!options.overlay.empty()) {
    other = loader.read(options.overlay).mask;
    if (other.batch() != 1) check_member("batch", options.batch, other.batch());
    if (other.heads() != 1) check_member("head", options.head, other.heads());
    input.other = other.plane(options.batch, options.head);
    input.other_name = options.overlay;
  }
  TileMap tiles;
  if (options.tiles) {
    tiles = tile_map(*input.plane, options.tiles->q, options.tiles->k);
    input.tiles = &tiles;
  }
  PictureOptions how;
  how.scale = options.scale;
  how.palette = options.palette;
  WriteOptions write;
  write.force = options.force;
  write_picture(options.output, input, how, write);
}

}  // namespace

void show(const ShowOptions& options, const GlobalOptions& globals) {
  check_picture_options(options);
  Loader loader(options.source, globals);
  LoadedMask loaded;
  if (options.source.ejkernel) {
    MaskInfo info = loader.transformed(loader.mask_info(options.name));
    if (options.ejkernel && options.output.empty()) {
      write_stdout(visualized(options, std::move(info)));
      return;
    }
    loaded = loaded_from(std::move(info));
  } else {
    loaded = loader.read(options.name);
  }
  const Mask mask = options.source.ejkernel ? loaded.mask : loader.transformed(loaded.mask);
  if (mask.batch() == 0 || mask.heads() == 0) {
    write_stdout("(empty)\n");
    return;
  }
  check_member("batch", options.batch, mask.batch());
  check_member("head", options.head, mask.heads());
  const AxisIds ids = ids_for(options, loaded, mask, loader);
  if (!options.output.empty()) {
    write_picture_of(options, mask, ids, loader);
    return;
  }
  write_stdout(options.ejkernel ? ejkernel_text(options, mask, ids)
                                : own_text(options, globals, mask, ids));
}

}  // namespace maskctl::app
