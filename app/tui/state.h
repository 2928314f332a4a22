// All that the inspector remembers between two keys, as one value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/tui/actions.h"
#include "app/tui/line.h"
#include "app/tui/reports.h"
#include "app/tui/scene.h"
#include "maskctl/render/text/draw.h"

namespace maskctl::app::tui {

/// What is drawn on.
struct Screen {
  Index rows = 24, columns = 80;
  bool utf8 = true;
  bool color = true;
};

/// Where the reader is.
struct View {
  Index batch = 0, head = 0;
  Place cursor;
  Place origin;  // the first cell that is drawn
  int zoom = 0;  // a unit of the drawing is 2^zoom cells wide
  Sources sources = Sources::kBoth;
};

/// The line in which something is being typed.
enum class Prompt : std::uint8_t { kNone, kCommand, kFind, kPipeline };

/// A state to which undo and redo return.
struct Version {
  ScenePtr scene;
  View view;
};

struct State {
  Screen screen;
  ScenePtr scene;
  View view;
  Style style = Style::kAuto;
  bool side = true;
  Index help_page = 0;  // 0: not shown

  Prompt prompt = Prompt::kNone;
  Line line;
  std::optional<Version> before_edit;                // while the pipeline is being typed
  std::size_t error_at = std::string::npos;          // a byte of the line
  std::map<Prompt, std::vector<std::string>> typed;  // history
  std::size_t recall = 0;                            // how far back in it

  std::string message;
  std::optional<ReportState> report;
  Index count = 0;              // digits before a key
  std::optional<bool> marking;  // a letter is awaited, to set (true) or go to a mark
  std::map<std::string, View> marks;
  std::string target;  // of the last search
  std::vector<Version> undo, redo;
  std::optional<Request> request;  // what the front end is to do now

  const PlaneFacts& facts() const { return scene->facts(view.batch, view.head, view.sources); }
  Cell cell() const { return {view.batch, view.head, view.cursor.query, view.cursor.key}; }
};

}  // namespace maskctl::app::tui
