#include "app/tui/state/find.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "app/session/elsewhere.h"
#include "app/tui/state/prompt.h"
#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"

namespace maskctl::app::tui {
namespace {

/// The result of one step of a search.
enum class Ended : std::uint8_t { kFound, kNone, kWaits };

const TargetHelp* target_named(std::string_view name) {
  const auto at = std::ranges::find(targets(), name, &TargetHelp::name);
  return at == targets().end() ? nullptr : &*at;
}

/// The current batch and head, " in batch 0, head 3"; empty if there is only one of each.
std::string here_text(const State& state) {
  const std::string plane = plane_text(state.scene->mask, state.view.batch, state.view.head);
  return plane.empty() ? "" : " in " + plane;
}

/// One step of a search, in one direction.
class Search {
 public:
  Search(State& state, const TargetHelp& target, const FindNext& next)
      : state_(state), target_(target), way_(next.way), cells_(next.cells) {}

  Ended step() {
    if (!state_.counts().counted) return Ended::kWaits;
    return cells_ || !own() ? single() : region();
  }

 private:
  bool forward() const { return way_ == Way::kForward; }
  const Found* own() const { return state_.counts().finds.of(target_.target); }

  /// Goes to the next single cell. The search for it runs in the background.
  Ended single() {
    const View& view = state_.view;
    const bool round = !cells_ && target_.target != Target::kPartial;
    const PlaceAsked asked{state_.scene,   view.batch,  view.head, view.sources,
                           target_.target, view.cursor, way_,      round};
    std::optional<PlaceSearch>& search = state_.looked_for;
    if (!search || search->asked != asked) search = PlaceSearch{asked};
    if (!search->found) return Ended::kWaits;
    const auto [place, wrapped] = *std::exchange(search, std::nullopt)->found;
    if (!place) {
      state_.message = fmt::format("no {} {} the cursor{}", target_.one,
                                   forward() ? "after" : "before", here_text(state_));
      return Ended::kNone;
    }
    state_.view.cursor = *place;
    state_.found = wrapped ? wrapped_text() : "";
    state_.list.shown = false;
    return Ended::kFound;
  }

  Ended region() {
    Place from = state_.view.cursor;
    // If the list of batches and heads is shown, start before the first row, so that a region there
    // is found, too.
    if (state_.list.shown) from = {-1, 0};
    if (target_.target == Target::kEmptyRow) from.key = 0;
    const Region* next = next_region(own()->list(), from, way_);
    if (next) return go(own()->list(), *next, false);
    if (forward() && is_cut_off()) return single();
    if (state_.scene->lists()) return other_plane();
    if (own()->list().empty()) return none(fmt::format("no {}", target_.one));
    return go(own()->list(), end_of(own()->list()), true);
  }

  /// True if the list of regions ends before the last query, so that there may be more regions.
  bool is_cut_off() const {
    return own()->regions && own()->regions->queries < state_.scene->mask.queries();
  }
  const Region& end_of(std::span<const Region> regions) const {
    return forward() ? regions.front() : regions.back();
  }

  /// Goes to the nearest batch and head in this direction that has a region, continuing at the
  /// other end of the list. The current batch and head comes last.
  Ended other_plane() {
    const PlaneTable& planes = *state_.scene->planes;
    const Index step = forward() ? 1 : -1;
    for (Index i = 1; i <= planes.size(); ++i) {
      const Index row = (here() + step * i + planes.size()) % planes.size();
      if (row == here()) break;
      if (row >= planes.known()) return Ended::kWaits;
      const Found& found = *planes[row].finds.of(target_.target);
      if (!planes.is_first(row) || planes[row].like == like_of(here()) || found.count == 0) {
        continue;
      }
      const bool wrapped = forward() ? row < here() : row > here();
      state_.view.batch = planes[row].batch;
      state_.view.head = planes[row].head;
      return go(found.list(), end_of(found.list()), wrapped);
    }
    if (own()->list().empty()) return none(fmt::format("no {} in any batch and head", target_.one));
    return go(own()->list(), end_of(own()->list()), true);
  }

