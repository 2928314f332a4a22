// maskctl show: draws a mask in characters.
#include <fmt/format.h>

#include <span>

#include "app/cli/commands/command.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/terminal.h"
#include "app/session/loader.h"
#include "maskctl/base/error.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/picture.h"
#include "maskctl/render/ejkernel/ejkernel.h"
#include "maskctl/render/ejkernel/mask_info_view.h"

namespace maskctl::app {
namespace {

struct ShowOptions {
  SourceOptions source;
  std::string name;
  std::string segments;
  Index batch = 0;
  Index head = 0;
  bool ejkernel = false;
  Style style = Style::kAuto;
  std::optional<Index> max_rows, max_columns;
  std::optional<BlockSize> block;
  Agg agg = Agg::kAny;
  Palette palette = Palette::kCividis;
  bool grid = false;
  bool ascii = false;
  bool no_segments = false;
  bool no_fit = false;
  std::string output;  // file of a picture
  bool force = false;
  Index scale = 0;  // 0: automatic
  std::string overlay;
  std::optional<BlockSize> tiles;
};

void show_style_options(OptionList& list, ShowOptions& show) {
  static constexpr std::string_view kStyles[] = {"auto",     "shade", "half",    "braille",
                                                 "quadrant", "ascii", "ejkernel"};
  list.choice("--style", kStyles, "characters to draw with; ejkernel: the text of its visualize()",
              [&show](std::size_t i) {
                show.ejkernel = i == 6;
                if (i < 6) show.style = static_cast<Style>(i);
              });
  static constexpr std::string_view kAggs[] = {"any", "all", "majority"};
  list.choice("--agg", kAggs, "when a cell of half, quadrant or braille is on (any)",
              [&show](std::size_t i) { show.agg = static_cast<Agg>(i); });
  static constexpr std::string_view kPalettes[] = {"cividis", "viridis", "grey"};
  list.choice("--palette", kPalettes, "colours of densities",
              [&show](std::size_t i) { show.palette = static_cast<Palette>(i); });
  list.flag("--grid", "a dot where nothing is open", show.grid);
  list.flag("--ascii", "ASCII only (ejkernel: its ascii charset)", show.ascii);
  list.flag("--no-fit", "ejkernel: draw every block", show.no_fit);
}

void declare(OptionList& list, ShowOptions& show) {
  list.operand("SOURCE", show.name);
  declare_source(list, show.source);
  declare_semantics(list, show.source);
  list.integer("--batch", -kMaxArgument, "which batch to draw (0)",
               [&show](Index n) { show.batch = n; });
  list.integer("--head", -kMaxArgument, "which head to draw (0)",
               [&show](Index n) { show.head = n; });
  list.text("--segments", "SOURCE", "segment ids that label the axes", show.segments);
  list.flag("--no-segments", "no ids along the axes", show.no_segments);
  list.integer("--max-rows", 0, "lines the drawing may take; 0: any (ejkernel: block rows, 32)",
               [&show](Index n) { show.max_rows = n; });
  list.integer("--max-columns", 0, "columns it may take; 0: any (ejkernel: block columns, 64)",
               [&show](Index n) { show.max_columns = n; });
  list.value("--block", "QxK", "elements for each cell of the drawing",
             [&show](const std::string& text) { show.block = parse_block(text, "--block"); });
  list.text("-o,--output", "FILE", "write a picture: FILE.png, FILE.svg or FILE.html", show.output);
  list.flag("-f,--force", "replace an existing file", show.force);
  list.integer("--scale", 1, "pixels of a cell (-o)", [&show](Index n) { show.scale = n; });
  list.text("--overlay", "SOURCE", "a second mask laid over the first (-o)", show.overlay);
  list.value("--tiles", "QxK", "draw the tiles of a kernel: empty, partial, full (-o)",
             [&show](const std::string& text) { show.tiles = parse_block(text, "--tiles"); });
  show_style_options(list, show);
}

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

DrawOptions draw_options(const ShowOptions& options, Session& session) {
  DrawOptions out =
      stdout_drawing(options.ascii ? Style::kAscii : options.style, session.settings().color);
  if (options.max_rows) out.max_rows = *options.max_rows;
  if (options.max_columns) out.max_columns = *options.max_columns;
  out.block = options.block;
  out.agg = options.agg;
  out.palette = options.palette;
  out.grid = options.grid;
  return out;
}

std::string own_text(const ShowOptions& options, Session& session, const Mask& mask,
                     const AxisIds& ids) {
  DrawOptions out = draw_options(options, session);
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

Answer run(const ShowOptions& options, Session& session) {
  check_picture_options(options);
  Loader loader(options.source, session);
  LoadedMask loaded;
  if (options.source.ejkernel) {
    MaskInfo info = loader.transformed(loader.mask_info(options.name));
    if (options.ejkernel && options.output.empty()) return {visualized(options, std::move(info))};
    loaded = loaded_from(std::move(info));
  } else {
    loaded = loader.read(options.name);
  }
  const Mask mask = options.source.ejkernel ? loaded.mask : loader.transformed(loaded.mask);
  if (mask.batch() == 0 || mask.heads() == 0) return {"(empty)\n"};
  check_member("batch", options.batch, mask.batch());
  check_member("head", options.head, mask.heads());
  const AxisIds ids = ids_for(options, loaded, mask, loader);
  if (!options.output.empty()) {
    write_picture_of(options, mask, ids, loader);
    return {};
  }
  return {options.ejkernel ? ejkernel_text(options, mask, ids)
                           : own_text(options, session, mask, ids)};
}

}  // namespace

const Command kShow = command<ShowOptions, declare, run>({
    .name = "show",
    .operands = "SOURCE",
    .summary = "draw a mask",
    .examples = "  maskctl show mask.npy --head 3\n"
                "  maskctl show seg.npy --as segments -t causal -t window:keys=128\n"
                "  maskctl show mask.npy --style ejkernel --block 64\n"
                "  maskctl show have.npy --overlay want.npy -o both.png\n",
});

}  // namespace maskctl::app
