#include "app/tui/state/actions.h"

#include <algorithm>

#include "maskctl/base/text.h"

namespace maskctl::app::tui {
namespace {

constexpr Binding kBindings[] = {
    {"h <Left>", Move{0, -1}, "move by one unit of the drawing; 12h: by twelve"},
    {"l <Right>", Move{0, 1}, ""},
    {"k <Up>", Move{-1, 0}, ""},
    {"j <Down>", Move{1, 0}, ""},
    {"H", Move{0, -1, Stride::kEight}, "move by eight units"},
    {"L", Move{0, 1, Stride::kEight}, ""},
    {"K", Move{-1, 0, Stride::kEight}, ""},
    {"J", Move{1, 0, Stride::kEight}, ""},
    {"<C-d>", Move{1, 0, Stride::kHalfPage}, "half a page down, up"},
    {"<C-u>", Move{-1, 0, Stride::kHalfPage}, ""},
    {"<PageDown> <C-f> <Space>", Move{1, 0, Stride::kPage}, "a page down, up"},
    {"<PageUp> <C-b>", Move{-1, 0, Stride::kPage}, ""},
    {"0 <Home>", Move{0, -1, Stride::kEnd}, "first, last key"},
    {"$ <End>", Move{0, 1, Stride::kEnd}, ""},
    {"g", GoToRow{false}, "first, last query; 37G: query 37"},
    {"G", GoToRow{true}, ""},
    {"+", Zoom{1}, "zoom in, out; the cell under the cursor stays where it is"},
    {"-", Zoom{-1}, ""},
    {"f", ZoomTo::kWhole, "the whole mask"},
    {"= <Enter>", ZoomTo::kCells, "single cells"},
    {"/", Ask::kFind, "search: leak, empty, partial, border, diff"},
    {"n", FindNext{Way::kForward},
     "next, previous region of what was searched for, in all batches and heads"},
    {"N", FindNext{Way::kBack}, ""},
    {".", FindNext{Way::kForward, true}, "next, previous cell of it"},
    {",", FindNext{Way::kBack, true}, ""},
    {"[", Member{0, -1}, "previous, next head"},
    {"]", Member{0, 1}, ""},
    {"{", Member{-1, 0}, "previous, next batch"},
    {"}", Member{1, 0}, ""},
    {"m", Mark::kSet, "with a letter: mark this place"},
    {"'", Mark::kGo, "with a letter: go to that mark"},
    {"x", CellKey::kSwitch, "open the cell, or close it if it is open, as a step of the pipeline"},
    {"v", CellKey::kSelect, "select cells from here on, for x; again or <Esc>: no selection"},
    {"t", Ask::kEdit, "edit the pipeline: shown as it is typed; <Enter> keeps, <Esc> restores"},
    {"a", Ask::kAdd, "add a step at its end"},
    {"<Tab>", Toggle::kSteps, "select a step of the pipeline; again: back to the mask"},
    {"h <Left>", StepKey::kPrevious, "step: select the one before, after it", Focus::kSteps},
    {"l <Right>", StepKey::kNext, "", Focus::kSteps},
    {"x <Del>", StepKey::kRemove, "step: remove it", Focus::kSteps},
    {"<Space>", StepKey::kSwitch, "step: off, on; one that is off has a #", Focus::kSteps},
    {"(", StepKey::kBack, "step: earlier, later in the pipeline", Focus::kSteps},
    {")", StepKey::kForward, "", Focus::kSteps},
    {"<Enter> e", StepKey::kEdit, "step: edit it", Focus::kSteps},
    {"a", StepKey::kAdd, "step: add one after it", Focus::kSteps},
    {"<Esc> q", StepKey::kLeave, "step: back to the mask", Focus::kSteps},
    {"j <Down>", ListKey::kNext, "list: the next, previous", Focus::kList},
    {"k <Up>", ListKey::kPrevious, "", Focus::kList},
    {"<PageDown> <C-f> <C-d> <Space>", ListKey::kPageDown, "list: a page down, up", Focus::kList},
    {"<PageUp> <C-b> <C-u>", ListKey::kPageUp, "", Focus::kList},
    {"g <Home>", ListKey::kFirst, "list: the first, last", Focus::kList},
    {"G <End>", ListKey::kLast, "", Focus::kList},
    {"<Enter> l <Right>", ListKey::kOpen, "list: open the mask that is selected", Focus::kList},
    {"<", ListKey::kSortLeft, "list: sort by the column to the left, right", Focus::kList},
    {">", ListKey::kSortRight, "", Focus::kList},
    {"I", ListKey::kReverse, "list: the other way round", Focus::kList},
    {"z", ListKey::kFold, "list: equal ones once, or all", Focus::kList},
    {"/", Ask::kListFilter, "list: only lines with a text; in findings, documents and keys too",
     Focus::kList},
    {"<C-o>", ShowList{}, "the list of all batches and heads; so does <Esc>"},
    {"u", History{false}, "undo, redo a change of the pipeline"},
    {"<C-r>", History{true}, ""},
    {"r", Report::kRecognise, "recognise: the short pipeline that makes this mask"},
    {"c", Report::kCause, "with two SOURCEs: the cause of their difference"},
    {"i", Report::kStats, "statistics of all heads, as stats prints them"},
    {"C", Report::kCheck, "check: what looks wrong with the mask"},
    {"o", Report::kCost, "cost of attention under the mask"},
    {"F", Report::kFindings, "findings: all that may be wrong; <Enter> goes there"},
    {"D", Report::kDocuments, "the documents; <Enter> goes to one"},
    {":", Ask::kCommand, "a command"},
    {"d", Toggle::kSources,
     "with two SOURCEs: over each other, side by side, A, B, only A, only B"},
    {"b", Toggle::kTiles, "tiles of a kernel: empty, partial, full"},
    {"<", TileSize{-1}, "smaller, larger tiles"},
    {">", TileSize{1}, ""},
    {"w", Toggle::kWeights, "attention weights of the query under the cursor"},
    {"R", Toggle::kRows, "how many keys the queries see: a histogram"},
    {"y", Copy::kWhy, "copy why the cell is open or closed; the pipeline"},
    {"Y", Copy::kPipeline, ""},
    {"s", Toggle::kSide, "side panel on, off"},
    {"S", Toggle::kStyle, "other characters: shades, half blocks, quadrants, braille, ASCII"},
    {"? <F1>", Toggle::kHelp, "these keys; again: the next page"},
    {"<C-l>", Request::kRedraw, "draw the screen anew"},
    {"<C-z>", Request::kSuspend, "back to the shell; fg returns"},
    {"<Esc>", Cancel{}, "forget a count or a message, stop what goes on"},
    {"q <F10>", Quit{}, "quit; asks when the pipeline has changes"},
    {"<C-c>", Request::kQuit, "quit at once"},
};

constexpr TargetHelp kTargets[] = {
    {"leak", Target::kLeak, "leak", "open cells that join two documents"},
    {"empty", Target::kEmptyRow, "empty row", "queries that see no key"},
    {"partial", Target::kPartial, "partial tile",
     "tiles of 64 x 64 cells that are neither empty nor full"},
    {"border", Target::kBorder, "segment", "the first query of a segment"},
    {"diff", Target::kDifference, "difference", "cells in which two SOURCEs differ"},
};

}  // namespace

std::span<const Binding> bindings() { return kBindings; }
std::span<const TargetHelp> targets() { return kTargets; }

const Action* action_of(std::string_view key, Focus focus) {
  const std::string_view wanted = key == " " ? "<Space>" : key;
  for (const Binding& binding : kBindings) {
    if (binding.focus != focus) continue;
    const auto names = split(binding.keys, ' ');
    if (std::ranges::find(names, wanted) != names.end()) return &binding.action;
  }
  return focus == Focus::kMask ? nullptr : action_of(key, Focus::kMask);
}

}  // namespace maskctl::app::tui