  Index here() const { return state_.view.batch * state_.scene->mask.heads() + state_.view.head; }
  Index like_of(Index row) const {
    const PlaneTable& planes = *state_.scene->planes;
    return row < planes.known() ? planes[row].like : row;
  }

  Ended none(std::string message) {
    state_.message = std::move(message);
    return Ended::kNone;
  }

  /// Moves the cursor to a region (a group of cells that was searched for) of the current batch and
  /// head.
  Ended go(std::span<const Region> list, const Region& region, bool wrapped) {
    const bool rows = target_.target == Target::kEmptyRow;
    state_.view.cursor = {region.first.query, rows ? state_.view.cursor.key : region.first.key};
    state_.found = number_text(list, region) + ", " +
                   (rows ? counted(region.queries.size(), "row") : counted(region.cells, "cell"));
    if (wrapped) state_.found += ", " + wrapped_text();
    state_.list.shown = false;
    return Ended::kFound;
  }

  std::string wrapped_text() const { return forward() ? "from the start again" : "from the end"; }

  /// The number of a region, such as "3 of 12". It counts the regions of all batches and heads once
  /// these are known.
  std::string number_text(std::span<const Region> list, const Region& region) const {
    const PlaneTable* planes = state_.scene->lists() ? state_.scene->planes.get() : nullptr;
    const bool sided = state_.view.sources != Sources::kBoth &&
                       state_.view.sources != Sources::kA &&
                       state_.view.sources != Sources::kBeside;
    if (!planes || !planes->complete() || (sided && target_.target != Target::kDifference)) {
      return numbered(list, region, 0, planes ? 0 : std::ssize(list));
    }
    Index before = 0, all = 0;
    for (Index row = 0; row < planes->size(); ++row) {
      if (!planes->is_first(row)) continue;
      const Index regions = std::ssize((*planes)[row].finds.of(target_.target)->list());
      if (row < like_of(here())) before += regions;
      all += regions;
    }
    return numbered(list, region, before, all);
  }

  static std::string numbered(std::span<const Region> list, const Region& region, Index before,
                              Index all) {
    const auto at = std::ranges::find(list, region.first, &Region::first);
    const std::string number = grouped(before + (at - list.begin()) + 1);
    return all == 0 ? number : fmt::format("{} of {}", number, grouped(all));
  }

  State& state_;
  const TargetHelp& target_;
  const Way way_;
  const bool cells_;
};

/// The current search target. Null, with a message, if there is nothing to search for.
const TargetHelp* wanted_target(State& state) {
  const std::string fallback = state.scene->other ? "diff" : "leak";
  const std::string& name = state.target.empty() ? fallback : state.target;
  const TargetHelp* target = target_named(name);
  if (!target) {
    state.message = fmt::format("/{}: search for leak, empty, partial, border or diff", name);
  } else if (target->target == Target::kLeak && !state.scene->has_ids()) {
    open_prompt(state, Ask::kCommand);
    state.line = Line::at_end("segments ");
    state.message = "no documents known: FILE of segment ids? or :positions, :cu-seqlens";
    return nullptr;
  } else if (target->target == Target::kDifference && !state.scene->other) {
    state.message = "there is one SOURCE; maskctl tui SOURCE OTHER shows two";
    return nullptr;
  }
  return target;
}

}  // namespace

void find(State& state, const FindNext& next, Index times) {
  const TargetHelp* target = wanted_target(state);
  if (!target) return;
  if (const auto awaited = std::exchange(state.awaited, std::nullopt)) times += awaited->times;
  for (; times > 0; --times) {
    const Ended ended = Search(state, *target, next).step();
    if (ended == Ended::kNone) return;
    if (ended == Ended::kWaits) {
      state.awaited = Awaited{next, times};
      return;
    }
  }
}

bool resume_search(State& state) {
  if (!state.awaited) return false;
  const Awaited awaited = *std::exchange(state.awaited, std::nullopt);
  find(state, awaited.next, awaited.times);
  return !state.awaited || state.awaited->times < awaited.times;
}

}  // namespace maskctl::app::tui
