#include "app/tui/state/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/tui/state/history.h"
#include "app/tui/state/save.h"
#include "app/tui/state/state.h"
#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app::tui {
namespace {

Index number(std::string_view text, std::string_view what) {
  if (const auto value = whole_number_from(text); value && *value >= 0) return *value;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} '{}': expected a whole number from 0 on", what, printable(text)));
}

Index checked_member(Index index, std::string_view what, Index count) {
  if (index < count) return index;
  throw Error(Errc::kInvalidArgument,
              fmt::format("{} {}: the mask has 0 to {}", what, index, count - 1));
}

/// Goes to a query (a number alone), or to a cell in any format that cell_from() reads.
void go_to(State& state, Workbench&, const std::string& text) {
  const auto query = whole_number_from(text);
  const auto parts = query ? CellParts{{}, {}, query, {}} : cell_from(text);
  if (!parts || parts->query.value_or(0) < 0) {
    throw Error(Errc::kInvalidArgument, fmt::format(":{}: expected a cell, as in 37,4 or {}",
                                                    printable(text), cell_text(state.cell())));
  }
  const Mask& mask = state.scene->mask;
  View to = state.view;
  const auto take = [](const std::optional<Index>& part, std::string_view what, Index count,
                       Index& target) {
    if (part) target = checked_member(*part, what, count);
  };
  take(parts->batch, "batch", mask.batch(), to.batch);
  take(parts->head, "head", mask.heads(), to.head);
  take(parts->query, "query", mask.queries(), to.cursor.query);
  take(parts->key, "key", mask.keys(), to.cursor.key);
  state.view = to;
  state.list.shown = false;
}

void go_to_batch(State& state, Workbench&, const std::string& text) {
  state.list.chosen = true;
  state.view.batch = checked_member(number(text, "batch"), "batch", state.scene->mask.batch());
}

void go_to_head(State& state, Workbench&, const std::string& text) {
  state.list.chosen = true;
  state.view.head = checked_member(number(text, "head"), "head", state.scene->mask.heads());
}

/// Reads documents from a file; they replace those of the current mask.
template <DocumentForm form>
void take_documents(State& state, Workbench&, const std::string& text) {
  if (text.empty()) {
    throw Error(Errc::kInvalidArgument, fmt::format("which FILE of {}?", name(form)));
  }
  if (!can_change(state)) return;
  state.change = {Change::kDocuments, {state.scene->pipeline, DocumentOptions{form, text}}};
}

void write(State& state, Workbench& bench, const std::string& text) {
  save(state, bench, text, false);
}

void replace(State& state, Workbench& bench, const std::string& text) {
  save(state, bench, text, true);
}

void quit(State& state, Workbench&, const std::string&) { leave(state, Request::kQuit); }

void quit_at_once(State& state, Workbench&, const std::string&) { state.request = Request::kQuit; }

constexpr Command kCommands[] = {
    {"", "37", "query 37", go_to},
    {"", "37,4", "query 37, key 4; or a cell as any report writes it", go_to},
    {"b", "b 2", "batch 2", go_to_batch},
    {"h", "h 5", "head 5", go_to_head},
    {"segments", "segments FILE", "documents by ids, as --segments reads them",
     take_documents<DocumentForm::kSegments>},
    {"positions", "positions FILE", "documents by position ids",
     take_documents<DocumentForm::kPositions>},
    {"cu-seqlens", "cu-seqlens FILE", "documents by where they end",
     take_documents<DocumentForm::kCuSeqlens>},
    {"w", "w FILE",
     "save what is drawn (.txt, .ansi, .png, .svg, .html), or the mask (.npy, .npz:NAME, ...); "
     "asks before it replaces anything",
     write},
    {"w", "w @FILE", "save the pipeline, for -t @FILE", write},
    {"w!", "w! FILE", "save over an existing file, or the array that FILE:NAME names", replace},
    {"q", "q", "quit; asks when the pipeline has changes", quit},
    {"q!", "q!", "quit without asking", quit_at_once},
};

}  // namespace

std::span<const Command> commands() { return kCommands; }

void run_command(State& state, Workbench& bench, const std::string& line) {
  if (line.empty()) return;
  if (is_digit(line.front()) || cell_from(line)) return go_to(state, bench, line);
  const std::size_t blank = std::min(line.find(' '), line.size());
  const std::string name = line.substr(0, blank);
  const auto found = std::ranges::find(kCommands, name, &Command::name);
  if (found == std::end(kCommands)) {
    throw Error(Errc::kInvalidArgument,
                fmt::format(":{}: no such command; ? shows them", printable(name)));
  }
  found->run(state, bench, line.substr(std::min(blank + 1, line.size())));
}

}  // namespace maskctl::app::tui
