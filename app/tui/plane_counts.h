// What is known about one batch and head: some of it at once, the rest after it has been counted.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "app/tui/errand.h"
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
enum class Sources : std::uint8_t;
struct State;

/// Counts what is shown beside the interface, one batch and head at a time, and then all others.
class Counting {
 public:
  /// `ended` is called on another thread when something has been counted.
  explicit Counting(const std::function<void()>& ended) : work_(ended), table_(ended) {}

  /// Begins to count what the state shows, stops counting what it no longer shows, and gives what
  /// is counted to its scene; see Errand.
  void follow(const State& state, Time end);
  bool busy() const { return work_.busy() || table_.busy(); }

 private:
  using ScenePtr = std::shared_ptr<const Scene>;
  /// A batch and head, drawn in some way, or its tiles of so many cells.
  struct Asked {
    ScenePtr scene;
    Index batch = 0, head = 0;
    Sources sources = {};
    Index tile = 0;  // 0: not tiles
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  /// Lets the scene know what was found, on the thread of the scene.
  using Learn = std::function<void()>;
  static bool is_needed(const State& state);
  static std::function<Learn()> work_for(const State& state);

  Errand<Asked, Learn> work_;
  Errand<ScenePtr, bool> table_;
};

}  // namespace maskctl::app::tui
