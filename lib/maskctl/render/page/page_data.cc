// The data of a page: what figure.h and page_notes.h hold, as JSON and a stream of runs.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "maskctl/base/grouped.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/render/figure/axis.h"
#include "maskctl/render/figure/words.h"
#include "maskctl/render/page/page.h"
#include "maskctl/render/page/run_stream.h"
#include "maskctl/render/picture/markup.h"

namespace maskctl {
namespace {

std::string list_of(const std::vector<std::string>& entries) {
  return fmt::format("[{}]", fmt::join(entries, ","));
}

std::string number_or_null(const std::optional<Index>& number) {
  return number ? fmt::format("{}", *number) : "null";
}

/// Writes the data of one figure.
class Writer {
 public:
  Writer(const Figure& figure, const PictureOptions& options, const PageLimits& limits)
      : figure_(figure),
        limits_(limits),
        palette_(options.palette),
        set_(ink_set(figure.panels.front())),
        q_(drawn_queries(figure)),
        k_(drawn_keys(figure)),
        unit_(tile_size_of(figure.panels.front()).value_or(BlockSize{1, 1})) {
    if (figure.notes != nullptr) remarks_ = figure.notes->remarks;
  }

  PageData write() {
    add_cells();
    add_steps();
    PageData out;
    const std::vector<std::string> title = title_lines(figure_, 0);
    out.title = title.empty() ? "mask" : title.front();
    // These calls come first: they find out what is left out, and fill the lists of bands.
    const std::string tokens = list_of(token_lists()), planes = list_of(plane_list());
    out.json = fmt::format(
        "{{\"schema\":\"maskctl.page/1\",\"title\":{},\n\"kind\":\"{}\",\"queries\":[{},{}],"
        "\"keys\":[{},{}],\"unit\":[{},{}],\n\"colors\":{},\"legend\":{},\n\"segmentColors\":{},"
        "\n\"tokens\":{},\n\"bands\":{},\n\"steps\":{},\n\"findings\":{},\n\"notLookedAt\":{},"
        "\n\"remarks\":{},\n"
        "\"lists\":[{}],\n\"planes\":{}}}",
        strings(title), kind(), q_.begin, q_.end, k_.begin, k_.end, unit_.q, unit_.k, colors(),
        legend(), segment_color_list(), tokens, list_of(bands_), strings(step_texts_), findings(),
        strings(figure_.notes != nullptr ? figure_.notes->not_looked_at
                                         : std::vector<std::string>{}),
        strings(remarks_), fmt::join(stream_->offsets(), ","), planes);
    out.remarks = remarks_;
    out.runs.assign(stream_->bytes().begin(), stream_->bytes().end());
    return out;
  }

 private:
  struct Lists {
    std::vector<std::size_t> layers;                  // numbers in the stream
    std::vector<std::optional<std::size_t>> decided;  // for each step; absent: not known
  };

  static std::string strings(const std::vector<std::string>& texts) {
    std::vector<std::string> out;
    for (const std::string& text : texts) out.push_back(json_string(text));
    return list_of(out);
  }

  const char* kind() const {
    if (set_ == InkSet::kOverlay) return "overlay";
    return set_ == InkSet::kTiles ? "tiles" : "mask";
  }

  /// The planes that a panel draws; each is drawn over those before it. For a panel of tiles, the
  /// first two are the tiles that are not empty and the tiles that are full.
  std::vector<PlanePtr> layers_of(const Panel& panel) const {
    if (panel.other) {
      return {combine(Op::kAnd, panel.plane, panel.other),
              combine(Op::kSub, panel.plane, panel.other),
              combine(Op::kSub, panel.other, panel.plane)};
    }
    std::vector<PlanePtr> out = {panel.plane};
    if (const PlanePtr leaks = document_planes(panel, figure_.pad_id).leaks) out.push_back(leaks);
    return out;
  }

  bool in_units() const { return unit_ != BlockSize{1, 1}; }

  std::optional<std::size_t> add(const PlanePtr& plane, bool full = false) {
    return stream_->add(in_units() || full ? tile_rows(*plane, unit_, q_, k_, full)
                                           : cell_rows(*plane, q_, k_));
  }

