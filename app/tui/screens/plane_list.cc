#include "app/tui/screens/plane_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/elsewhere.h"
#include "app/tui/screens/colors.h"
#include "app/tui/state/filter.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"
#include "maskctl/render/figure/words.h"
#include "maskctl/render/text/draw.h"

namespace maskctl::app::tui {
namespace {

/// The number of screen lines above the list (title and column titles), and below it (pipeline and
/// status).
constexpr Index kAbove = 2, kBelow = 2;

/// A column of the list. It shows a number for each row, and the list can be sorted by it.
struct ColumnRow {
  PlaneColumn column;
  std::string_view title;
  Index (*number)(const PlaneRow& row);
  bool (*is_shown)(const Scene& scene) = [](const Scene&) { return true; };
};

constexpr ColumnRow kColumns[] = {
    {PlaneColumn::kBatch, "batch", [](const PlaneRow& row) { return row.batch; },
     [](const Scene& scene) { return scene.mask.batch() > 1; }},
    {PlaneColumn::kHead, "head", [](const PlaneRow& row) { return row.head; },
     [](const Scene& scene) { return scene.mask.heads() > 1; }},
    {PlaneColumn::kOpen, "open", [](const PlaneRow& row) { return row.open; }},
    {PlaneColumn::kEmptyRows, "no keys",
     [](const PlaneRow& row) { return row.finds.empty_rows.count; }},
    {PlaneColumn::kLeaks, "leaks", [](const PlaneRow& row) { return row.finds.leaks.count; },
     [](const Scene& scene) { return scene.has_ids(); }},
    {PlaneColumn::kDifferences, "differ",
     [](const PlaneRow& row) { return row.finds.differences.count; },
     [](const Scene& scene) { return scene.other.has_value(); }},
};

const ColumnRow& column_of(PlaneColumn column) {
  return *std::ranges::find(kColumns, column, &ColumnRow::column);
}

/// Returns the columns of the list that are shown for this scene.
std::vector<const ColumnRow*> columns_of(const Scene& scene) {
  std::vector<const ColumnRow*> out;
  for (const ColumnRow& column : kColumns) {
    if (column.is_shown(scene)) out.push_back(&column);
  }
  return out;
}

Index row_of(const State& state) {
  return state.view.batch * state.scene->mask.heads() + state.view.head;
}

/// The position of the current batch and head in the list. If the list shows equal planes as one
/// row, the position of that row.
Index place_of(const State& state, const std::vector<Index>& listed) {
  const PlaneTable& planes = *state.scene->planes;
  Index row = row_of(state);
  if (state.list.folded && row < planes.known()) row = planes[row].like;
  return std::max<Index>(std::ranges::find(listed, row) - listed.begin(), 0);
}

void select(State& state, const std::vector<Index>& listed, Index place) {
  if (listed.empty()) return;
  const Index row = listed[as_size(std::clamp<Index>(place, 0, std::ssize(listed) - 1))];
  state.view.batch = row / state.scene->mask.heads();
  state.view.head = row % state.scene->mask.heads();
}

Index lines_shown(const State& state) {
  return std::max<Index>(state.screen.rows - kAbove - kBelow, 1);
}

/// The index of the first visible row. The list is shown in whole pages; this is the page with the
/// selected row.
Index first_place(const State& state, const std::vector<Index>& listed) {
  const Index lines = lines_shown(state);
  return place_of(state, listed) / lines * lines;
}

/// The column by which the list is sorted. Until the user chooses one, it is the differences or
/// leaks, if they can be known, else the batch.
PlaneColumn sorted_by(const State& state) {
  if (state.list.column) return *state.list.column;
  if (state.scene->other) return PlaneColumn::kDifferences;
  return state.scene->has_ids() ? PlaneColumn::kLeaks : PlaneColumn::kBatch;
}

/// True if the largest number comes first. By default, indices ascend and counts descend.
bool descends(const State& state) {
  return (sorted_by(state) > PlaneColumn::kHead) != state.list.reversed;
}

void sort_by(State& state, Index by) {
  const auto columns = columns_of(*state.scene);
  const auto at = std::ranges::find(columns, sorted_by(state),
                                    [](const ColumnRow* column) { return column->column; });
  const Index place = std::clamp<Index>(at - columns.begin() + by, 0, std::ssize(columns) - 1);
  state.list.column = columns[as_size(place)]->column;
  state.list.reversed = false;
}

/// Draws a plane (the mask of a batch and head) in a single line of characters.
Canvas thumbnail(const PlaneRow& row, const Screen& screen) {
  const DensityGrid& picture = *row.picture;
  if (screen.utf8) {
    InkGrid grid;
    static_cast<GridShape&>(grid) = picture;
    grid.blocks = true;
    grid.open = picture.open;
    for (const Index open : picture.open)
      grid.inks.push_back(density_ink(open, picture.q.size() * picture.k.size()));
    DrawOptions options;
    options.style = Style::kBraille;
    return draw_cells(grid, options);
  }
  // Without UTF-8, a character shows whether cells are open in the upper half, the lower half,
  // both, or all rows.
  Canvas out(1, picture.columns);
  for (Index column = 0; column < picture.columns; ++column) {
    Index above = 0, below = 0;
    for (Index r = 0; r < picture.rows; ++r) {
      const Index open = picture.at(r, column) > 0 ? 1 : 0;
      (2 * r < picture.rows ? above : below) += open;
    }
    const bool all = above + below == picture.rows;
    const char sign = all                      ? '|'
                      : above > 0 && below > 0 ? ':'
                      : above > 0              ? '\''
                      : below > 0              ? '.'
                                               : ' ';
    out.put(0, column, Glyph{.code = static_cast<char32_t>(sign)});
  }
  return out;
}

/// The text of the last column: "as head 0" for a plane that equals an earlier one, "and 3 alike"
/// for the first of several equal planes.
std::string likeness(const State& state, Index row, const std::vector<Index>& alike) {
  const PlaneTable& planes = *state.scene->planes;
  if (!planes.is_first(row)) {
    const PlaneRow& first = planes[planes[row].like];
    const bool same_batch = first.batch == planes[row].batch;
    return "as " + (same_batch && state.scene->mask.heads() > 1
                        ? fmt::format("head {}", first.head)
                        : plane_text(state.scene->mask, first.batch, first.head));
  }
  const Index more = alike[as_size(row)] - 1;
  return more > 0 && state.list.folded ? fmt::format("and {} alike", grouped(more)) : "";
}

std::string number_text(const ColumnRow& column, Index number, const Scene& scene) {
  if (column.column != PlaneColumn::kOpen) return grouped(number);
  const Index cells = scene.mask.queries() * scene.mask.keys();
  return fmt::format("{} {:>6}", grouped(number), percent_text(number, cells));
}

bool is_find(PlaneColumn column) {
  return column == PlaneColumn::kLeaks || column == PlaneColumn::kDifferences;
}

/// The width of a column: its title, the sign of the sort order, and the largest number so far.
Index width_of(const ColumnRow& column, const Scene& scene) {
  const PlaneTable& planes = *scene.planes;
  Index most = 0;
  for (Index row = 0; row < planes.known(); ++row) {
    most = std::max(most, column.number(planes[row]));
  }
  return 2 + std::max(std::ssize(column.title) + 1, std::ssize(number_text(column, most, scene)));
}

/// Draws the lines of the list, beginning with the column titles.
class ListLines {
 public:
  ListLines(const State& state, Canvas& out)
      : state_(state), scene_(*state.scene), planes_(*scene_.planes), out_(out) {
    for (const ColumnRow* column : columns_of(scene_)) {
      columns_.push_back({column, width_of(*column, scene_)});
    }
    alike_.assign(as_size(planes_.size()), 0);
    for (Index row = 0; row < planes_.known(); ++row) ++alike_[as_size(planes_[row].like)];
  }

