#include "app/tui/actions.h"

#include <fmt/format.h>

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
    {"<PageDown> <C-f>", Move{1, 0, Stride::kPage}, "a page down, up"},
    {"<PageUp> <C-b>", Move{-1, 0, Stride::kPage}, ""},
    {"0 <Home>", Move{0, -1, Stride::kEnd}, "first, last key"},
    {"$ <End>", Move{0, 1, Stride::kEnd}, ""},
    {"g", GoToRow{false}, "first, last query; 37G: query 37"},
    {"G", GoToRow{true}, ""},
    {"+", Zoom{1}, "zoom in, out; the cell under the cursor stays where it is"},
    {"-", Zoom{-1}, ""},
    {"f", ZoomTo::kWhole, "the whole mask"},
    {"=", ZoomTo::kCells, "single cells"},
    {"/", Ask::kFind, "search: leak, empty, partial, border, diff"},
    {"n", FindNext{Way::kForward}, "next, previous of what was searched for"},
    {"N", FindNext{Way::kBack}, ""},
    {"[", Member{0, -1}, "previous, next head"},
    {"]", Member{0, 1}, ""},
    {"{", Member{-1, 0}, "previous, next batch"},
    {"}", Member{1, 0}, ""},
    {"m", Mark::kSet, "with a letter: mark this place"},
    {"'", Mark::kGo, "with a letter: go to that mark"},
    {"t", Ask::kEdit, "edit the pipeline: shown as it is typed; <Enter> keeps, <Esc> restores"},
    {"a", Ask::kAdd, "add a step at its end"},
    {"u", History{false}, "undo, redo a change of the pipeline"},
    {"<C-r>", History{true}, ""},
    {"r", Report::kRecognise, "recognise: the short pipeline that makes this mask"},
    {"c", Report::kCause, "with two SOURCEs: the cause of their difference"},
    {"i", Report::kStats, "statistics of all heads"},
    {":", Ask::kCommand, "a command"},
    {"d", Toggle::kSources, "with two SOURCEs: both, A, B"},
    {"s", Toggle::kSide, "side panel on, off"},
    {"S", Toggle::kStyle, "other characters: shades, half blocks, quadrants, braille, ASCII"},
    {"? <F1>", Toggle::kHelp, "these keys; again: the next page"},
    {"<C-l>", Request::kRedraw, "draw the screen anew"},
    {"<C-z>", Request::kSuspend, "back to the shell; fg returns"},
    {"<Esc>", Cancel{}, "forget a count or a message, stop a report"},
    {"q <C-c>", Request::kQuit, "quit"},
};

struct CommandHelp {
  std::string_view usage, help;
};
constexpr CommandHelp kCommands[] = {
    {":37", "query 37"},
    {":37,4", "query 37, key 4"},
    {":b 2, :h 5", "batch 2, head 5"},
    {":w FILE", "save: a picture (.png, .svg, .html) or the mask (.npy, .npz, ...)"},
    {":w! FILE", "the same over an existing file"},
    {":q", "quit"},
};

constexpr TargetHelp kTargets[] = {
    {"leak", Target::kLeak, "leak", "open cells that join two documents or touch padding"},
    {"empty", Target::kEmptyRow, "empty row", "queries that see no key"},
    {"partial", Target::kPartial, "partial tile",
     "tiles of 64 x 64 cells that are neither empty nor full"},
    {"border", Target::kBorder, "segment", "the first query of a segment"},
    {"diff", Target::kDifference, "difference", "cells in which two SOURCEs differ"},
};

constexpr std::string_view kMouse[][2] = {
    {"click", "the cell under the mouse; in the overview: go there"},
    {"wheel", "three units up, down"},
};

}  // namespace

std::span<const Binding> bindings() { return kBindings; }
std::span<const TargetHelp> targets() { return kTargets; }

const Action* action_of(std::string_view key) {
  for (const Binding& binding : kBindings) {
    for (const std::string_view name : split(binding.keys, ' ')) {
      if (name == key) return &binding.action;
    }
  }
  return nullptr;
}

std::vector<HelpRow> help_rows() {
  std::vector<HelpRow> out;
  for (const Binding& binding : kBindings) {
    if (binding.help.empty()) {
      out.back().keys += fmt::format(" {}", binding.keys);
    } else {
      out.push_back({std::string(binding.keys), binding.help});
    }
  }
  for (const auto& [what, help] : kMouse) out.push_back({std::string(what), help});
  for (const CommandHelp& command : kCommands) {
    out.push_back({std::string(command.usage), command.help});
  }
  for (const TargetHelp& target : kTargets) {
    out.push_back({fmt::format("/{}", target.name), target.help});
  }
  return out;
}

}  // namespace maskctl::app::tui
