#include "app/tui/facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "app/tui/state.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/tallied.h"

namespace maskctl::app::tui {
namespace {

/// Planes that hold more are counted slowly, as are planes that compute their rows.
constexpr Index kSmallBytes = Index{1} << 20;

/// A plane that is counted in other rectangles with each move.
PlanePtr quickly_counted(const PlanePtr& plane) {
  return plane->computed() || plane->bytes() > kSmallBytes ? tallied(plane) : plane;
}

Index empty_rows_of(const Plane& plane) {
  Index empty = 0;
  plane.row_sizes({0, plane.queries()}, [&](Range rows, const Plane::RowSize& size) {
    if (size.keys == 0) empty += rows.size();
  });
  return empty;
}

Index id_width_of(std::span<const std::int32_t> ids) {
  if (ids.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(ids);
  return std::ssize(fmt::format("{}", std::abs(least) > most ? least : most));
}

}  // namespace

PlaneFacts first_facts(Panel panel) {
  PlaneFacts out;
  out.panel = std::move(panel);
  out.id_width = id_width_of(out.panel.q_segments);
  const bool labelled = !out.panel.q_segments.empty() && !out.panel.k_segments.empty();
  if (labelled) out.panel.leaks = empty_plane(out.panel.plane->queries(), out.panel.plane->keys());
  return out;
}

PlaneFacts counted_facts(PlaneFacts facts, const Panel& two, std::int32_t pad_id) {
  Panel& panel = facts.panel;
  facts.empty_rows = empty_rows_of(*panel.plane);
  panel.leaks = nullptr;
  if (PlanePtr leaks = leaks_of(panel, pad_id)) {
    facts.leaks = leaks->count();
    // Most masks have none, and that is known from now on.
    panel.leaks =
        facts.leaks > 0 ? quickly_counted(leaks) : empty_plane(leaks->queries(), leaks->keys());
  }
  if (two.other) {
    facts.different = quickly_counted(difference_of(two));
    facts.differences = facts.different->count();
  }
  panel.plane = quickly_counted(panel.plane);
  facts.open = panel.plane->count();
  if (panel.other) {
    panel.other = quickly_counted(panel.other);
    panel.different = facts.different;
  }
  facts.counted = true;
  return facts;
}

/// The counting of one batch and head of a scene.
class Counting::Work {
 public:
  Work(const State& state, const std::function<void()>& done)
      : scene_(state.scene),
        view_(state.view),
        counted_([this] { return scene_->count(view_.batch, view_.head, view_.sources); }, done) {}

  bool is_for(const State& state) const {
    return scene_ == state.scene && view_.batch == state.view.batch &&
           view_.head == state.view.head && view_.sources == state.view.sources;
  }
  /// False when it is not done by then.
  bool learn_until(std::chrono::steady_clock::time_point end) {
    if (!counted_.wait_until(end)) return false;
    learn();
    return true;
  }
  void learn() { scene_->learn(view_.batch, view_.head, view_.sources, counted_.take()); }

 private:
  const ScenePtr scene_;
  const View view_;
  Beside<PlaneFacts> counted_;
};

Counting::Counting(std::function<void()> done) : done_(std::move(done)) {}
Counting::~Counting() = default;

void Counting::follow(const State& state) {
  if (work_ && !work_->is_for(state)) work_.reset();
  if (state.facts().counted) return;
  const bool fresh = work_ == nullptr;
  if (fresh) work_ = std::make_unique<Work>(state, done_);
  const auto now = std::chrono::steady_clock::now();
  if (work_->learn_until(fresh ? in_a_moment() : now)) work_.reset();
}

void Counting::finish(const State& state) {
  follow(state);
  if (!work_) return;
  work_->learn();
  work_.reset();
}

}  // namespace maskctl::app::tui