  void draw_head() {
    const Glyph like{.reverse = true};
    clear(0, like);
    Index end = 0;
    for (const auto& [column, width] : columns_) {
      const bool sorted = column->column == sorted_by(state_);
      const char* sign = !sorted ? "" : descends(state_) ? "v" : "^";
      Glyph title = like;
      title.bold = sorted;
      out_.write(0, end, fmt::format("{:>{}}", fmt::format("{}{}", sign, column->title), width),
                 title);
      end += width;
    }
  }

  void draw_row(Index line, Index number, bool selected) {
    const Glyph like{.reverse = selected};
    clear(line, like);
    if (number >= planes_.known()) {
      const Index heads = scene_.mask.heads();
      const std::string plane = plane_text(scene_.mask, number / heads, number % heads);
      return out_.write(line, 2, plane + ": counting ...", like);
    }
    const PlaneRow& row = planes_[number];
    Index end = 0;
    for (const auto& [column, width] : columns_) {
      const Index count = column->number(row);
      Glyph glyph = like;
      glyph.bold = is_find(column->column) && count > 0;
      if (glyph.bold && state_.screen.colored() && !selected) glyph.fg = kMistake;
      out_.write(line, end, fmt::format("{:>{}}", number_text(*column, count, scene_), width),
                 glyph);
      end += width;
    }
    const Canvas picture = thumbnail(row, state_.screen);
    for (Index c = 0; c < picture.columns(); ++c) {
      Glyph glyph = picture.at(0, c);
      glyph.reverse = selected;
      out_.put(line, end + 2 + c, glyph);
    }
    out_.write(line, end + (state_.screen.utf8 ? 8 : 12), likeness(state_, number, alike_), like);
  }

 private:
  void clear(Index line, const Glyph& like) {
    out_.write(line, 0, std::string(as_size(out_.columns()), ' '), like);
  }

