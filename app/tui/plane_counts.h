// What is known about one batch and head: some of it at once, the rest after it has been counted.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "app/tui/background_task.h"
#include "app/tui/plane_finds.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

struct PlaneCounts {
  Panel panel;         // what is drawn
  Index id_width = 0;  // characters of the longest id of a query
  /// False while the rest is being counted. The panel has no leaks and no padding until then.
  bool counted = false;
  PlanePtr different = nullptr;                 // the cells in which two SOURCEs differ
  std::pair<PlanePtr, PlanePtr> only = {};      // what A has alone, and B; where both are drawn
  Index open = 0, other_open = 0, padding = 0;  // of both SOURCEs, where both are drawn
  PlaneFinds finds;
};

/// How many tiles are full, and how many are neither full nor empty.
struct TileCounts {
  Index full = 0, partial = 0;
};

/// What is known of a panel at once.
PlaneCounts first_counts(Panel panel);

/// What is known after counting, which may take long. `two` has both SOURCEs, if there are two.
PlaneCounts all_counts(PlaneCounts counts, const Panel& two, std::int32_t pad_id);

class Scene;
struct State;

/// Counts what is shown beside the interface, one batch and head at a time, and then all others.
class Counting {
 public:
  /// `done` is called on another thread when something has been counted.
  explicit Counting(std::function<void()> done);
  ~Counting();

  /// Begins to count what the state shows, stops counting what it no longer shows, and gives what
  /// is counted to its scene. What takes a moment is waited for.
  void follow(const State& state);
  /// follow(), but waits until all is counted.
  void finish(const State& state);
  bool busy() const { return work_ || table_; }

 private:
  class Work;
  class Filling;
  void follow_table(const std::shared_ptr<const Scene>& scene,
                    std::chrono::steady_clock::time_point end);

  std::function<void()> done_;
  std::unique_ptr<Work> work_;
  std::unique_ptr<Filling> table_;
};

}  // namespace maskctl::app::tui
