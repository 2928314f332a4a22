#include "app/tui/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "app/tui/beside/report_rows.h"
#include "app/tui/mouse.h"
#include "app/tui/screens/pages.h"
#include "app/tui/screens/panels.h"
#include "app/tui/screens/plane_list.h"
#include "app/tui/state/cells.h"
#include "app/tui/state/commands.h"
#include "app/tui/state/find.h"
#include "app/tui/state/geometry.h"
#include "app/tui/state/history.h"
#include "app/tui/state/prompt.h"
#include "app/tui/state/save.h"
#include "app/tui/state/step_keys.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"

namespace maskctl::app::tui {
namespace {

constexpr Index kMostCount = Index{1} << 31, kMostFinds = 1000;
constexpr int kLeastTile = 1, kMostTile = 12;

/// Keeps a view of the whole mask complete while the size of the screen changes: the destructor
/// zooms so that the whole mask is visible, if it was visible before.
class WholeView {
 public:
  explicit WholeView(State& state) : state_(state), whole_(state.view.zoom == whole_zoom(state)) {}
  ~WholeView() {
    if (whole_) state_.view.zoom = whole_zoom(state_);
  }
  WholeView(const WholeView&) = delete;
  WholeView& operator=(const WholeView&) = delete;

 private:
  State& state_;
  const bool whole_;
};

/// Applies an action to the state.
class Updater {
 public:
  Updater(State& state, Workbench& bench, Index count)
      : state_(state), bench_(bench), count_(count), times_(std::max<Index>(count, 1)) {}

  void operator()(const Move& move) {
    const Geometry at = geometry(state_);
    Place& cursor = state_.view.cursor;
    cursor.query += move.queries * distance(move, at.unit().q, at.unit_rows());
    cursor.key += move.keys * distance(move, at.unit().k, at.unit_columns());
    if (move.stride != Stride::kHalfPage && move.stride != Stride::kPage) return;
    // Scrolls by the same distance, so that the cursor keeps its position on the screen.
    Place& origin = state_.view.origin;
    origin.query += move.queries * distance(move, at.unit().q, at.unit_rows());
    origin.query = std::max<Index>(origin.query, 0);
  }

  void operator()(const GoToRow& go) {
    const Index last = state_.scene->mask.queries() - 1;
    if (count_ > last) state_.message = out_of_range("query", count_, last);
    state_.view.cursor.query = count_ > 0 ? std::min(count_, last) : go.last ? last : 0;
  }

  void operator()(const Zoom& zoom) {
    for (Index i = 0; i < std::min<Index>(times_, 32); ++i) zoom_to(state_.view.zoom - zoom.by);
  }

  void operator()(ZoomTo to) { zoom_to(to == ZoomTo::kCells ? 0 : whole_zoom(state_)); }

  void operator()(const FindNext& next) { find(state_, next, std::min(times_, kMostFinds)); }

  void operator()(const Member& member) {
    state_.list.chosen = true;
    step_member(state_.view.batch, member.batch * times_, "batch", state_.scene->mask.batch());
    step_member(state_.view.head, member.head * times_, "head", state_.scene->mask.heads());
  }

  void operator()(Mark mark) { state_.marking = mark == Mark::kSet; }

  void operator()(Ask ask) { open_prompt(state_, ask); }

  void operator()(CellKey key) { take_cell_key(state_, key); }

  void operator()(const History& history) { history.redo ? redo(state_) : undo(state_); }

  void operator()(ListKey key) { take_list_key(state_, key, times_); }

  void operator()(const ShowList&) {
    if (state_.of_several && (state_.list.shown || !state_.scene->lists())) {
      leave(state_, Request::kLeave);
    } else {
      open_list(state_);
    }
  }

  void operator()(StepKey key) { take_step_key(state_, key, times_); }

  void operator()(Toggle toggle) {
    const WholeView whole(state_);
    switch (toggle) {
      case Toggle::kSide:
        state_.side = !state_.side;
        break;
      case Toggle::kHelp:
        state_.help = true;
        state_.page = 0;
        state_.filter.clear();
        break;
      case Toggle::kStyle:
        next_style();
        break;
      case Toggle::kSources:
        next_sources();
        break;
      case Toggle::kSteps:
        select_steps(state_);
        break;
      case Toggle::kTiles:
        switch_tiles();
        break;
      case Toggle::kWeights:
        state_.view.weights = !state_.view.weights;
        break;
      case Toggle::kRows:
        state_.rows = !state_.rows;
        break;
    }
  }

