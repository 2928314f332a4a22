#include "app/tui/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/tui/find.h"
#include "app/tui/geometry.h"
#include "app/tui/help.h"
#include "app/tui/overview.h"
#include "app/tui/prompt.h"
#include "maskctl/base/error.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kMostCount = Index{1} << 31;
constexpr Index kWheelUnits = 3;
constexpr std::string_view kNeedsSide = "reports are shown in the side panel: s, 80 columns";

/// Applies one action.
class Updater {
 public:
  Updater(State& state, Index count)
      : state_(state), count_(count), times_(std::max<Index>(count, 1)) {}

  void operator()(const Move& move) {
    const Geometry at = geometry(state_);
    Place& cursor = state_.view.cursor;
    cursor.query += move.queries * distance(move, at.unit().q, at.unit_rows());
    cursor.key += move.keys * distance(move, at.unit().k, at.unit_columns());
    if (move.stride != Stride::kHalfPage && move.stride != Stride::kPage) return;
    // Pages turn under the cursor, which keeps its place on the screen.
    Place& origin = state_.view.origin;
    origin.query += move.queries * distance(move, at.unit().q, at.unit_rows());
    origin.query = std::max<Index>(origin.query, 0);
  }

  void operator()(const GoToRow& go) {
    const Index last = state_.scene->mask.queries() - 1;
    state_.view.cursor.query = count_ > 0 ? count_ : go.last ? last : 0;
  }

  void operator()(const Zoom& zoom) {
    for (Index i = 0; i < std::min<Index>(times_, 32); ++i) zoom_to(state_.view.zoom - zoom.by);
  }

  void operator()(ZoomTo to) { zoom_to(to == ZoomTo::kCells ? 0 : whole_zoom(state_)); }

  void operator()(const FindNext& next) {
    for (Index i = 0; i < std::min<Index>(times_, 1000); ++i) {
      if (!find_next(state_, next.way)) return;
    }
  }

  void operator()(const Member& member) {
    state_.view.batch += member.batch * times_;
    state_.view.head += member.head * times_;
  }

  void operator()(Mark mark) { state_.marking = mark == Mark::kSet; }

  void operator()(Ask ask) { open_prompt(state_, ask); }

  void operator()(const History& history) {
    auto& from = history.redo ? state_.redo : state_.undo;
    auto& to = history.redo ? state_.undo : state_.redo;
    if (from.empty()) {
      state_.message = history.redo ? "nothing to redo" : "nothing to undo";
      return;
    }
    to.push_back({state_.scene, state_.view});
    state_.scene = from.back().scene;
    state_.view = from.back().view;
    from.pop_back();
  }

  void operator()(Toggle toggle) {
    switch (toggle) {
      case Toggle::kSide:
        state_.side = !state_.side;
        break;
      case Toggle::kHelp:
        state_.help_page = 1;
        break;
      case Toggle::kStyle:
        next_style();
        break;
      case Toggle::kSources:
        next_sources();
        break;
    }
  }

  void operator()(Request request) { state_.request = request; }

  void operator()(Report report) {
    state_.report = ReportState{report, state_.scene};
    if (!geometry(state_).side) state_.message = kNeedsSide;
  }

  void operator()(const Cancel&) { state_.report.reset(); }

 private:
  Index distance(const Move& move, Index unit, Index room) const {
    switch (move.stride) {
      case Stride::kUnit:
        return times_ * unit;
      case Stride::kEight:
        return 8 * times_ * unit;
      case Stride::kHalfPage:
        return std::max<Index>(room / 2, 1) * times_ * unit;
      case Stride::kPage:
        return room * times_ * unit;
      case Stride::kEnd:
        return kMostCount;
    }
    return 0;
  }

  /// The cell under the cursor stays at its place on the screen.
  void zoom_to(int zoom) {
    View& view = state_.view;
    const BlockSize before = geometry(state_).unit();
    const Place offset{(view.cursor.query - view.origin.query) / before.q,
                       (view.cursor.key - view.origin.key) / before.k};
    view.zoom = std::clamp(zoom, 0, whole_zoom(state_));
    const BlockSize after = geometry(state_).unit();
    view.origin = {std::max<Index>(view.cursor.query - offset.query * after.q, 0),
                   std::max<Index>(view.cursor.key - offset.key * after.k, 0)};
  }

