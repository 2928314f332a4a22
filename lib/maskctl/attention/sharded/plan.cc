#include "maskctl/attention/sharded/plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/calls/axes.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {
namespace {

/// The label of an axis: its name, or for "Hq/Hkv" the one of the two that has this extent; empty
/// for an axis that is never split.
template <class Extents>
std::string resolved(const Axis& axis, Index extent, const Extents& extents) {
  if (extent == 1 && !axis.cumulative) return "";
  if (!axis.is_either()) return axis.name;
  const auto heads = extents.find("Hq");
  return heads != extents.end() && heads->second == extent ? "Hq" : "Hkv";
}

Range scaled(Range range, const Axis& axis) {
  return {range.begin * axis.factor, range.end * axis.factor + (axis.cumulative ? 1 : 0)};
}

std::set<std::string, std::less<>> label_set(std::string_view labels) {
  std::set<std::string, std::less<>> set;
  for (const Axis& axis : first_axes(labels)) set.insert(axis.name);
  return set;
}

/// Whether two different labels may be split over the same mesh axis: Hq and Hkv, or Tq and Tk.
bool related(std::string_view a, std::string_view b) {
  const auto pair = [&](std::string_view x, std::string_view y) {
    return (a == x && b == y) || (a == y && b == x);
  };
  return pair("Hq", "Hkv") || pair("Tq", "Tk");
}

}  // namespace

std::vector<Range> RingPlace::share(std::string_view label) const {
  const auto found = shares.find(label);
  return found == shares.end() ? std::vector<Range>() : found->second;
}

Index Shard::extent(std::string_view label) const {
  const auto found = extents.find(label);
  return found == extents.end() ? 1 : found->second;
}

Range Shard::range(std::string_view label) const {
  const auto found = ranges.find(label);
  return found != ranges.end() ? found->second : Range{0, extent(label)};
}

std::vector<Range> Shard::part(std::span<const Index> shape, std::string_view labels) const {
  std::vector<Range> parts;
  const std::vector<Axis> axes = checked_axes(labels, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const auto found = ranges.find(resolved(axes[i], shape[i], extents));
    parts.push_back(found == ranges.end() ? Range{0, shape[i]} : scaled(found->second, axes[i]));
  }
  return parts;
}

std::vector<Index> Shard::whole(std::span<const Index> part_shape, std::string_view labels) const {
  std::vector<Index> shape(part_shape.begin(), part_shape.end());
  const std::vector<Axis> axes = checked_axes(labels, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (splits(axes[i].name)) shape[i] = extents.find(axes[i].name)->second * axes[i].factor;
  }
  return shape;
}

ShardPlan::ShardPlan(std::string_view operation, const Mesh& mesh, std::string_view splittable,
                     std::string_view collective)
    : operation_(operation),
      mesh_(mesh),
      splittable_(label_set(splittable)),
      collective_(label_set(collective)) {
  mesh_.devices();
  splittable_.insert(collective_.begin(), collective_.end());
}

void ShardPlan::fail(const std::string& message) const {
  throw Error(Errc::kInvalidArgument, fmt::format("sharded {}: {}", operation_, message));
}

ShardPlan::Names ShardPlan::checked_names(std::string_view array, const AxisName& entry) const {
  const Names names = names_of(entry);
  for (const std::string& name : names) {
    if (std::ranges::find(mesh_.axis_names, name) == mesh_.axis_names.end()) {
      fail(fmt::format("{} is split over '{}', which is no axis of the mesh ({})", array, name,
                       joined(mesh_.axis_names, ", ")));
    }
  }
  return names;
}

void ShardPlan::split(std::string_view array, const std::string& label, const Names& names) {
  if (!splittable_.contains(label)) {
    fail(fmt::format("{} splits axis {} over '{}'; a shard on its own can split ({}) only", array,
                     label, joined(names, ", "),
                     joined(std::vector(splittable_.begin(), splittable_.end()), ", ")));
  }
  for (const auto& [other, used] : split_) {
    const bool clash = std::ranges::any_of(
        names, [&](const std::string& n) { return std::ranges::find(used, n) != used.end(); });
    if (other != label && clash && !related(other, label)) {
      fail(fmt::format("{} splits axis {} over '{}', which splits axis {} of {}", array, label,
                       joined(names, ", "), other, whose_.at(other)));
    }
  }
  split_[label] = names;
  if (extents_.at(label) % parts(label) != 0) {
    fail(fmt::format("{} has extent {} along axis {}, which {} devices do not divide", array,
                     extents_.at(label), label, parts(label)));
  }
}

