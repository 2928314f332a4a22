// Counts in the background: first what is shown, then all other batches and heads.
#pragma once

#include <functional>

#include "app/tui/beside/errand.h"
#include "app/tui/beside/scene.h"

namespace maskctl::app::tui {

/// What is shown: a batch and head of some SOURCEs, in tiles of `tile` x `tile` cells.
struct PlaneShown {
  ScenePtr scene;
  Index batch = 0, head = 0;
  Sources sources = Sources::kBoth;
  Index tile = 0;  // 0: cells instead of tiles
  friend bool operator==(const PlaneShown&, const PlaneShown&) = default;
};

class Counting {
 public:
  /// `ended` is called on another thread when something has been counted.
  explicit Counting(const std::function<void()>& ended) : work_(ended), table_(ended) {}

  /// Starts to count what is shown, stops counting what is no longer shown, and stores results in
  /// the scene; see Errand.
  void follow(const PlaneShown& shown, Time end);
  bool busy() const { return work_.busy() || table_.busy(); }

 private:
  /// Stores a result in the scene. Must be called on the thread that uses the scene.
  using Learn = std::function<void()>;
  static std::function<Learn()> work_for(const PlaneShown& shown);

  Errand<PlaneShown, Learn> work_;
  Errand<ScenePtr, bool> table_;
};

}  // namespace maskctl::app::tui