  bool add_panel(const Panel& panel, Lists& lists) {
    const auto keep = [&](std::optional<std::size_t> number) {
      if (number) lists.layers.push_back(*number);
      return number.has_value();
    };
    if (set_ != InkSet::kTiles) {
      for (const PlanePtr& plane : layers_of(panel)) {
        if (!keep(add(plane))) return false;
      }
      return true;
    }
    if (panel.tiles != nullptr) {
      return keep(stream_->add(tile_rows(*panel.tiles, q_, k_, false))) &&
             keep(stream_->add(tile_rows(*panel.tiles, q_, k_, true)));
    }
    if (!keep(add(panel.plane)) || !keep(add(panel.plane, true))) return false;
    const PlanePtr leaks = document_planes(panel, figure_.pad_id).leaks;
    return !leaks || keep(add(leaks));
  }

  bool add_panels() {
    stream_.emplace(limits_.run_bytes);
    lists_.assign(figure_.panels.size(), {});
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      throw_if_stopped();
      if (!add_panel(figure_.panels[i], lists_[i])) return false;
    }
    return true;
  }

  /// Adds the layers of all panels, in units that are large enough.
  void add_cells() {
    const BlockSize given = unit_;
    while (!add_panels()) {
      unit_ = {unit_.q * 4, unit_.k * 4};
      q_.begin -= q_.begin % unit_.q;
      k_.begin -= k_.begin % unit_.k;
      if (set_ == InkSet::kMask) set_ = InkSet::kTiles;
    }
    if (unit_ == given) return;
    remarks_.push_back(fmt::format(
        "The runs of all cells take more than {} bytes, so the page shows units of {} x {} cells. "
        "Fewer batches and heads, or a slice of the mask, can be shown cell by cell.",
        grouped(static_cast<Index>(limits_.run_bytes)), unit_.q, unit_.k));
  }

  /// The cells of a panel that a step decided; null where its batches and heads differ in them.
  static PlanePtr decided_in(const Panel& panel, const Mask& cells) {
    PlanePtr out;
    for (const auto& [batch, head] : panel.members) {
      const PlanePtr& plane = cells.plane(batch, head);
      if (out && plane != out && differing_cells(plane, out) > 0) return nullptr;
      out = plane;
    }
    return out;
  }

  void add_steps() {
    if (figure_.notes == nullptr || figure_.notes->steps.empty()) return;
    for (const StepCells& step : figure_.notes->steps) step_texts_.push_back(step.text);
    if (in_units()) return;
    bool differ = false;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      for (const StepCells& step : figure_.notes->steps) {
        std::optional<std::size_t> number;
        if (step.cells) {
          const PlanePtr plane = decided_in(figure_.panels[i], *step.cells);
          differ = differ || !plane;
          if (plane && !(number = add(plane))) return leave_out_steps();
        }
        lists_[i].decided.push_back(number);
      }
    }
    if (differ) {
      remarks_.push_back(
          "Some batches and heads are equal after different steps; what decided their cells is "
          "not said.");
    }
  }

  void leave_out_steps() {
    for (Lists& lists : lists_) lists.decided.clear();
    remarks_.push_back(
        "Which step decided a cell takes too many runs for this page; maskctl why says it.");
  }

  /// The stretches of equal ids along an axis as [units, id or null for padding, colour]; if an
  /// equal list exists, its number instead.
  std::string band_list(std::span<const AxisBand> bands, Range cells) {
    std::string out = "[";
    Index at = cells.begin;
    for (const AxisBand& band : bands) {
      if (out.size() > 1) out += ',';
      out += fmt::format("[{},{},{}]", band.cells.end - at,
                         band.kind == SegmentKind::kId ? fmt::format("{}", band.id) : "null",
                         band.color);
      at = band.cells.end;
    }
    out += ']';
    const auto known = std::ranges::find(bands_, out);
    if (known != bands_.end()) return fmt::format("{}", known - bands_.begin());
    axis_bytes_ += out.size();
    if (axis_bytes_ > limits_.axis_bytes) {
      left_out("segments along the axes");
      return "null";
    }
    bands_.push_back(out);
    return fmt::format("{}", bands_.size() - 1);
  }

  void left_out(const char* what) {
    if (!left_out_.insert(what).second) return;
    remarks_.push_back(fmt::format("The page lacks {}: all together take more than {} bytes.", what,
                                   grouped(static_cast<Index>(limits_.axis_bytes))));
  }

  /// The labels of queries and of keys; null where there are none, and for keys 0 if they are those
  /// of the queries.
  std::vector<std::string> token_lists() {
    const auto texts = [&](const AxisLabels* labels, Range cells) -> std::string {
      if (labels == nullptr) return "null";
      std::string out = "[";
      for (Index i = cells.begin; i < cells.end; ++i) {
        if (i > cells.begin) out += ',';
        out += json_string(labels->texts[as_size(i)]);
        if (axis_bytes_ + out.size() > limits_.axis_bytes) {
          left_out("tokens");
          return "null";
        }
      }
      axis_bytes_ += out.size();
      return out + "]";
    };
    const bool same = figure_.q_labels == figure_.k_labels && q_ == k_;
    return {texts(figure_.q_labels, q_), same ? "0" : texts(figure_.k_labels, k_)};
  }