  void operator()(const TileSize& size) {
    View& view = state_.view;
    view.tile = std::clamp(view.tile + (view.tiled ? size.by : 0), kLeastTile, kMostTile);
    view.tiled = true;
  }

  void operator()(Copy what) {
    state_.copied = what == Copy::kPipeline ? state_.scene->pipeline : why_text(state_);
    state_.request = Request::kCopy;
    state_.message = fmt::format("copied: {}", state_.copied);
  }

  void operator()(Request request) { state_.request = request; }

  void operator()(Report report) {
    state_.page = 0;
    if (state_.report && state_.report->kind == report && state_.report->hidden) {
      state_.report->hidden = false;
      return;
    }
    state_.filter.clear();
    const bool again = state_.report && state_.report->kind == report && state_.report->done;
    if (!again) state_.report = ReportState{report, state_.scene};
    state_.report->whole = again || geometry(state_).side == 0;
  }

  void operator()(const Quit&) { run_command(state_, bench_, "q"); }

  void operator()(const Cancel&) {
    if (state_.anchor) {
      state_.anchor.reset();
    } else if (state_.report && !state_.report->hidden) {
      state_.report.reset();
    } else if (state_.scene->lists() || state_.of_several) {
      (*this)(ShowList());
    }
  }

 private:
  static std::string out_of_range(std::string_view what, Index index, Index last) {
    return fmt::format("{} {}: the mask has 0 to {}", what, index, last);
  }

  void step_member(Index& index, Index by, std::string_view what, Index count) {
    const Index to = index + by;
    if (to < 0 || to >= count) state_.message = out_of_range(what, to, count - 1);
    index = std::clamp<Index>(to, 0, count - 1);
  }

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

  /// Zooms so that the cell under the cursor keeps its position on the screen.
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
    sources = sources == Sources::kOnlyB ? Sources::kBoth
                                         : static_cast<Sources>(static_cast<int>(sources) + 1);
  }

  /// Switches tiles on or off. The tile size is reduced until the longer axis has at least four
  /// tiles.
  void switch_tiles() {
    View& view = state_.view;
    view.tiled = !view.tiled;
    const Index most = std::max(state_.scene->mask.queries(), state_.scene->mask.keys());
    while (view.tile > kLeastTile && (Index{4} << view.tile) > most) --view.tile;
  }

