// maskctl show: draws a mask as text or as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "app/cli/commands/ejkernel.h"
#include "app/cli/commands/several.h"
#include "app/cli/parser/groups.h"
#include "app/cli/parser/values.h"
#include "app/cli/terminal.h"
#include "app/reports/page_notes.h"
#include "app/session/checked.h"
#include "app/session/documents.h"
#include "app/session/ejkernel.h"
#include "app/session/elsewhere.h"
#include "app/session/loader.h"
#include "app/session/tokens.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/picture.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app {
namespace {

/// The indices of the batches or heads to draw.
struct Members {
  std::vector<Index> list = {0};
  bool all = false;
  bool given = false;

  bool several() const { return all || list.size() > 1; }
  std::vector<Index> of(Index count) const {
    if (!all) return list;
    std::vector<Index> out(static_cast<std::size_t>(count));
    std::iota(out.begin(), out.end(), Index{0});
    return out;
  }
};

struct ShowOptions {
  SourceOptions source;
  std::vector<std::string> sources;
  DocumentOptions documents;
  Members batch, head;
  bool ejkernel = false;
  Style style = Style::kAuto;
  std::optional<Index> max_rows, max_columns;
  std::optional<BlockSize> block;
  Agg agg = Agg::kAny;
  Palette palette = Palette::kCividis;
  bool grid = false;
  bool ascii = false;
  bool no_segments = false;
  std::string tokens;  // text files: FILE, or q=FILE,kv=FILE
  bool no_fit = false;
  std::string output;  // file for a picture
  bool force = false;
  Index scale = 0;  // pixels per cell; 0: automatic
  Index size = 0;   // pixels of the longer side; 0: automatic
  std::optional<std::string> title;
  std::string overlay;
  OtherSource other;  // how to read the overlay
  std::optional<BlockSize> tiles;
};

void show_style_options(OptionList& list, ShowOptions& show) {
  static constexpr std::string_view kStyles[] = {"auto",     "shade", "half",    "braille",
                                                 "quadrant", "ascii", "ejkernel"};
  list.choice("--style", kStyles, "characters to draw with; ejkernel: the text of its visualize()",
              [&show](std::size_t i) {
                show.ejkernel = i == 6;
                if (show.ejkernel) ejkernel::require("--style ejkernel");
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
  list.under(kEjkernel,
             [&] { list.flag("--no-fit", "draw every block (--style ejkernel)", show.no_fit); });
}

/// Parses a list of indices: "3", "0,3", "0-3+7" or "all".
Members parse_members(const std::string& text, std::string_view option) {
  if (text == "all") return {.all = true, .given = true};
  Members out{.list = {}, .given = true};
  for (const std::string& part : parse_list(text)) {
    const auto range = range_from(part);
    if (!range || range->empty() || range->size() > static_cast<Index>(kMostPanels)) {
      throw Error(
          Errc::kInvalidArgument,
          fmt::format("{} '{}': expected whole numbers from 0 on, as 3, 0,3, 0-3 or 0:4, or all",
                      option, printable(text)));
    }
    for (Index index = range->begin; index < range->end; ++index) {
      if (std::ranges::find(out.list, index) == out.list.end()) out.list.push_back(index);
    }
  }
  return out;
}

void declare(OptionList& list, ShowOptions& show) {
  list.operands("SOURCE", show.sources);
  declare_source(list, show.source);
  list.value("--batch", "LIST|all", "which batches to draw, as 3, 0,3 or 0-3 (0; of a page all)",
             [&show](const std::string& text) { show.batch = parse_members(text, "--batch"); });
  list.value("--head", "LIST|all",
             "which heads to draw; of several, equal ones once (0; of a page all)",
             [&show](const std::string& text) { show.head = parse_members(text, "--head"); });
  declare_documents(list, show.documents);
  list.flag("--no-segments", "no ids along the axes, and no leaks", show.no_segments);
  declare_tokens(list, show.tokens);
  list.integer("--max-rows", 0, "lines the drawing may take; 0: any (ejkernel: block rows, 32)",
               [&show](Index n) { show.max_rows = n; });
  list.integer("--max-columns", 0, "columns it may take; 0: any (ejkernel: block columns, 64)",
               [&show](Index n) { show.max_columns = n; });
  list.value("--block", "QxK", "elements for each cell of the drawing",
             [&show](const std::string& text) { show.block = parse_block(text, "--block"); });
  list.text("-o,--output", "FILE", "write a picture: FILE.png, FILE.svg or FILE.html", show.output);
  list.flag("-f,--force", "replace an existing file", show.force);
  list.integer("--scale", 1, "pixels of a cell (-o)", [&show](Index n) { show.scale = n; });
  list.integer("--size", 2, "pixels of the longer side, rulers apart (-o)",
               [&show](Index n) { show.size = n; });
  list.value("--title", "TEXT", "the title, instead of the SOURCE and its steps; '' for none",
             [&show](const std::string& text) { show.title = text; });
  list.text("--overlay", "SOURCE", "a second mask laid over the first", show.overlay);
  show.other.declare(list);
  declare_semantics(list, show.source);
  list.value("--tiles", "QxK", "draw the tiles of a kernel: empty, partial, full",
             [&show](const std::string& text) { show.tiles = parse_block(text, "--tiles"); });
  show_style_options(list, show);
}

void check_members(std::string_view axis, Members members, Index count) {
  const auto beyond = std::ranges::find_if(members.list, [&](Index i) { return i >= count; });
  if (members.all || beyond == members.list.end()) return;
  const Index index = *beyond;
  throw Error(
      Errc::kInvalidArgument,
      count == 1
          ? fmt::format("--{} {} is out of range: the mask has only {} 0", axis, index, axis)
          : fmt::format("--{} {} is out of range: the mask has 0 to {}", axis, index, count - 1));
}

ejkernel::VisualizeRequest visualize_request(const ShowOptions& options) {
  return {.block = options.block,
          .batch = options.batch.list.front(),
          .head = options.head.list.front(),
          .max_rows = options.max_rows,
          .max_columns = options.max_columns,
          .fit = !options.no_fit,
          .ascii = options.ascii,
          .segments = !options.no_segments};
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

bool is_page(const ShowOptions& options) {
  return !options.output.empty() && picture_format(options.output) == PictureFormat::kHtml;
}

void check_options(const ShowOptions& options) {
  // Throws for an unknown suffix before anything is read.
  if (!options.output.empty()) picture_format(options.output);
  if (!options.output.empty() && options.sources.size() > 1) {
    throw Error(Errc::kInvalidArgument,
                "show: -o writes a picture of one SOURCE; --head all and --batch all put all of "
                "its masks on it");
  }
  if (options.output.empty() && (options.scale > 0 || options.size > 0)) {
    throw Error(Errc::kInvalidArgument, fmt::format("show: {} goes with -o FILE.png",
                                                    options.scale > 0 ? "--scale" : "--size"));
  }
  if (is_page(options) && (options.scale > 0 || options.size > 0)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("show: {} goes with .png and .svg; a page zooms",
                            options.scale > 0 ? "--scale" : "--size"));
  }
  if (options.scale > 0 && options.size > 0) {
    throw Error(Errc::kInvalidArgument, "show: --scale and --size exclude each other");
  }
  if (options.ejkernel && options.title) {
    throw Error(Errc::kInvalidArgument, "show: --style ejkernel has no title; leave out --title");
  }
  if (options.ejkernel && (options.batch.several() || options.head.several())) {
    throw Error(Errc::kInvalidArgument,
                "show: --style ejkernel draws one batch and one head; name one of each");
  }
  const bool labels = (options.output.empty() && !options.ejkernel) || is_page(options);
  if (!options.tokens.empty() && (!labels || options.tiles)) {
    throw Error(Errc::kInvalidArgument,
                "show: --tokens labels cells that are drawn in characters or on a page; leave out "
                "-o FILE.png or .svg, --style ejkernel and --tiles");
  }
  if (!options.overlay.empty() && options.tiles) {
    throw Error(Errc::kInvalidArgument, "show: --overlay and --tiles exclude each other");
  }
}

/// The figure, and the data that it refers to.
struct Drawing {
  Mask mask, other;
  SegmentTensors ids;
  Tokens tokens;
  std::vector<TileMap> tiles;
  PageNotes notes;
  Figure figure;
};

/// A page shows at most this many batches and heads, unless the user asks for others, because each
/// is compared with all others to draw equal ones once.
constexpr Index kMostCompared = 4096;

/// The batches and heads to draw. A page shows all, up to kMostCompared.
std::pair<std::vector<Index>, std::vector<Index>> members_of(const ShowOptions& options,
                                                             const Mask& mask) {
  Members batch = options.batch, head = options.head;
  if (is_page(options)) {
    batch.all = batch.all || !batch.given;
    head.all = head.all || !head.given;
  }
  std::pair out{batch.of(mask.batch()), head.of(mask.heads())};
  if (!is_page(options)) return out;
  if (!head.given && std::ssize(out.second) > kMostCompared) out.second.resize(kMostCompared);
  const Index room = std::max<Index>(kMostCompared / std::ssize(out.second), 1);
  if (!batch.given && std::ssize(out.first) > room) out.first.resize(as_size(room));
  return out;
}

/// Leaves out the panels that a page has no room for, unless they were asked for, and says so.
void cut_panels(const ShowOptions& options, Drawing& drawing) {
  if (!is_page(options) || (options.batch.given && options.head.given)) return;
  std::vector<Panel>& panels = drawing.figure.panels;
  if (panels.size() > kMostPanels) panels.resize(kMostPanels);
  std::size_t shown = 0;
  for (const Panel& panel : panels) shown += panel.members.size();
  const auto batches = options.batch.given ? std::ssize(options.batch.of(drawing.mask.batch()))
                                           : drawing.mask.batch();
  const auto heads =
      options.head.given ? std::ssize(options.head.of(drawing.mask.heads())) : drawing.mask.heads();
  if (static_cast<Index>(shown) == batches * heads) return;
  drawing.notes.remarks.push_back(
      fmt::format("The page shows {} of {} batches and heads; --batch and --head choose others.",
                  shown, batches * heads));
}

void add_panels(const ShowOptions& options, Drawing& drawing) {
  const Mask& mask = drawing.mask;
  const Mask* other = options.overlay.empty() ? nullptr : &drawing.other;
  Figure& figure = drawing.figure;
  const auto [batches, heads] = members_of(options, mask);
  figure.panels = panels_of(mask, batches, heads, drawing.ids, other);
  cut_panels(options, drawing);
  if (!options.tiles) return;
  drawing.tiles.reserve(figure.panels.size());
  for (Panel& panel : figure.panels) {
    drawing.tiles.push_back(tile_map(*panel.plane, options.tiles->q, options.tiles->k));
    panel.tiles = &drawing.tiles.back();
  }
}

/// Writes the picture, and returns what it leaves out.
std::vector<std::string> write_picture_of(const ShowOptions& options, const Figure& figure) {
  PictureOptions how;
  how.scale = options.scale;
  if (options.size > 0) {
    const Panel& panel = figure.panels.front();
    const Index cells = std::max(panel.plane->queries(), panel.plane->keys());
    how.max_size = options.size;
    how.scale =
        std::clamp<Index>(options.size / panels_across(figure) / std::max<Index>(cells, 1), 1, 256);
  }
  how.palette = options.palette;
  WriteOptions write;
  write.force = options.force;
  return write_picture(options.output, figure, how, write);
}

/// The options for reading the overlay: those of the first SOURCE, without its steps, changed by
/// --as-b and the like.
SourceOptions how_overlay(const ShowOptions& options) {
  SourceOptions without_steps = options.source;
  without_steps.transforms.clear();
  return options.other.after(without_steps);
}

void add_overlay(const ShowOptions& options, Session& session, Drawing& drawing) {
  const SourceOptions how = how_overlay(options);
  Loader loader(how, session);
  drawing.other = loader.transformed(loader.read(options.overlay).mask);
  drawing.figure.other_name = with_pipeline(options.overlay, how);
}

/// A line that counts the differences or leaks in batches and heads that are not drawn; empty if
/// there are none.
std::string elsewhere_of(const ShowOptions& options, const Drawing& drawing) {
  const Mask& mask = drawing.mask;
  const auto [batches, heads] = members_of(options, mask);
  if (std::ssize(batches) == mask.batch() && std::ssize(heads) == mask.heads()) return "";
  const bool overlay = !options.overlay.empty();
  if (!overlay && !(drawing.ids.q && drawing.ids.k)) return "";
  const MarkedPlanes marked = overlay ? marked_differences(mask, drawing.other)
                                      : marked_leaks(mask, drawing.ids, drawing.figure.pad_id);
  return elsewhere_text(mask, marked, batches, heads, overlay ? "difference" : "leak");
}

/// The notes of a page: the steps (first that of a generated SOURCE) and the findings.
PageNotes notes_of(const std::string& source, CheckedMask checked, const ShowOptions& options,
                   Loader& loader) {
  checked.chain = loader.chain();
  checked.whole = loader.whole_chain(source, checked.chain);
  checked.documents = read_documents(options.documents, loader);
  const CheckResult found = check(checked);
  const auto parts = loader.own_steps(source);
  if (!parts) return page_notes(*checked.start, checked.chain, found);
  Chain chain = parts->chain;
  chain.insert(chain.end(), checked.chain.begin(), checked.chain.end());
  return page_notes(parts->start, chain, found);
}

Answer show(const std::string& source, const ShowOptions& options, Loader& loader,
            Session& session) {
  LoadedMask loaded;
  CheckedMask checked;
  if (options.source.ejkernel) {
    if (options.ejkernel && options.output.empty()) {
      return {ejkernel::visualized(loader, source, visualize_request(options))};
    }
    loaded = ejkernel::drawn(loader, source);
  } else if (is_page(options)) {
    CheckedSource read = read_checked(source, loader);
    loaded = read.checked.start ? std::move(read.loaded) : loader.read(source);
    checked = std::move(read.checked);
  } else {
    loaded = loader.read(source);
  }
  Drawing drawing;
  drawing.mask = options.source.ejkernel ? loaded.mask : loader.transformed(loaded.mask);
  const auto documents = documents_for(read_documents(options.documents, loader), loaded,
                                       drawing.mask, options.source.pad_id);
  if (documents) drawing.mask = with_batches_of(drawing.mask, *documents);
  const Mask& mask = drawing.mask;
  if (mask.batch() == 0 || mask.heads() == 0) return {"(empty)\n"};
  check_members("batch", options.batch, mask.batch());
  check_members("head", options.head, mask.heads());
  if (documents) drawing.ids = {documents->q, documents->kv};
  if (options.ejkernel && options.output.empty()) {
    const ejkernel::VisualizeRequest request = visualize_request(options);
    const Panel panel = panels_of(mask, options.batch.list, options.head.list, drawing.ids).front();
    return {ejkernel::visualized(mask, panel, request)};
  }
  if (options.no_segments) drawing.ids = {};
  if (!options.overlay.empty()) add_overlay(options, session, drawing);
  drawing.figure.name = options.title.value_or(with_pipeline(source, options.source));
  if (options.title) drawing.figure.other_name.clear();
  drawing.figure.pad_id = documents ? documents->pad_id : -1;
  drawing.tokens = tokens_of(read_tokens(options.tokens, loader.max_bytes()), mask);
  drawing.tokens.label(drawing.figure);
  if (checked.start) drawing.notes = notes_of(source, std::move(checked), options, loader);
  drawing.figure.notes = &drawing.notes;
  add_panels(options, drawing);
  const std::string elsewhere = elsewhere_of(options, drawing);
  if (options.output.empty()) {
    const std::string text = draw_text(drawing.figure, draw_options(options, session));
    return {elsewhere.empty() ? text : text + elsewhere + "\n"};
  }
  for (const std::string& remark : write_picture_of(options, drawing.figure)) {
    session.note(remark);
  }
  if (!elsewhere.empty()) session.note(elsewhere);
  return {};
}

Answer run(const ShowOptions& options, Session& session) {
  check_options(options);
  Loader loader(options.source, session);
  const auto show_one = [&](const std::string& source) {
    return show(source, options, loader, session);
  };
  if (!options.output.empty()) return show_one(options.sources.front());
  return answer_each(options.sources, options.source, false, session, show_one);
}

}  // namespace

extern const Command kShow = command<ShowOptions, declare, run>({
    .name = "show",
    .group = kLook,
    .operands = "SOURCE...",
    .summary = "draw a mask",
    .examples =
        "  maskctl show mask.npy --head 3\n"
        "  maskctl show mask.npy --head all -o heads.png\n"
        "  maskctl show mask.npy --segments seg.npy -o page.html\n"
        "  maskctl show mask.npy --head 0,3 --title 'before and after' --size 1600 -o h.svg\n"
        "  maskctl show seg.npy --as segments -t causal -t window:keys=128\n"
        "  maskctl show mask.npy --style ejkernel --block 64\n"
        "  maskctl show have.npy --overlay want.npy -o both.png\n",
});

}  // namespace maskctl::app