void ShardPlan::check_extent(std::string_view array, const std::string& label, Index extent) {
  const Index known = extents_.emplace(label, extent).first->second;
  if (known == extent || !splittable_.contains(label)) return;
  throw Error(Errc::kShape, fmt::format("sharded {}: {} has extent {} along axis {}, expected {}",
                                        operation_, array, extent, label, known));
}

void ShardPlan::add_input(std::string_view name, std::span<const Index> shape,
                          std::string_view labels, const PartitionSpec* spec) {
  const std::vector<Axis> axes = checked_axes(labels, shape.size(), name);
  if (spec && spec->axes.size() > shape.size()) {
    fail(fmt::format("{} of {} has more entries than its shape {}", to_text(*spec), name,
                     shape_text(shape)));
  }
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string label = resolved(axes[i], shape[i], extents_);
    const Index extent = (shape[i] - (axes[i].cumulative ? 1 : 0)) / axes[i].factor;
    if (!label.empty()) check_extent(name, label, extent);
    if (!spec) continue;
    const Names names = checked_names(name, i < spec->axes.size() ? spec->axes[i] : AxisName());
    if (label.empty() && !names.empty()) {
      fail(fmt::format("{} has one element along axis {}, which cannot be split", name,
                       axes[i].name));
    }
    if (!label.empty()) agree(name, label, names);
  }
}

void ShardPlan::agree(std::string_view array, const std::string& label, const Names& names) {
  // An array may be whole on every device along a collective axis (one that the operation itself
  // splits over a ring), even if other arrays split that axis.
  if (collective_.contains(label) && names.empty()) return;
  const Names known = axes_of(label);
  if (whose_.contains(label) && known != names) {
    fail(fmt::format("{} splits axis {} over ({}), but {} over ({})", array, label,
                     joined(names, ", "), whose_.at(label), joined(known, ", ")));
  }
  whose_.emplace(label, std::string(array));
  if (!names.empty() && known.empty()) split(array, label, names);
}

void ShardPlan::add_output(std::string_view name, std::string_view labels,
                           const PartitionSpec& spec) {
  const std::vector<Axis> axes = first_axes(labels);
  const std::size_t rank = axes.size();
  std::set<std::string> seen;
  for (std::size_t i = 0; i < std::max(rank, spec.axes.size()); ++i) {
    const Names names = i < spec.axes.size() ? checked_names(name, spec.axes[i]) : Names();
    if (i >= rank) {
      if (!names.empty()) fail(fmt::format("{} of {} has too many entries", to_text(spec), name));
      continue;
    }
    const Names known = axes_of(axes[i].name);
    if (names != known) {
      fail(fmt::format("{} has axis {} over ({}), but the inputs split it over ({})", name,
                       axes[i].name, joined(names, ", "), joined(known, ", ")));
    }
    seen.insert(axes[i].name);
  }
  for (const auto& [label, names] : split_) {
    const bool follows = std::ranges::any_of(
        seen, [&, own = std::string_view(label)](const auto& one) { return related(own, one); });
    if (!seen.contains(label) && !follows && !collective_.contains(label)) {
      fail(fmt::format("{} has no axis {}, which the inputs split over ({})", name, label,
                       joined(names, ", ")));
    }
  }
}

std::size_t ShardPlan::mesh_axis(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(mesh_.axis_names, name) -
                                  mesh_.axis_names.begin());
}

std::vector<std::string> ShardPlan::axes_of(std::string_view label) const {
  const auto found = split_.find(label);
  return found == split_.end() ? Names() : found->second;
}

void ShardPlan::check_split(std::string_view label, std::string_view option,
                            const std::string& axis) const {
  if (axes_of(label) == Names{axis}) return;
  fail(fmt::format("axis {} is split over ({}), expected {} '{}'", label,
                   joined(axes_of(label), ", "), option, axis));
}