  State& state_;
  Workbench& bench_;
  Index count_, times_;
};

bool is_letter(const std::string& key) {
  return key.size() == 1 && ((key[0] >= 'a' && key[0] <= 'z') || (key[0] >= 'A' && key[0] <= 'Z'));
}

/// Handles the letter after m (set a mark) or ' (go to it).
void take_mark(State& state, const std::string& key) {
  const bool set = *state.marking;
  state.marking.reset();
  if (!is_letter(key)) return;
  if (set) {
    state.marks[key] = state.view;
  } else if (const auto mark = state.marks.find(key); mark != state.marks.end()) {
    state.view = mark->second;
    state.list.shown = false;
  } else {
    state.message = fmt::format("no mark {}", key);
  }
}

/// Handles a digit of a count before a key. A 0 that is the first digit is not part of a count.
bool take_digit(State& state, const std::string& key) {
  if (key.size() != 1 || key[0] < '0' || key[0] > '9' || (key[0] == '0' && state.count == 0)) {
    return false;
  }
  state.count = std::min(state.count * 10 + (key[0] - '0'), kMostCount);
  return true;
}

/// Takes the key as the answer to the open question: "y" does what was asked about, any other key
/// does nothing.
void take_answer(State& state, const std::string& key, Workbench& bench) {
  const Question question = *std::exchange(state.question, std::nullopt);
  if (key != "y") return;
  if (const Request* request = std::get_if<Request>(&question.yes)) {
    state.request = *request;
  } else {
    run_command(state, bench, std::get<std::string>(question.yes));
  }
}

/// True for actions that move, zoom or change the drawing of the mask. They close the list of
/// batches and heads.
bool is_of_drawing(const Action& action) {
  const Toggle* toggle = std::get_if<Toggle>(&action);
  if (toggle) return *toggle == Toggle::kTiles || *toggle == Toggle::kWeights;
  return std::holds_alternative<Move>(action) || std::holds_alternative<Zoom>(action) ||
         std::holds_alternative<ZoomTo>(action) || std::holds_alternative<CellKey>(action);
}

/// True for actions that need the current pipeline, so that they are refused while a new one is
/// being made.
bool is_of_pipeline(const Action& action) {
  const Ask* ask = std::get_if<Ask>(&action);
  const CellKey* cells = std::get_if<CellKey>(&action);
  return (ask && (*ask == Ask::kEdit || *ask == Ask::kAdd)) ||
         std::holds_alternative<History>(action) || std::holds_alternative<StepKey>(action) ||
         (cells && *cells == CellKey::kSwitch);
}

void take_key(State& state, const Input& input, Workbench& bench) {
  if (state.marking) return take_mark(state, input.key);
  if (take_digit(state, input.key)) return;
  const Index count = std::exchange(state.count, 0);
  const Action* action = action_of(input.key, state.focus());
  if (!action) {
    state.message = fmt::format("{} has no meaning here; ? shows the keys", input.key);
    return;
  }
  if (is_of_pipeline(*action) && !can_change(state)) return;
  if (is_of_drawing(*action)) state.list.shown = false;
  std::visit(Updater(state, bench, count), *action);
}

/// <Esc> stops the background work that the status line shows. False if there is none.
bool stops_work(State& state, const std::string& key) {
  const bool covered = state.question || pages_of(state) || state.prompt != Prompt::kNone;
  if (key != "<Esc>" || covered) return false;
  if (state.change) {
    const bool documents = state.change->change == Change::kDocuments;
    state.message = documents ? "stopped; the documents are as they were"
                              : "stopped; the pipeline is as it was";
    state.change.reset();
  } else if (state.awaited) {
    state.message = "the search is stopped";
    state.awaited.reset();
  } else if (state.saving) {
    state.message = fmt::format("stopped; nothing is written to {}", printable(state.saving->name));
    state.saving.reset();
  } else {
    return false;
  }
  return true;
}

/// True if the key repeats the search that is in progress; it then continues instead of being
/// cancelled.
bool searches(const State& state, const std::string& key) {
  const Action* action = action_of(key, state.focus());
  const FindNext* next = action ? std::get_if<FindNext>(action) : nullptr;
  return next && state.awaited && *next == state.awaited->next;
}

void take(State& state, const Input& input, Workbench& bench) {
  state.request.reset();
  if (input.key == "<Resize>") {
    const WholeView whole(state);
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
  state.found.clear();
  if (stops_work(state, input.key)) return;
  if (!searches(state, input.key)) state.awaited.reset();
  if (state.question) {
    take_answer(state, input.key, bench);
  } else if (state.prompt != Prompt::kNone) {
    take_prompt_key(state, input.key, bench);
  } else if (const auto pages = pages_of(state)) {
    take_page_key(state, *pages, input.key);
  } else if (is_of_mouse(input)) {
    take_mouse(state, input);
  } else {
    take_key(state, input, bench);
  }
}

/// If the mask has changed, closes the report; but a report in the side panel is made again for the
/// new mask.
void keep_report(State& state) {
  if (!state.report || state.report->scene == state.scene) return;
  const Report kind = state.report->kind;
  const bool beside = !report_row(kind).wide && !state.report->hidden;
  state.report.reset();
  if (beside) state.report = ReportState{kind, state.scene};
}

}  // namespace

State first_state(ScenePtr scene, const Screen& screen) {
  State state;
  state.screen = screen;
  state.scene = std::move(scene);
  state.saved_pipeline = state.scene->pipeline;
  if (state.scene->other) state.report = ReportState{Report::kCause, state.scene};
  state.view.zoom = whole_zoom(state);
  if (state.scene->lists()) open_list(state);
  settle(state);
  return state;
}

State update(State state, const Input& input, Workbench& bench) {
  try {
    take(state, input, bench);
    follow_change(state, bench, in_a_moment());
  } catch (const Error& error) {
    state.message = error.what();
  }
  if (state.message.empty()) state.message = bench.take_note();
  keep_report(state);
  settle(state);
  return state;
}

bool go_on(State& state) {
  const bool found = resume_search(state);
  if (!follow_list(state) && !found) return false;
  settle(state);
  return true;
}

State after_pause(State state, Workbench& bench, Time end) {
  show_preview(state);
  try {
    follow_change(state, bench, end);
  } catch (const Error& error) {
    state.message = error.what();
  }
  keep_report(state);
  settle(state);
  return state;
}

}  // namespace maskctl::app::tui
