// The next single place of what is searched for, which is found beside the screens.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "app/tui/errand.h"
#include "app/tui/scene.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// Where to look, in one batch and head of a scene.
struct PlaceAsked {
  ScenePtr scene;
  Index batch = 0, head = 0;
  Sources sources = Sources::kBoth;
  Target target = Target::kLeak;
  Place from;
  Way way = Way::kForward;
  bool round = false;  // goes on round the end
  friend bool operator==(const PlaceAsked&, const PlaceAsked&) = default;
};

struct PlaceFound {
  std::optional<Place> place;
  bool wrapped = false;  // found round the end
};

/// A search for a place.
struct PlaceSearch {
  PlaceAsked asked;
  std::optional<PlaceFound> found = {};  // once it has ended
  double fraction = 0;                   // of the rows to look at that were
  Stopwatch watch = {};
};

/// May take long, and heeds stop requests. `counts` are those of the batch and head; `progress`
/// hears which fraction of the rows was looked at.
PlaceFound find_place(const PlaceAsked& asked, const PlaneCounts& counts,
                      const std::function<void(double)>& progress);

struct State;

/// Finds places beside the interface.
class Searching {
 public:
  /// `ended` is called on another thread when a search has ended.
  explicit Searching(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Begins the search for the place that the state waits for, stops one that it no longer waits
  /// for, and puts what was found into it; see Errand.
  void follow(State& state, Time end);
  bool busy() const { return work_.busy(); }

 private:
  std::atomic<double> fraction_ = 0;
  Errand<PlaceAsked, PlaceFound> work_;
};

}  // namespace maskctl::app::tui
