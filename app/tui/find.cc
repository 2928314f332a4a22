#include "app/tui/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "maskctl/base/text.h"

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

std::optional<Place> next_place(const PlaneCounts& counts, Target target, Place from, Way way) {
  switch (target) {
    case Target::kLeak:
      return next_of(counts.panel.documents.leaks, from, way);
    case Target::kDifference:
      return next_of(counts.different, from, way);
    case Target::kPartial:
      return next_partial_tile(*counts.panel.plane, kTile, from, way);
    case Target::kBorder:
      return next_border(counts.panel, from, way);
    case Target::kEmptyRow:
      if (const auto row = next_empty_row(*counts.panel.plane, from.query, way)) {
        return Place{*row, from.key};
      }
  }
  return std::nullopt;
}

const TargetHelp* target_named(std::string_view name) {
  const auto at = std::ranges::find(targets(), name, &TargetHelp::name);
  return at == targets().end() ? nullptr : &*at;
}

/// What is counted in all batches and heads.
bool is_marked(Target target) { return target == Target::kLeak || target == Target::kDifference; }

const MarkedPlanes& marked_of(const Marks& marks, Target target) {
  return target == Target::kLeak ? marks.leaks : marks.differences;
}

/// The nearest marked batch and head on this way, round the end; not the one that is shown.
const PlaneMarks* next_plane(const MarkedPlanes& planes, const View& view, Way way) {
  const auto order = [&](const PlaneMarks& plane) {
    const auto at = std::pair(plane.batch, plane.head), here = std::pair(view.batch, view.head);
    const bool ahead = way == Way::kForward ? at > here : at < here;
    return std::pair(!ahead, way == Way::kForward ? at : std::pair(-at.first, -at.second));
  };
  const PlaneMarks* best = nullptr;
  for (const PlaneMarks& plane : planes) {
    if (plane.batch == view.batch && plane.head == view.head) continue;
    if (best == nullptr || order(plane) < order(*best)) best = &plane;
  }
  return best;
}

/// " in batch 0, head 3" where there are others.
std::string here_text(const State& state) {
  const std::string plane = plane_text(state.scene->mask, state.view.batch, state.view.head);
  return plane.empty() ? "" : " in " + plane;
}

/// Says what is elsewhere, and keeps where that is for the next time.
void offer_elsewhere(State& state, const TargetHelp& target, Way way) {
  const bool forward = way == Way::kForward;
  state.message = fmt::format("no {} {} the cursor{}", target.one, forward ? "after" : "before",
                              here_text(state));
  const Marks* marks = state.scene->marks();
  if (!state.scene->has_marks() || !is_marked(target.target)) return;
  if (!marks) {
    state.message += "; the others are still being counted";
    return;
  }
  const MarkedPlanes& planes = marked_of(*marks, target.target);
  if (planes.empty()) {
    state.message = fmt::format("no {} in any batch and head", target.one);
  } else if (const PlaneMarks* plane = next_plane(planes, state.view, way)) {
    const Place& to = forward ? plane->first : plane->last;
    state.message =
        fmt::format("{} in {}; the same key goes there", counted(plane->count, target.one),
                    plane_text(state.scene->mask, plane->batch, plane->head));
    state.offered = Offer{state.cell(), way, {plane->batch, plane->head, to.query, to.key}};
  }
}

/// Goes where the last message said, if nothing has moved since.
bool take_offer(State& state, Way way) {
  const auto offer = std::exchange(state.offered, std::nullopt);
  if (!offer || offer->from != state.cell() || offer->way != way) return false;
  state.view.batch = offer->to.batch;
  state.view.head = offer->to.head;
  state.view.cursor = {offer->to.query, offer->to.key};
  return true;
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
  if (target->target == Target::kLeak && !state.scene->has_ids()) {
    state.message = "no documents known: --segments, --positions or --cu-seqlens FILE";
    return false;
  }
  if (target->target == Target::kDifference && !state.scene->other) {
    state.message = "there is one SOURCE; maskctl tui SOURCE OTHER shows two";
    return false;
  }
  if (take_offer(state, way)) return true;
  if (!state.counts().counted) {
    state.message = "still counting; try again in a moment";
    return false;
  }
  const auto place = next_place(state.counts(), target->target, state.view.cursor, way);
  if (!place) {
    offer_elsewhere(state, *target, way);
    return false;
  }
  state.view.cursor = *place;
  return true;
}

}  // namespace maskctl::app::tui