  void next_style() {
    static constexpr std::array kStyles = {Style::kAuto,     Style::kShade,   Style::kHalf,
                                           Style::kQuadrant, Style::kBraille, Style::kAscii};
    const auto at = std::ranges::find(kStyles, state_.style);
    state_.style = at + 1 == kStyles.end() ? kStyles.front() : at[1];
  }

  void next_sources() {
    if (!state_.scene->other) {
      state_.message = "there is one SOURCE; maskctl tui SOURCE OTHER shows two";
      return;
    }
    Sources& sources = state_.view.sources;
    sources = sources == Sources::kBoth ? Sources::kA
              : sources == Sources::kA  ? Sources::kB
                                        : Sources::kBoth;
  }

  State& state_;
  Index count_, times_;
};

bool is_letter(const std::string& key) {
  return key.size() == 1 && ((key[0] >= 'a' && key[0] <= 'z') || (key[0] >= 'A' && key[0] <= 'Z'));
}

/// The letter after m or '.
void take_mark(State& state, const std::string& key) {
  const bool set = *state.marking;
  state.marking.reset();
  if (!is_letter(key)) return;
  if (set) {
    state.marks[key] = state.view;
  } else if (const auto mark = state.marks.find(key); mark != state.marks.end()) {
    state.view = mark->second;
  } else {
    state.message = fmt::format("no mark {}", key);
  }
}

/// Digits before a key; a 0 that follows no digit is a key.
bool take_digit(State& state, const std::string& key) {
  if (key.size() != 1 || key[0] < '0' || key[0] > '9' || (key[0] == '0' && state.count == 0)) {
    return false;
  }
  state.count = std::min(state.count * 10 + (key[0] - '0'), kMostCount);
  return true;
}

void take_mouse(State& state, const Input& input) {
  const Geometry at = geometry(state);
  if (input.key != "<Mouse>") {
    const Index units = input.key == "<WheelUp>" ? -kWheelUnits : kWheelUnits;
    state.view.cursor.query += units * at.unit().q;
    return;
  }
  auto cell = cell_at(at, input.row, input.column);
  if (!cell) cell = overview_cell_at(state, at, input.row, input.column);
  if (cell) state.view.cursor = *cell;
}

void take_key(State& state, const Input& input) {
  if (state.marking) return take_mark(state, input.key);
  if (take_digit(state, input.key)) return;
  const Index count = std::exchange(state.count, 0);
  const Action* action = action_of(input.key);
  if (!action) {
    state.message = fmt::format("{} has no meaning here; ? shows the keys", input.key);
    return;
  }
  std::visit(Updater(state, count), *action);
}

/// The help overlay: '?' turns its pages, every other key closes it.
void take_help_key(State& state, const std::string& key) {
  const Index pages = help_pages(state);
  const bool next = key == "?" || key == "<F1>";
  state.help_page = next && state.help_page < pages ? state.help_page + 1 : 0;
}

void take(State& state, const Input& input, Workbench& bench) {
  state.request.reset();
  if (input.key == "<Resize>") {
    state.screen.rows = input.row;
    state.screen.columns = input.column;
    return;
  }
  if (input.key == kDone) return;
  if (input.key == "<C-c>") {
    state.request = Request::kQuit;
    return;
  }
  state.message.clear();
  if (state.help_page > 0) {
    take_help_key(state, input.key);
  } else if (state.prompt != Prompt::kNone) {
    take_prompt_key(state, input.key, bench);
  } else if (input.key == "<Mouse>" || input.key.starts_with("<Wheel")) {
    take_mouse(state, input);
  } else {
    take_key(state, input);
  }
}

}  // namespace

State first_state(ScenePtr scene, const Screen& screen) {
  State state;
  state.screen = screen;
  state.scene = std::move(scene);
  state.view.zoom = whole_zoom(state);
  settle(state);
  return state;
}

State update(State state, const Input& input, Workbench& bench) {
  try {
    take(state, input, bench);
  } catch (const Error& error) {
    state.message = error.what();
    for (const Remedy& remedy : error.remedies()) {
      if (remedy.kind == Remedy::kOverwrite) state.message += "; :w! replaces it";
    }
  }
  if (state.message.empty()) state.message = bench.take_note();
  if (state.report && state.report->scene != state.scene) state.report.reset();
  settle(state);
  return state;
}

}  // namespace maskctl::app::tui
