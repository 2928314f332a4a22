#include "app/tui/beside/searching.h"

#include <algorithm>

namespace maskctl::app::tui {
namespace {

constexpr BlockSize kTile{64, 64};

/// The next or previous border between segments: the first query of a segment, and the first key of
/// that segment, if it has keys.
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

std::optional<Place> next_of(const PlanePtr& plane, Place from, Way way, const RowsPassed& passed) {
  return plane ? next_open(*plane, from, way, passed) : std::nullopt;
}

std::optional<Place> next_place(const PlaceAsked& asked, const PlaneCounts& counts, Place from,
                                const RowsPassed& passed) {
  const Way way = asked.way;
  switch (asked.target) {
    case Target::kLeak:
      return next_of(leaks_in(counts.panel, asked.scene->pad_id), from, way, passed);
    case Target::kDifference:
      return next_of(counts.different, from, way, passed);
    case Target::kPartial:
      return next_partial_tile(*counts.panel.plane, kTile, from, way, passed);
    case Target::kBorder:
      return next_border(counts.panel, from, way);
    case Target::kEmptyRow:
      if (const auto row = next_empty_row(*counts.panel.plane, from.query, way, passed)) {
        return Place{*row, from.key};
      }
  }
  return std::nullopt;
}

}  // namespace

PlaceFound find_place(const PlaceAsked& asked, const PlaneCounts& counts,
                      const std::function<void(double)>& progress) {
  const bool forward = asked.way == Way::kForward;
  const Mask& mask = asked.scene->mask;
  const Index rest = forward ? mask.queries() - asked.from.query : asked.from.query;
  const auto all = static_cast<double>(rest + (asked.round ? mask.queries() : 0));
  Index before = 0;  // rows passed before the search continued at the other end
  const auto passed = [&](Index rows) {
    progress(static_cast<double>(before + rows) / std::max(all, 1.0));
  };
  const auto place = next_place(asked, counts, asked.from, passed);
  if (place || !asked.round) return {place};
  before = rest;
  const Place border = forward ? Place{-1, mask.keys()} : Place{mask.queries(), -1};
  return {next_place(asked, counts, border, passed), true};
}

void Searching::follow(PlaceSearch* search, Time end) {
  if (!search || search->found) return work_.stop();
  search->found = work_.follow(search->asked, end, [&] {
    fraction_ = 0;
    const PlaceAsked& asked = search->asked;
    return [this, asked, counts = asked.scene->counts(asked.batch, asked.head, asked.sources)] {
      return find_place(asked, counts, [this](double fraction) { fraction_ = fraction; });
    };
  });
  search->fraction = fraction_;
}

}  // namespace maskctl::app::tui