Index ShardPlan::parts(std::string_view label) const {
  Index parts = 1;
  for (const std::string& name : axes_of(label)) parts *= mesh_.axis_sizes[mesh_axis(name)];
  return parts;
}

Range ShardPlan::range_of(const std::string& label, const std::vector<Index>& coordinates) const {
  Index number = 0;
  for (const std::string& name : split_.at(label)) {
    const std::size_t axis = mesh_axis(name);
    number = number * mesh_.axis_sizes[axis] + coordinates[axis];
  }
  const Index size = extents_.at(label) / parts(label);
  return {number * size, (number + 1) * size};
}

void ShardPlan::check_heads() const {
  if (axes_of("Hkv") != Names() && axes_of("Hkv") != axes_of("Hq")) {
    fail("key heads (Hkv) are split, and query heads (Hq) not over the same axes");
  }
  const auto extent_of = [&](std::string_view label) {
    const auto found = extents_.find(label);
    return found == extents_.end() ? Index{1} : found->second;  // axes of extent 1 have no label
  };
  const Index heads = extent_of("Hq"), key_heads = extent_of("Hkv");
  if (heads == 0 || key_heads == 0 || heads % key_heads != 0) {
    fail(fmt::format("{} query heads do not divide by {} key heads", heads, key_heads));
  }
  const Index mine = heads / parts("Hq"), group = heads / key_heads;
  if (mine % group != 0 && group % mine != 0) {
    fail(fmt::format("{} query heads a device do not fit {} query heads of a key head", mine,
                     group));
  }
}

std::vector<Index> ShardPlan::coordinates_of(Index device) const {
  std::vector<Index> coordinates(mesh_.axis_sizes.size());
  for (std::size_t axis = coordinates.size(); axis-- > 0;) {
    coordinates[axis] = device % mesh_.axis_sizes[axis];
    device /= mesh_.axis_sizes[axis];
  }
  return coordinates;
}

bool ShardPlan::is_split(const std::string& mesh_axis, bool collective) const {
  return std::ranges::any_of(split_, [&](const auto& entry) {
    return collective_.contains(entry.first) == collective &&
           std::ranges::find(entry.second, mesh_axis) != entry.second.end();
  });
}

bool ShardPlan::repeats(const std::vector<Index>& coordinates) const {
  for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
    if (coordinates[axis] > 0 && !is_split(mesh_.axis_names[axis], false)) return true;
  }
  return false;
}

std::vector<Index> ShardPlan::ring_of(Index device) const {
  const std::vector<Index> own = coordinates_of(device);
  std::vector<Index> ring;
  for (Index other = 0; other < devices(); ++other) {
    const std::vector<Index> coordinates = coordinates_of(other);
    bool same = true;
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis) {
      same = same && (coordinates[axis] == own[axis] || is_split(mesh_.axis_names[axis], true));
    }
    if (same) ring.push_back(other);
  }
  return ring;
}

Shard ShardPlan::shard_of(Index device) const {
  const bool grouped = split_.contains("Hq") && extents_.contains("Hkv");
  if (grouped || split_.contains("Hkv")) check_heads();
  const std::vector<Index> coordinates = coordinates_of(device);
  Shard shard{{}, extents_};
  for (const auto& [label, names] : split_) {
    if (!collective_.contains(label)) shard.ranges[label] = range_of(label, coordinates);
  }
  if (grouped) {
    const Range heads = shard.ranges.at("Hq");
    const Index group = extents_.at("Hq") / extents_.at("Hkv");
    shard.ranges["Hkv"] = {heads.begin / group, ceil_div(heads.end, group)};
  }
  return shard;
}

Mesh ShardPlan::working_mesh() const {
  Mesh mesh = mesh_;
  for (std::size_t axis = 0; axis < mesh.axis_sizes.size(); ++axis) {
    const std::string& name = mesh.axis_names[axis];
    if (!is_split(name, false) && !is_split(name, true)) mesh.axis_sizes[axis] = 1;
  }
  return mesh;
}

}  // namespace maskctl::attention
