#include "app/tui/find.h"

#include <fmt/format.h>

#include <algorithm>

namespace maskctl::app::tui {
namespace {

constexpr BlockSize kTile{64, 64};

/// The first query of the next segment, or of this or the previous one; at its first key, if there
/// are keys of it.
std::optional<Place> next_border(const Panel& panel, Place from, Way way) {
  const auto ids = panel.q_segments;
  const auto begins = [&](Index q) { return q == 0 || ids[as_size(q)] != ids[as_size(q - 1)]; };
  const Index step = way == Way::kForward ? 1 : -1;
  for (Index q = from.query + step; q >= 0 && q < std::ssize(ids); q += step) {
    if (!begins(q)) continue;
    const auto key = std::ranges::find(panel.k_segments, ids[as_size(q)]);
    if (key == panel.k_segments.end()) return Place{q, from.key};
    return Place{q, key - panel.k_segments.begin()};
  }
  return std::nullopt;
}

std::optional<Place> next_of(const PlanePtr& plane, Place from, Way way) {
  return plane ? next_open(*plane, from, way) : std::nullopt;
}

std::optional<Place> next_place(const PlaneFacts& facts, Target target, Place from, Way way) {
  switch (target) {
    case Target::kLeak:
      return next_of(facts.panel.leaks, from, way);
    case Target::kDifference:
      return next_of(facts.different, from, way);
    case Target::kPartial:
      return next_partial_tile(*facts.panel.plane, kTile, from, way);
    case Target::kBorder:
      return next_border(facts.panel, from, way);
    case Target::kEmptyRow:
      if (const auto row = next_empty_row(*facts.panel.plane, from.query, way)) {
        return Place{*row, from.key};
      }
  }
  return std::nullopt;
}

const TargetHelp* target_named(std::string_view name) {
  const auto at = std::ranges::find(targets(), name, &TargetHelp::name);
  return at == targets().end() ? nullptr : &*at;
}

}  // namespace

bool find_next(State& state, Way way) {
  const std::string fallback = state.scene->other ? "diff" : "leak";
  const std::string& name = state.target.empty() ? fallback : state.target;
  const TargetHelp* target = target_named(name);
  if (!target) {
    state.message = fmt::format("/{}: search for leak, empty, partial, border or diff", name);
    return false;
  }
  if (!state.facts().counted) {
    state.message = "still counting; try again in a moment";
    return false;
  }
  const auto place = next_place(state.facts(), target->target, state.view.cursor, way);
  if (!place) {
    state.message =
        fmt::format("no {} {} the cursor", target->one, way == Way::kForward ? "after" : "before");
    return false;
  }
  state.view.cursor = *place;
  return true;
}

}  // namespace maskctl::app::tui
