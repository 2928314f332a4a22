#include "app/tui/scene.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "app/tui/steps.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/tallied.h"
#include "maskctl/pipeline/load.h"
#include "maskctl/pipeline/steps/generate.h"

namespace maskctl::app::tui {
namespace {

/// Planes that hold more, and have no index of their rows, are read slowly.
constexpr Index kDenseBytes = Index{1} << 20;

Index empty_rows(const Plane& plane) {
  Index empty = 0;
  plane.row_sizes({0, plane.queries()}, [&](Range rows, const Plane::RowSize& size) {
    if (size.keys == 0) empty += rows.size();
  });
  return empty;
}

Index id_width(std::span<const std::int32_t> ids) {
  if (ids.empty()) return 0;
  const auto [least, most] = std::ranges::minmax(ids);
  return std::ssize(fmt::format("{}", std::abs(least) > most ? least : most));
}

bool fits(const std::optional<Tensor>& ids, const Mask& mask, Index extent) {
  return ids && ids->extent(1) == extent && (ids->extent(0) == 1 || ids->extent(0) >= mask.batch());
}

void check_cells(const Mask& mask) {
  if (mask.cells() > 0) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("a mask of {} has no cells to look at", shape_text(mask)));
}

void check_comparable(const Mask& a, const Mask& b) {
  const auto serves = [](Index count, Index wanted) { return count == 1 || count == wanted; };
  if (a.queries() == b.queries() && a.keys() == b.keys() && serves(b.batch(), a.batch()) &&
      serves(b.heads(), a.heads())) {
    return;
  }
  throw Error(Errc::kShape, fmt::format("masks of {} and {} cannot be laid over each other",
                                        shape_text(a), shape_text(b)));
}

PlanePtr shown_plane(const Panel& two, Sources sources) {
  switch (sources) {
    case Sources::kB:
      return two.other;
    case Sources::kOnlyA:
      return combine(Op::kSub, two.plane, two.other);
    case Sources::kOnlyB:
      return combine(Op::kSub, two.other, two.plane);
    default:
      return two.plane;
  }
}

/// The steps as they were bound, those that are off as they were written.
std::string spelled(const std::string& pipeline, const Chain& chain) {
  auto steps = split_steps(pipeline);
  const auto on = std::ranges::count_if(steps, &EditStep::on);
  if (on != std::ssize(chain)) return chain.empty() ? "" : to_text(chain);
  auto bound = chain.begin();
  for (EditStep& step : steps) {
    if (step.on) step.text = to_text(Chain{*bound++});
  }
  return join_steps(steps);
}

constexpr std::size_t kMostRecent = 4;

}  // namespace

const TileMap& Scene::tiles(Index batch, Index head, Sources sources, int tile) const {
  const auto [at, added] = tiles_.try_emplace({batch, head, sources, tile});
  if (added) {
    const Index cells = Index{1} << tile;
    at->second = tile_map(*facts(batch, head, sources).panel.plane, cells, cells);
  }
  return at->second;
}

const PlaneFacts& Scene::facts(Index batch, Index head, Sources sources) const {
  const auto [at, added] = facts_.try_emplace({batch, head, sources});
  PlaneFacts& out = at->second;
  if (!added) return out;
  const Mask* second = other ? &*other : nullptr;
  // A dense plane is counted in other rectangles with each move.
  const auto kept = [](const PlanePtr& plane) {
    const bool dense = !plane->has_row_index() && plane->bytes() > kDenseBytes;
    return dense ? tallied(plane) : plane;
  };
  out.panel = panels_of(mask, {batch, batch + 1}, {head, head + 1}, ids, second).front();
  if (second) {
    out.different = combine(Op::kXor, out.panel.plane, out.panel.other);
    out.differences = out.different->count();
    out.panel.plane = shown_plane(out.panel, sources);
    if (sources != Sources::kBoth && sources != Sources::kBeside) out.panel.other = nullptr;
  }
  out.panel.plane = kept(out.panel.plane);
  out.panel.leaks = leaks_of(out.panel, pad_id);
  if (out.panel.leaks) {
    out.leaks = out.panel.leaks->count();
    // Most masks have none, and that is known from now on.
    out.panel.leaks =
        out.leaks > 0 ? kept(out.panel.leaks) : empty_plane(mask.queries(), mask.keys());
  }
  out.id_width = id_width(out.panel.q_segments);
  out.open = out.panel.plane->count();
  out.empty_rows = empty_rows(*out.panel.plane);
  return out;
}

