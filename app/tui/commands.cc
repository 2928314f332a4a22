#include "app/tui/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/tui/save.h"
#include "app/tui/state.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl::app::tui {
namespace {

Index number(std::string_view text, std::string_view what) {
  if (const auto value = whole_number_from(text); value && *value >= 0) return *value;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} '{}': expected a whole number from 0 on", what, shown(text)));
}

Index member(std::string_view text, std::string_view what, Index count) {
  const Index index = number(text, what);
  if (index < count) return index;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} {}: the mask has 0 to {}", what, index, count - 1));
}

void go_to(State& state, Workbench&, const std::string& text) {
  const auto parts = split(text, ',');
  Place place = state.view.cursor;
  place.query = number(parts[0], "query");
  if (parts.size() > 1) place.key = number(parts[1], "key");
  state.view.cursor = place;
}

void go_to_batch(State& state, Workbench&, const std::string& text) {
  state.view.batch = member(text, "batch", state.scene->mask.batch());
}

void go_to_head(State& state, Workbench&, const std::string& text) {
  state.view.head = member(text, "head", state.scene->mask.heads());
}

/// Asks before a file is replaced.
void write(State& state, Workbench& bench, const std::string& text) {
  try {
    save(state, bench, text, false);
  } catch (const Error& error) {
    const auto overwrites = [](const Remedy& remedy) { return remedy.kind == Remedy::kOverwrite; };
    if (!std::ranges::any_of(error.remedies(), overwrites)) throw;
    state.question = {fmt::format("{} exists; replace it?", shown(text)), "w! " + text};
  }
}

void replace(State& state, Workbench& bench, const std::string& text) {
  save(state, bench, text, true);
}

void quit(State& state, Workbench&, const std::string&) {
  if (state.scene->pipeline == state.saved_pipeline) {
    state.request = Request::kQuit;
  } else {
    state.question = {"the pipeline has changes (:w @FILE saves it); quit without them?", "q!"};
  }
}

void quit_at_once(State& state, Workbench&, const std::string&) { state.request = Request::kQuit; }

constexpr Command kCommands[] = {
    {"", "37", "query 37", go_to},
    {"", "37,4", "query 37, key 4", go_to},
    {"b", "b 2", "batch 2", go_to_batch},
    {"h", "h 5", "head 5", go_to_head},
    {"w", "w FILE",
     "save what is drawn (.txt, .ansi, .png, .svg, .html), or the mask (.npy, .npz, ...); asks "
     "before it replaces a file",
     write},
    {"w", "w @FILE", "save the pipeline, for -t @FILE", write},
    {"w!", "w! FILE", "save over an existing file", replace},
    {"q", "q", "quit; asks when the pipeline has changes", quit},
    {"q!", "q!", "quit without asking", quit_at_once},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

void run_command(State& state, Workbench& bench, const std::string& line) {
  if (line.empty()) return;
  if (is_digit(line.front())) return go_to(state, bench, line);
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string name = line.substr(0, blank);
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  if (found == std::end(kCommands)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format(":{}: no such command; ? shows them", shown(name)));
  }
  found->run(state, bench, line.substr(std::min(blank + 1, line.size())));
}

}  // namespace maskctl::app::tui
