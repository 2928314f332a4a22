// All that the inspector remembers between two keys, as one value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/tui/actions.h"
#include "app/tui/line.h"
#include "app/tui/reports.h"
#include "app/tui/saving.h"
#include "app/tui/scene.h"
#include "app/tui/searching.h"
#include "maskctl/base/stopwatch.h"
#include "maskctl/render/text/draw.h"

namespace maskctl::app::tui {

/// How many colours a terminal has.
enum class Colors : std::uint8_t { kNone, kEight, kMany };

/// What is drawn on.
struct Screen {
  Index rows = 24, columns = 80;
  bool utf8 = true;
  Colors colors = Colors::kMany;

  bool colored() const { return colors != Colors::kNone; }
};

/// Where the reader is.
struct View {
  Index batch = 0, head = 0;
  Place cursor;
  Place origin;  // the first cell that is drawn
  int zoom = 0;  // a unit of the drawing is 2^zoom cells wide
  Sources sources = Sources::kBoth;
  bool tiled = false;  // tiles are drawn, of 2^tile cells each way
  int tile = 6;
  bool weights = false;  // those of the query under the cursor, below the mask
};

/// The line in which something is being typed.
enum class Prompt : std::uint8_t { kNone, kCommand, kFind, kPipeline };

/// A state to which undo and redo return.
struct Version {
  std::string pipeline;
  View view;
};
/// How many are remembered.
inline constexpr std::size_t kMostVersions = 1000;

/// What was looked at before the pipeline was edited.
struct BeforeEdit {
  ScenePtr scene;
  View view;
};

/// What becomes of another mask: it is shown while its pipeline is typed, kept when that has been
/// typed, or shown in place of the last one: by a key, undo or redo, or with other documents.
enum class Change : std::uint8_t { kPreview, kKeep, kReplace, kUndo, kRedo, kDocuments };
/// A change whose mask is being made, beside the screens.
struct PendingChange {
  Change change = Change::kReplace;
  SceneAsked asked;
  std::optional<Index> step = {};  // selected afterwards
  double fraction = 0;             // that is made
  Stopwatch watch = {};
};

/// To be answered with y or n.
struct Question {
  std::string text;
  std::string command;  // what y does, as typed after ':'
};

/// How all batches and heads are listed. The one that is looked at is selected.
struct PlaneList {
  bool shown = false;                      // instead of the mask
  bool chosen = false;                     // by the reader; until then the first is selected
  bool folded = true;                      // equal ones are listed once
  std::optional<PlaneColumn> column = {};  // by which it is sorted, if the reader has said so
  bool reversed = false;
};

/// A search that goes on when more has been counted.
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
  bool of_several = false;  // the SOURCE is one of several arrays, to whose list <Esc> leads back
  bool help = false;
  Index page = 0;  // of what covers the screen

  Prompt prompt = Prompt::kNone;
  Line line;
  std::optional<BeforeEdit> before_edit;             // while the pipeline is being typed
  bool preview_due = false;                          // what is typed is not shown yet
  std::size_t error_at = std::string::npos;          // a byte of the line
  std::map<Prompt, std::vector<std::string>> typed;  // history
  std::size_t recall = 0;                            // how far back in it

  std::optional<Index> step;  // the selected step of the pipeline; keys act on it
  std::string message;
  std::optional<Question> question;
  std::optional<ReportState> report;
  Index count = 0;              // digits before a key
  std::optional<bool> marking;  // a letter is awaited, to set (true) or go to a mark
  std::map<std::string, View> marks;
  std::string target;  // of the last search
  PlaneList list;
  std::optional<Awaited> awaited;
  std::string found;                      // what the last search found there: "3 of 12, 84 cells"
  std::optional<PlaceSearch> looked_for;  // the place that a search waits for
  std::vector<Version> undo, redo;
  std::optional<PendingChange> change;
  std::optional<FileAsked> saving;  // the file that is being written
  std::string saved_pipeline;       // which need not be saved again
  std::optional<Place> dragged;     // the cell that the mouse holds
  std::string copied;               // for the clipboard
  std::optional<Request> request;   // what the front end is to do now

  Focus focus() const { return step ? Focus::kSteps : list.shown ? Focus::kList : Focus::kMask; }
  bool leaves() const { return request == Request::kQuit || request == Request::kLeave; }
  const PlaneCounts& counts() const { return scene->counts(view.batch, view.head, view.sources); }
  Cell cell() const { return {view.batch, view.head, view.cursor.query, view.cursor.key}; }
};

}  // namespace maskctl::app::tui