Why Scene::why(const Cell& cell) const {
  return maskctl::why(start, chain, cell, [](const Step& step) { return to_text(Chain{step}); });
}

Workbench::Workbench(Subject subject, const Settings& settings)
    : subject_(std::move(subject)),
      session_(settings, {.note = [this](std::string_view text) { note_ = text; }, .progress = {}}),
      loader_(subject_.source, session_) {
  read_start();
  read_ids();
  const Chain chain = loader_.chain();
  const std::string pipeline = chain.empty() ? "" : to_text(chain);
  if (!subject_.other.empty()) {
    Loader other(subject_.other_source, session_);
    other_ = other.transformed(other.read(subject_.other).mask);
  }
  weights_ = std::make_shared<RowWeights>(subject_.weights, loader_);
  first_ = scene(pipeline);
  if (subject_.segments.empty() || first_->has_ids()) return;
  throw Error(Errc::kShape, fmt::format("--segments {}: the ids do not fit a mask of {}",
                                        subject_.segments, shape_text(first_->mask)));
}

void Workbench::read_start() {
  if (is_generator(subject_.name)) {
    if (auto parts = generate_parts(subject_.name, loader_.context())) {
      start_ = std::move(parts->start);
      generated_ = std::move(parts->chain);
      return;
    }
  }
  loaded_ = loader_.read(subject_.name);
  start_ = loaded_.mask;
}

void Workbench::read_ids() {
  if (subject_.segments.empty()) return;
  LoadedMask named = loader_.read_segments(subject_.segments);
  loaded_.q_segment_ids = std::move(named.q_segment_ids);
  loaded_.kv_segment_ids = std::move(named.kv_segment_ids);
}

ScenePtr Workbench::scene(const std::string& pipeline) {
  const auto found =
      std::ranges::find(recent_, pipeline, [](const auto& kept) { return kept.first; });
  if (found != recent_.end()) {
    recent_.splice(recent_.begin(), recent_, found);
  } else {
    recent_.emplace_front(pipeline, made(pipeline));
    if (recent_.size() > kMostRecent) recent_.pop_back();
  }
  return recent_.front().second;
}

ScenePtr Workbench::made(const std::string& pipeline) {
  auto out = std::make_shared<Scene>();
  out->name = subject_.name;
  out->other_name = subject_.other;
  out->pad_id = subject_.source.pad_id;
  out->weights = weights_;
  out->start = start_;
  out->chain = generated_;
  const Chain steps = load_chain(std::array{without_off_steps(pipeline)}, loader_.context());
  out->pipeline = spelled(pipeline, steps);
  out->chain.insert(out->chain.end(), steps.begin(), steps.end());
  out->mask = maskctl::apply(start_, out->chain);
  check_cells(out->mask);
  if (other_) check_comparable(out->mask, *other_);
  out->other = other_;
  // Ids label the mask only while no step has changed its extents.
  if (out->mask.batch() == start_.batch() &&
      fits(loaded_.q_segment_ids, out->mask, out->mask.queries()) &&
      fits(loaded_.kv_segment_ids, out->mask, out->mask.keys())) {
    out->ids = {loaded_.q_segment_ids, loaded_.kv_segment_ids};
  }
  return out;
}

}  // namespace maskctl::app::tui
