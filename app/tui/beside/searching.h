// Searches for the next single cell of a search target in the background.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <utility>

#include "app/tui/beside/errand.h"
#include "app/tui/beside/scene.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::app::tui {

/// A search request: where to start in one batch and head of a scene, and in which direction.
struct PlaceAsked {
  ScenePtr scene;
  Index batch = 0, head = 0;
  Sources sources = Sources::kBoth;
  Target target = Target::kLeak;
  Place from;
  Way way = Way::kForward;
  bool round = false;  // continue at the other end of the mask
  friend bool operator==(const PlaceAsked&, const PlaceAsked&) = default;
};

struct PlaceFound {
  std::optional<Place> place;
  bool wrapped = false;  // found after continuing at the other end
};

/// A search in progress.
struct PlaceSearch {
  PlaceAsked asked;
  std::optional<PlaceFound> found = {};  // set when the search has ended
  double fraction = 0;                   // fraction of the rows that were examined
  Stopwatch watch = {};
};

/// Runs the search. May take long; can be stopped. `counts` are those of the batch and head.
/// `progress` gets the fraction of the rows that were examined.
PlaceFound find_place(const PlaceAsked& asked, const PlaneCounts& counts,
                      const std::function<void(double)>& progress);

/// Runs searches in the background.
class Searching {
 public:
  /// `ended` is called on another thread when a search has ended.
  explicit Searching(std::function<void()> ended) : work_(std::move(ended)) {}

  /// Starts this search, or continues it, and stops any other; null stops all. Stores what was
  /// found in it. See Errand.
  void follow(PlaceSearch* search, Time end);
  bool busy() const { return work_.busy(); }

 private:
  std::atomic<double> fraction_ = 0;
  Errand<PlaceAsked, PlaceFound> work_;
};

}  // namespace maskctl::app::tui
