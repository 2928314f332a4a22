// The next single place of what is searched for, which is found beside the screens.
#pragma once

#include <functional>
#include <memory>
#include <optional>

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
  Stopwatch watch = {};
};

/// May take long, and heeds stop requests. `counts` are those of the batch and head.
PlaceFound find_place(const PlaceAsked& asked, const PlaneCounts& counts);

struct State;

/// Finds places beside the interface, on a thread of its own. A newer search stops an older one.
class Searching {
 public:
  /// `done` is called on that thread when a search has ended.
  explicit Searching(std::function<void()> done);
  ~Searching();

  /// Begins the search that the state waits for, stops one that it no longer waits for, and stores
  /// what was found in the state. Waits for searches that take only a moment.
  void follow(State& state);
  /// follow(), but waits until the search has ended.
  void finish(State& state);
  bool busy() const { return work_ != nullptr; }

 private:
  struct Work;
  void follow_until(State& state, std::chrono::steady_clock::time_point end);

  std::function<void()> done_;
  std::unique_ptr<Work> work_;
};

}  // namespace maskctl::app::tui
