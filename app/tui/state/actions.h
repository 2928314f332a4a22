// The actions of keys: one table, from which `tui --keys` and the help are made, too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "app/tui/beside/report.h"
#include "app/tui/beside/target.h"
#include "maskctl/inspect/find/find.h"

namespace maskctl::app::tui {

/// The distance of a move: one unit of the drawing, eight units, half a screen, a full screen, or
/// to the end of the axis.
enum class Stride : std::uint8_t { kUnit, kEight, kHalfPage, kPage, kEnd };

struct Move {
  int queries = 0, keys = 0;  // direction along each axis: -1, 0 or 1
  Stride stride = Stride::kUnit;
};
struct GoToRow {
  bool last = false;  // where to go if no number was typed: true: the last row, false: the first
};
struct Zoom {
  int by = 0;  // 1: zoom in, -1: zoom out
};
enum class ZoomTo : std::uint8_t { kWhole, kCells };
/// Goes to the next region (group of cells) of the last search target, such as leaks; with `cells`,
/// to the next single cell.
struct FindNext {
  Way way = Way::kForward;
  bool cells = false;
  friend bool operator==(const FindNext&, const FindNext&) = default;
};
struct Member {
  int batch = 0, head = 0;  // -1: previous, 1: next, 0: the same
};
enum class Mark : std::uint8_t { kSet, kGo };
enum class Ask : std::uint8_t { kCommand, kFind, kEdit, kAdd, kListFilter, kPageFilter };
/// Actions on the cell under the cursor or the selection.
enum class CellKey : std::uint8_t { kSelect, kSwitch };
struct History {
  bool redo = false;
};
/// Actions on the selected step of the pipeline.
enum class StepKey : std::uint8_t {
  kPrevious,
  kNext,
  kRemove,
  kSwitch,
  kBack,
  kForward,
  kEdit,
  kAdd,
  kLeave
};
enum class Toggle : std::uint8_t {
  kSide,
  kHelp,
  kStyle,
  kSources,
  kSteps,
  kTiles,
  kWeights,
  kRows
};
/// Actions in the list of batches and heads.
enum class ListKey : std::uint8_t {
  kNext,
  kPrevious,
  kPageDown,
  kPageUp,
  kFirst,
  kLast,
  kOpen,
  kSortLeft,
  kSortRight,
  kReverse,
  kFold
};
/// The columns of the list of batches and heads. The list can be sorted by any of them. Counts must
/// come after kHead.
enum class PlaneColumn : std::uint8_t { kBatch, kHead, kOpen, kEmptyRows, kLeaks, kDifferences };
struct ShowList {};
struct TileSize {
  int by = 0;  // 1: twice as large, -1: half as large
};
/// What to copy to the clipboard: why the cell is open or closed, or the pipeline.
enum class Copy : std::uint8_t { kWhy, kPipeline };
/// Requests that only the terminal can carry out.
enum class Request : std::uint8_t { kQuit, kLeave, kRedraw, kSuspend, kCopy };
struct Quit {};
struct Cancel {};

using Action =
    std::variant<Move, GoToRow, Zoom, ZoomTo, FindNext, Member, Mark, Ask, CellKey, History,
                 StepKey, ListKey, ShowList, Toggle, TileSize, Copy, Request, Report, Quit, Cancel>;

/// What has the keyboard focus: the mask, the selected step of the pipeline, or the list of batches
/// and heads.
enum class Focus : std::uint8_t { kMask, kSteps, kList };

struct Binding {
  std::string_view keys;  // names as in Input, separated by blanks
  Action action;
  std::string_view help;  // empty: the previous row's help covers it
  Focus focus = Focus::kMask;
};

std::span<const Binding> bindings();
/// The action of a key; null if it has none. Keys without an action for steps or the list act on
/// the mask.
const Action* action_of(std::string_view key, Focus focus);

/// A target of '/'.
struct TargetHelp {
  std::string_view name;  // what the user types
  Target target;
  std::string_view one;  // singular noun: "empty row"
  std::string_view help;
};
std::span<const TargetHelp> targets();

}  // namespace maskctl::app::tui
