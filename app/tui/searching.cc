#include "app/tui/searching.h"

#include <algorithm>
#include <utility>

#include "app/tui/state.h"

namespace maskctl::app::tui {
namespace {

using Time = std::chrono::steady_clock::time_point;

constexpr BlockSize kTile{64, 64};

/// The next, or previous, border between segments: the first query of a segment, at the segment's
/// first key if it has keys.
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

std::optional<Place> next_place(const PlaceAsked& asked, const PlaneCounts& counts, Place from) {
  const Way way = asked.way;
  switch (asked.target) {
    case Target::kLeak:
      return next_of(leaks_in(counts.panel, asked.scene->pad_id), from, way);
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

}  // namespace

PlaceFound find_place(const PlaceAsked& asked, const PlaneCounts& counts) {
  const auto place = next_place(asked, counts, asked.from);
  if (place || !asked.round) return {place};
  const bool forward = asked.way == Way::kForward;
  const Mask& mask = asked.scene->mask;
  const Place border = forward ? Place{-1, mask.keys()} : Place{mask.queries(), -1};
  return {next_place(asked, counts, border), true};
}

/// One search on its way.
struct Searching::Work {
  Work(const PlaceAsked& asked_for, const PlaneCounts& counts, const std::function<void()>& done)
      : asked(asked_for), found([this, counts] { return find_place(asked, counts); }, done) {}

  const PlaceAsked asked;
  BackgroundTask<PlaceFound> found;
};

Searching::Searching(std::function<void()> done) : done_(std::move(done)) {}
Searching::~Searching() = default;

void Searching::follow(State& state) { follow_until(state, in_a_moment()); }
void Searching::finish(State& state) { follow_until(state, Time::max()); }

void Searching::follow_until(State& state, Time end) {
  std::optional<PlaceSearch>& search = state.looked_for;
  const bool wanted = search && state.awaited && !search->found;
  if (work_ && !(wanted && work_->asked == search->asked)) work_.reset();
  if (!wanted) return;
  const bool fresh = work_ == nullptr;
  if (fresh) work_ = std::make_unique<Work>(search->asked, state.counts(), done_);
  const bool waits = fresh || end == Time::max();
  if (!work_->found.wait_until(waits ? end : std::chrono::steady_clock::now())) return;
  search->found = work_->found.take();
  work_.reset();
}

}  // namespace maskctl::app::tui
