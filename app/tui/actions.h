// What keys do: one table, from which the help overlay and docs/tui.md are made too.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "maskctl/inspect/find/find.h"

namespace maskctl::app::tui {

/// How far a move goes: one unit of the drawing, eight, half of what is visible, all of it, or to
/// the end of the axis.
enum class Stride : std::uint8_t { kUnit, kEight, kHalfPage, kPage, kEnd };

struct Move {
  int queries = 0, keys = 0;  // -1, 0 or 1
  Stride stride = Stride::kUnit;
};
struct GoToRow {
  bool last = false;  // without a count
};
struct Zoom {
  int by = 0;  // 1: cells become larger
};
enum class ZoomTo : std::uint8_t { kWhole, kCells };
/// The next region of what is searched for, or its next cell.
struct FindNext {
  Way way = Way::kForward;
  bool cells = false;
  friend bool operator==(const FindNext&, const FindNext&) = default;
};
struct Member {
  int batch = 0, head = 0;  // -1, 0 or 1
};
enum class Mark : std::uint8_t { kSet, kGo };
enum class Ask : std::uint8_t { kCommand, kFind, kEdit, kAdd };
struct History {
  bool redo = false;
};
/// What happens to the selected step of the pipeline.
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
enum class Toggle : std::uint8_t { kSide, kHelp, kStyle, kSources, kSteps, kTiles, kWeights };
/// What happens in the list of batches and heads.
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
/// The columns of the list of batches and heads, by which it can be sorted; counts come after
/// indices.
enum class PlaneColumn : std::uint8_t { kBatch, kHead, kOpen, kEmptyRows, kLeaks, kDifferences };
struct ShowList {};
struct TileSize {
  int by = 0;  // 1: twice as large
};
/// What is copied: why the cell is open or closed, or the pipeline.
enum class Copy : std::uint8_t { kWhy, kPipeline };
/// What only the terminal can do.
enum class Request : std::uint8_t { kQuit, kLeave, kRedraw, kSuspend, kCopy };
/// Answers about the whole mask, made beside the interface.
enum class Report : std::uint8_t {
  kRecognise,
  kCause,
  kStats,
  kCheck,
  kCost,
  kFindings,
  kDocuments
};
struct Quit {};
struct Cancel {};

using Action =
    std::variant<Move, GoToRow, Zoom, ZoomTo, FindNext, Member, Mark, Ask, History, StepKey,
                 ListKey, ShowList, Toggle, TileSize, Copy, Request, Report, Quit, Cancel>;

/// What keys act on first: the mask, the selected step of the pipeline, the list of all batches and
/// heads.
enum class Focus : std::uint8_t { kMask, kSteps, kList };

struct Binding {
  std::string_view keys;  // as in Input, apart by blanks
  Action action;
  std::string_view help;  // empty: said by the row before
  Focus focus = Focus::kMask;
};

std::span<const Binding> bindings();
/// The action of a key; null if it has none. Keys that steps or the list do not use act on the
/// mask.
const Action* action_of(std::string_view key, Focus focus);

/// What can be searched for with '/'.
enum class Target : std::uint8_t { kLeak, kEmptyRow, kPartial, kBorder, kDifference };
struct TargetHelp {
  std::string_view name;  // as it is typed
  Target target;
  std::string_view one;  // "empty row"
  std::string_view help;
};
std::span<const TargetHelp> targets();

/// A row of the help: keys, commands after ':', targets after '/', and what they do.
struct HelpRow {
  std::string keys;
  std::string_view help;
};
std::vector<HelpRow> help_rows();

}  // namespace maskctl::app::tui
