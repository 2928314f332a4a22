#include "app/tui/plane_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <tuple>

#include "app/tui/drawn.h"
#include "app/tui/state.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/tile_counts.h"

namespace maskctl::app::tui {
namespace {

/// Planes that hold more are counted slowly, as are planes that compute their rows.
constexpr Index kSmallBytes = Index{1} << 20;

/// The plane in a form that is quick to count in other rectangles again and again.
PlanePtr quickly_counted(const PlanePtr& plane) {
  return plane->computed() || plane->bytes() > kSmallBytes ? with_tile_counts(plane) : plane;
}

/// A plane of `count` open cells in a form to be kept. Most masks have no such cells: then it is an
/// empty plane.
PlanePtr kept(const PlanePtr& plane, Index count) {
  return count > 0 ? quickly_counted(plane) : empty_plane(plane->queries(), plane->keys());
}

Index id_width_of(std::span<const std::int32_t> ids) {
  if (ids.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(ids);
  return std::ssize(fmt::format("{}", std::abs(least) > most ? least : most));
}

}  // namespace

PlaneCounts first_counts(Panel panel) {
  PlaneCounts out;
  out.panel = std::move(panel);
  out.id_width = id_width_of(out.panel.q_segments);
  const bool labelled = !out.panel.q_segments.empty() && !out.panel.k_segments.empty();
  const PlanePtr none = empty_plane(out.panel.plane->queries(), out.panel.plane->keys());
  if (labelled) out.panel.documents = {none, none};
  return out;
}

PlaneCounts all_counts(PlaneCounts counts, const Panel& two, std::int32_t pad_id) {
  Panel& panel = counts.panel;
  panel.documents = {};
  if (two.other) counts.different = quickly_counted(difference_of(two));
  const DocumentPlanes found = document_planes(panel, pad_id);
  const PlanePtr leaks = found.leaks ? found.leaks : leaks_in(panel, pad_id);
  counts.finds = finds_in(*panel.plane, leaks, counts.different);
  if (found.leaks) {
    counts.padding = found.padding->count();
    panel.documents = {kept(leaks, counts.finds.leaks.count), kept(found.padding, counts.padding)};
  }
  panel.plane = quickly_counted(panel.plane);
  counts.open = panel.plane->count();
  if (panel.other) {
    panel.other = quickly_counted(panel.other);
    counts.other_open = panel.other->count();
    counts.only = {combine(Op::kSub, two.plane, two.other),
                   combine(Op::kSub, two.other, two.plane)};
    panel.different = counts.different;
  }
  counts.counted = true;
  return counts;
}

namespace {

TileCounts counted_tiles(const Plane& plane, Index cells) {
  std::atomic<Index> full = 0, partial = 0;
  parallel_for(ceil_div(plane.queries(), cells), [&](Index row) {
    std::vector<TileRun> runs;
    plane.tiles({row * cells, std::min((row + 1) * cells, plane.queries())}, cells, runs);
    for (const TileRun& run : runs) (run.fill == Fill::kFull ? full : partial) += run.count;
  });
  return {full, partial};
}

}  // namespace

/// The counting of one batch and head of a scene, or of its tiles.
class Counting::Work {
 public:
  Work(const State& state, const std::function<void()>& done)
      : scene_(state.scene), view_(state.view), found_(work_for(state), done) {}

  bool is_for(const State& state) const {
    return scene_ == state.scene && view_.batch == state.view.batch &&
           view_.head == state.view.head && view_.sources == state.view.sources &&
           view_.tiled == state.view.tiled && view_.tile == state.view.tile;
  }
  bool is_done_by(std::chrono::steady_clock::time_point end) { return found_.wait_until(end); }
  /// Gives the scene what was found; waits for it.
  void learn() { found_.take()(); }

  static bool is_needed(const State& state) {
    if (!state.counts().counted) return true;
    const PlanePtr& plane = state.counts().panel.plane;
    return state.view.tiled && !state.scene->tiles(plane, smallest_unit(state.view).q);
  }

 private:
  /// Counts, on any thread, and returns what lets the scene know it, on that of the scene.
  using Found = std::function<void()>;
  static std::function<Found()> work_for(const State& state) {
    const ScenePtr scene = state.scene;
    const auto [batch, head, sources] =
        std::tuple(state.view.batch, state.view.head, state.view.sources);
    if (!state.counts().counted) {
      return [=]() -> Found {
        return [=, counts = scene->count(batch, head, sources)] {
          scene->learn(batch, head, sources, counts);
        };
      };
    }
    const PlanePtr plane = state.counts().panel.plane;
    const Index cells = smallest_unit(state.view).q;
    return [=]() -> Found {
      return [=, counts = counted_tiles(*plane, cells)] { scene->learn(plane, cells, counts); };
    };
  }

  const ScenePtr scene_;
  const View view_;
  BackgroundTask<Found> found_;
};

/// The filling of the table of all batches and heads of a scene.
class Counting::Filling {
 public:
  Filling(ScenePtr scene, const std::function<void()>& done)
      : scene_(std::move(scene)),
        filled_(
            [this] {
              scene_->planes->fill(*scene_);
              return true;
            },
            done) {}

  static bool is_needed(const Scene& scene) { return scene.lists() && !scene.planes->complete(); }
  bool is_for(const ScenePtr& scene) const { return scene_ == scene; }
  bool is_done_by(std::chrono::steady_clock::time_point end) { return filled_.wait_until(end); }
  /// Throws what filling it threw.
  void finish() { filled_.take(); }

 private:
  const ScenePtr scene_;
  BackgroundTask<bool> filled_;
};

Counting::Counting(std::function<void()> done) : done_(std::move(done)) {}
Counting::~Counting() = default;

void Counting::follow(const State& state) {
  const auto end = in_a_moment();
  if (work_ && !work_->is_for(state)) work_.reset();
  while (Work::is_needed(state)) {
    const bool fresh = work_ == nullptr;
    if (fresh) work_ = std::make_unique<Work>(state, done_);
    if (!work_->is_done_by(fresh ? end : std::chrono::steady_clock::now())) return;
    work_->learn();
    work_.reset();
  }
  follow_table(state.scene, end);
}

/// What is drawn comes first.
void Counting::follow_table(const ScenePtr& scene, std::chrono::steady_clock::time_point end) {
  if (table_ && !table_->is_for(scene)) table_.reset();
  if (!table_ && !Filling::is_needed(*scene)) return;
  const bool fresh = table_ == nullptr;
  if (fresh) table_ = std::make_unique<Filling>(scene, done_);
  if (!table_->is_done_by(fresh ? end : std::chrono::steady_clock::now())) return;
  table_->finish();
  table_.reset();
}

void Counting::finish(const State& state) {
  for (follow(state); work_; follow(state)) {
    work_->learn();
    work_.reset();
  }
  if (!table_) return;
  table_->finish();
  table_.reset();
}

}  // namespace maskctl::app::tui