  const State& state_;
  const Scene& scene_;
  const PlaneTable& planes_;
  Canvas& out_;
  std::vector<std::pair<const ColumnRow*, Index>> columns_;
  std::vector<Index> alike_;  // number of rows equal to each row, itself included
};

/// The row as a filter sees it: "batch 27 head 3 open 721 17.6% leaks 1".
std::string row_text(const State& state, Index row) {
  const PlaneTable& planes = *state.scene->planes;
  const Index heads = state.scene->mask.heads();
  if (row >= planes.known()) return plane_text(state.scene->mask, row / heads, row % heads);
  std::string out;
  for (const ColumnRow* column : columns_of(*state.scene)) {
    const std::string number = number_text(*column, column->number(planes[row]), *state.scene);
    out += fmt::format("{} {} ", column->title, number);
  }
  return out;
}

}  // namespace

std::vector<Index> listed_planes(const State& state) {
  const PlaneTable& planes = *state.scene->planes;
  const Index known = planes.known();
  std::vector<Index> out;
  for (Index row = 0; row < planes.size(); ++row) {
    if (row >= known || !state.list.folded || planes.is_first(row)) out.push_back(row);
  }
  std::erase_if(out, [&](Index row) { return !passes(row_text(state, row), state.list.filter); });
  const ColumnRow& column = column_of(sorted_by(state));
  const bool descending = descends(state);
  if (column.column == PlaneColumn::kBatch && !descending) return out;
  const auto rest = std::ranges::find_if(out, [&](Index row) { return row >= known; });
  std::stable_sort(out.begin(), rest, [&](Index a, Index b) {
    const Index left = column.number(planes[a]), right = column.number(planes[b]);
    return descending ? left > right : left < right;
  });
  return out;
}

void open_list(State& state) {
  if (!state.scene->lists()) {
    state.message = "the mask has one batch and head";
    return;
  }
  state.list.shown = true;
}

bool follow_list(State& state) {
  if (!state.list.shown) return false;
  const auto listed = listed_planes(state);
  if (state.list.chosen && place_of(state, listed) < std::ssize(listed)) return false;
  const Index before = row_of(state);
  select(state, listed, 0);
  return row_of(state) != before;
}

void take_list_key(State& state, ListKey key, Index times) {
  PlaneList& list = state.list;
  const auto listed = listed_planes(state);
  const Index place = place_of(state, listed), page = lines_shown(state);
  const auto go = [&](Index to) {
    list.chosen = true;
    select(state, listed, to);
  };
  switch (key) {
    case ListKey::kNext:
      return go(place + times);
    case ListKey::kPrevious:
      return go(place - times);
    case ListKey::kPageDown:
      return go(place + times * page);
    case ListKey::kPageUp:
      return go(place - times * page);
    case ListKey::kFirst:
      return go(0);
    case ListKey::kLast:
      return go(std::ssize(listed) - 1);
    case ListKey::kSortLeft:
      return sort_by(state, -1);
    case ListKey::kSortRight:
      return sort_by(state, 1);
    case ListKey::kReverse:
      list.reversed = !list.reversed;
      return;
    case ListKey::kFold:
      list.folded = !list.folded;
      return;
    case ListKey::kOpen:
      list.chosen = true;
      list.shown = false;
  }
}

std::string list_status(const State& state) {
  const PlaneTable& planes = *state.scene->planes;
  Index unlike = 0;
  for (Index row = 0; row < planes.known(); ++row) unlike += planes.is_first(row) ? 1 : 0;
  std::string out = fmt::format("{}, {} unlike", counted(planes.size(), "plane"), grouped(unlike));
  const auto add = [&](PlaneColumn by, std::string_view one) {
    const ColumnRow& column = column_of(by);
    if (!column.is_shown(*state.scene)) return;
    Index cells = 0, marked = 0;
    for (Index row = 0; row < planes.known(); ++row) {
      cells += column.number(planes[row]);
      marked += column.number(planes[row]) > 0 ? 1 : 0;
    }
    out += fmt::format("; {}", counted(cells, one));
    if (cells > 0) out += fmt::format(" in {}", grouped(marked));
  };
  add(PlaneColumn::kLeaks, "leak");
  add(PlaneColumn::kDifferences, "difference");
  if (!state.list.filter.empty()) {
    out = fmt::format("/{}: {} listed; {}", printable(state.list.filter, kUncut),
                      grouped(std::ssize(listed_planes(state))), out);
  }
  if (!planes.complete()) out += fmt::format("; counted {}", grouped(planes.known()));
  return out;
}

std::optional<Index> list_row_at(const State& state, Index line) {
  const auto listed = listed_planes(state);
  const Index place = first_place(state, listed) + line - kAbove;
  if (line < kAbove || line >= kAbove + lines_shown(state) || place >= std::ssize(listed)) {
    return std::nullopt;
  }
  return listed[as_size(place)];
}

void draw_list(const State& state, Index columns, Canvas& canvas) {
  const auto listed = listed_planes(state);
  const Index first = first_place(state, listed), selected = place_of(state, listed);
  Canvas out(canvas.rows() - 1 - kBelow, columns);
  ListLines lines(state, out);
  lines.draw_head();
  for (Index i = 0; i < lines_shown(state) && first + i < std::ssize(listed); ++i) {
    lines.draw_row(1 + i, listed[as_size(first + i)], first + i == selected);
  }
  canvas.paste(1, 0, out);
}

}  // namespace maskctl::app::tui
