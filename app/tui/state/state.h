// The complete state of the inspector between two inputs, as one value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/tui/beside/reports.h"
#include "app/tui/beside/saving.h"
#include "app/tui/beside/scene.h"
#include "app/tui/beside/searching.h"
#include "app/tui/state/actions.h"
#include "app/tui/state/line.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/render/text/draw.h"

namespace maskctl::app::tui {

/// How many colours a terminal has.
enum class Colors : std::uint8_t { kNone, kEight, kMany };

/// The size and the abilities of the terminal.
struct Screen {
  Index rows = 24, columns = 80;
  bool utf8 = true;
  Colors colors = Colors::kMany;

  bool colored() const { return colors != Colors::kNone; }
};

/// The part of the mask that is shown, and how.
struct View {
  Index batch = 0, head = 0;
  Place cursor;
  Place origin;  // first cell that is drawn
  int zoom = 0;  // a unit of the drawing is 2^zoom cells wide
  Sources sources = Sources::kBoth;
  bool tiled = false;  // draw tiles of 2^tile x 2^tile cells
  int tile = 6;
  bool weights = false;  // show the attention weights of the cursor's query below the mask
};

/// Which line the user is typing in.
enum class Prompt : std::uint8_t { kNone, kCommand, kFind, kPipeline, kListFilter, kPageFilter };

/// A version of the pipeline for undo and redo, with the view at that time.
struct Version {
  std::string pipeline;
  View view;
};
/// The largest number of versions for undo.
inline constexpr std::size_t kMostVersions = 1000;

/// What was shown before the user began to edit the pipeline.
struct BeforeEdit {
  ScenePtr scene;
  View view;
};

/// Why another mask is being made: as a preview while its pipeline is typed (kPreview); because the
/// pipeline was entered (kKeep) or changed by a key (kReplace); for undo or redo; or because of new
/// documents (kDocuments).
enum class Change : std::uint8_t { kPreview, kKeep, kReplace, kUndo, kRedo, kDocuments };
/// A change whose mask is being made in the background.
struct PendingChange {
  Change change = Change::kReplace;
  SceneAsked asked;
  std::optional<Index> step = {};  // step to select afterwards
  double fraction = 0;             // fraction of the work that is done
  Stopwatch watch = {};
};

/// A question that the user answers with y or n.
struct Question {
  std::string text;
  // What the answer y does: runs this command, as if typed after ':', or makes this request.
  std::variant<std::string, Request> yes;
};

/// How the list of batches and heads is shown. The current batch and head is the selected row.
struct PlaneList {
  bool shown = false;  // the list is shown instead of the mask
  // True if the user has selected a row. Until then, the first row stays selected.
  bool chosen = false;
  bool folded = true;                      // equal rows are listed once
  std::optional<PlaneColumn> column = {};  // sort column, if the user has chosen one
  bool reversed = false;
  std::string filter = {};  // only rows with this text are listed
};

/// A search that continues when more has been counted.
struct Awaited {
  FindNext next;
  Index times = 1;
};

struct State {
  Screen screen;
  ScenePtr scene;
  View view;
  Style style = Style::kAuto;
  bool side = true;
  // True if the SOURCE is one of several arrays of a file; <Esc> then returns to their list.
  bool of_several = false;
  bool rows = false;  // the panel with the histogram of keys per query
  bool help = false;
  Index page = 0;      // page of the text that covers the screen
  std::string filter;  // only its lines with this text are shown

  Prompt prompt = Prompt::kNone;
  Line line;
  std::optional<BeforeEdit> before_edit;             // set while the pipeline is being typed
  bool preview_due = false;                          // the typed pipeline is not being made yet
  std::size_t error_at = std::string::npos;          // byte in `line` with an error
  std::map<Prompt, std::vector<std::string>> typed;  // history of each prompt
  std::size_t recall = 0;                            // how many lines back in the history

  std::optional<Place> anchor;  // cell in which the selection began
  std::optional<Index> step;    // selected step of the pipeline, to which keys apply
  std::string message;
  std::optional<Question> question;
  std::optional<ReportState> report;
  Index count = 0;  // number typed before a key
  // Set while the letter of a mark is awaited: true to set the mark, false to go to it.
  std::optional<bool> marking;
  std::map<std::string, View> marks;
  std::string target;  // target of the last search, as typed
  PlaneList list;
  std::optional<Awaited> awaited;
  std::string found;                      // result of the last search: "3 of 12, 84 cells"
  std::optional<PlaceSearch> looked_for;  // search that is in progress in the background
  std::vector<Version> undo, redo;
  std::optional<PendingChange> change;
  std::optional<FileAsked> saving;  // file that is being written
  std::string saved_pipeline;       // the pipeline that was saved last
  std::optional<Place> dragged;     // cell that the mouse drags
  std::string copied;               // text for the clipboard
  std::optional<Request> request;   // what the front end must carry out

  Focus focus() const { return step ? Focus::kSteps : list.shown ? Focus::kList : Focus::kMask; }
  bool leaves() const { return request == Request::kQuit || request == Request::kLeave; }
  const PlaneCounts& counts() const { return scene->counts(view.batch, view.head, view.sources); }
  Cell cell() const { return {view.batch, view.head, view.cursor.query, view.cursor.key}; }
};

}  // namespace maskctl::app::tui
