// What is known about one batch and head: some facts immediately, others after counting.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "app/tui/beside/errand.h"
#include "app/tui/beside/plane_finds.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

struct PlaneCounts {
  Panel panel;         // what to draw
  Index id_width = 0;  // number of characters of the longest segment id of a query
  /// False while counting. Until it is true, the panel has no leaks and no padding.
  bool counted = false;
  PlanePtr different = nullptr;                 // cells in which the two SOURCEs differ
  std::pair<PlanePtr, PlanePtr> only = {};      // cells that are open only in A, and only in B
  Index open = 0, other_open = 0, padding = 0;  // numbers of open cells in A, in B, and of padding
  PlaneFinds finds;
};

/// The number of full tiles, and of tiles that are partly open.
struct TileCounts {
  Index full = 0, partial = 0;
};

/// Returns the facts about a panel that are known without counting cells.
PlaneCounts first_counts(Panel panel);

/// Adds the counts, which may take long. `two` is the panel with both SOURCEs, if there are two.
PlaneCounts all_counts(PlaneCounts counts, const Panel& two, std::int32_t pad_id);

class Scene;
enum class Sources : std::uint8_t;
struct State;

/// Counts in the background: first what is shown, then all other batches and heads.
class Counting {
 public:
  /// `ended` is called on another thread when something has been counted.
  explicit Counting(const std::function<void()>& ended) : work_(ended), table_(ended) {}

  /// Starts to count what the state shows, stops counting what it no longer shows, and stores
  /// results in its scene; see Errand.
  void follow(const State& state, Time end);
  bool busy() const { return work_.busy() || table_.busy(); }

 private:
  using ScenePtr = std::shared_ptr<const Scene>;
  /// What to count: a batch and head of some SOURCEs, or its tiles of `tile` x `tile` cells.
  struct Asked {
    ScenePtr scene;
    Index batch = 0, head = 0;
    Sources sources = {};
    Index tile = 0;  // 0: count cells instead of tiles
    friend bool operator==(const Asked&, const Asked&) = default;
  };
  /// Stores a result in the scene. Must be called on the thread that uses the scene.
  using Learn = std::function<void()>;
  static bool is_needed(const State& state);
  static std::function<Learn()> work_for(const State& state);

  Errand<Asked, Learn> work_;
  Errand<ScenePtr, bool> table_;
};

}  // namespace maskctl::app::tui