  std::string caption(const Panel& panel) const {
    const Units all = finest_units(figure_);
    const InkGrid grid =
        ink_grid(figure_, panel, {std::max<Index>(all.rows, 1), std::max<Index>(all.columns, 1)});
    return fill_lines(caption_words(figure_, panel, grid), 1, 0).front();
  }

  std::vector<std::string> plane_list() {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < lists_.size(); ++i) {
      const Panel& panel = figure_.panels[i];
      const AxisBands bands = axis_bands(figure_, panel, 1, 1);
      const auto numbers = [](const auto& list) {
        std::vector<std::string> texts;
        for (const auto& [b, h] : list) texts.push_back(fmt::format("[{},{}]", b, h));
        return list_of(texts);
      };
      std::vector<std::string> decided;
      for (const auto& number : lists_[i].decided) {
        decided.push_back(number ? fmt::format("{}", *number) : "null");
      }
      out.push_back(
          fmt::format("{{\"name\":{},\"caption\":{},\"members\":{},\"layers\":[{}],\"decided\":{},"
                      "\"bands\":[{},{}]}}",
                      json_string(panel.name), json_string(caption(panel)), numbers(panel.members),
                      fmt::join(lists_[i].layers, ","), list_of(decided),
                      bands.q.empty() ? "null" : band_list(bands.q, q_),
                      bands.k.empty() ? "null" : band_list(bands.k, k_)));
    }
    return out;
  }

  std::string findings() const {
    if (figure_.notes == nullptr || !figure_.notes->findings) return "null";
    std::vector<std::string> out;
    for (const PageFinding& finding : *figure_.notes->findings) {
      out.push_back(fmt::format(
          "{{\"severity\":{},\"id\":{},\"message\":{},\"batch\":{},\"head\":{},\"query\":{},"
          "\"key\":{}}}",
          json_string(finding.severity), json_string(finding.id), json_string(finding.message),
          number_or_null(finding.batch), number_or_null(finding.head),
          number_or_null(finding.query), number_or_null(finding.key)));
    }
    return list_of(out);
  }

  std::string colors() const {
    std::vector<std::string> out;
    for (const Ink& ink : inks(set_, palette_)) {
      out.push_back(json_string(hex_color(ink.color)));
    }
    return list_of(out);
  }

  static std::string segment_color_list() {
    std::vector<std::string> out;
    for (const Rgb& color : segment_colors()) {
      out.push_back(
          fmt::format("[\"{}\",\"{}\"]", hex_color(color), is_light(color) ? "#000" : "#fff"));
    }
    return list_of(out);
  }

  std::string legend() const {
    const bool leaks = std::ranges::any_of(lists_, [&](const Lists& lists) {
      return set_ != InkSet::kOverlay && lists.layers.size() > (set_ == InkSet::kTiles ? 2U : 1U);
    });
    std::vector<LegendEntry> entries = legend_entries(set_, false, leaks);
    if (set_ == InkSet::kMask) entries.push_back({{1, 2, 3, 4, 5, 6}, "some of several open"});
    if (set_ == InkSet::kOverlay) {
      entries.push_back({{ink::kBothSome}, "some of several in both"});
      entries.push_back({{ink::kDiffer}, "some in A, some in B"});
    }
    std::vector<std::string> out;
    for (const LegendEntry& entry : entries) {
      out.push_back(fmt::format("{{\"inks\":[{}],\"text\":{}}}", fmt::join(entry.inks, ","),
                                json_string(entry.text)));
    }
    return list_of(out);
  }

  const Figure& figure_;
  const PageLimits& limits_;
  const Palette palette_;
  InkSet set_;
  Range q_, k_;     // the part that is shown, in whole units but for the last
  BlockSize unit_;  // the cells that one unit of the page stands for
  std::optional<RunStream> stream_;
  std::vector<Lists> lists_;  // of each panel
  std::vector<std::string> step_texts_, bands_, remarks_;
  std::size_t axis_bytes_ = 0;
  std::set<std::string_view> left_out_;
};

}  // namespace

PageData page_data(const Figure& figure, const PictureOptions& options, const PageLimits& limits) {
  check_picture(figure, options);
  return Writer(figure, options, limits).write();
}

}  // namespace maskctl
