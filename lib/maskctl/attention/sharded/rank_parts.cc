#include "maskctl/attention/sharded/rank_parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// A communicator of some of the ranks of another communicator.
class SubRing final : public Communicator {
 public:
  SubRing(Communicator& world, std::vector<Index> members)
      : world_(world), members_(std::move(members)) {}
  Index rank() const override {
    return std::ranges::find(members_, world_.rank()) - members_.begin();
  }
  Index size() const override { return std::ssize(members_); }
  bool shares_memory() const override { return world_.shares_memory(); }
  void send(Index to, std::span<const std::byte> bytes) override {
    world_.send(members_[as_size(to)], bytes);
  }
  void receive(Index from, std::span<std::byte> bytes) override {
    world_.receive(members_[as_size(from)], bytes);
  }
  void finish() override { world_.finish(); }

 private:
  Communicator& world_;
  std::vector<Index> members_;
};

Index checked_rank(const Mesh& mesh, const Communicator& world) {
  if (mesh.devices() == world.size()) return world.rank();
  refuse(fmt::format("a mesh of {} devices for {} {}: start one rank for each device",
                     mesh.devices(), world.size(), world.size() == 1 ? "rank" : "ranks"));
}

/// These two functions start a transfer, unless the array is empty (a transfer needs at least one
/// byte).
void send_array(Communicator& world, Index to, const Tensor& array) {
  if (!array.bytes().empty()) world.send(to, array.bytes());
}
void receive_array(Communicator& world, Index from, Tensor& array) {
  if (!array.bytes().empty()) world.receive(from, array.bytes());
}

}  // namespace

RankParts::RankParts(const Operation& operation, const void* call, const Sharding& sharding,
                     ShapeOf shape_of, Communicator& world)
    : operation_(operation),
      call_(call),
      shape_of_(std::move(shape_of)),
      world_(world),
      plan_(plan_of(operation, call, sharding, shape_of_)),
      rank_(checked_rank(sharding.mesh, world)),
      shard_(plan_.shard_of(rank_)),
      ring_(std::make_unique<SubRing>(world, plan_.ring_of(rank_))) {
  if (ring_->size() == 1) return;
  ring_place_.ring = ring_.get();
  shard_.ring = &ring_place_;
  // Arrays of floats stay whole: only arrays of integers must be cut to find this rank's shares.
  CutCall::Parts whole;
  for_each_array(operation, call, [&](const Field& field, const Tensor& array) {
    if (!field.is(kIntegers)) whole[&array] = &array;
  });
  const CutCall fills_in_ring_place(operation, call, shard_, plan_, whole);
}

const Field& RankParts::input(std::string_view name) const {
  return *std::ranges::find(operation_.fields, name, &Field::name);
}

/// Whether this rank has only its share of this input.
bool RankParts::in_ring(const Field& field) const {
  return std::ranges::find(ring_place_.arrays, field.name) != ring_place_.arrays.end();
}

ArrayPlace RankParts::place(std::string_view axes, std::span<const Index> shape,
                            bool in_ring) const {
  ArrayPlace place = place_of(shard_.part(shape, axes));
  const std::vector<Axis> names_of_axes = checked_axes(axes, shape.size());
  for (std::size_t i = 0; in_ring && i < place.size(); ++i) {
    const auto share = ring_place_.shares.find(names_of_axes[i].name);
    if (share != ring_place_.shares.end()) place[i] = share->second;
  }
  return place;
}

ArrayPlace RankParts::place(const Field& input, std::span<const Index> shape) const {
  return place(axes_of(input, call_), shape, in_ring(input));
}

ArrayPlace RankParts::place(const ResultField& output, std::span<const Index> shape) const {
  return place(output.axes, shape, true);
}

std::vector<Index> RankParts::whole_shape(const ResultArray& output) const {
  std::vector<Index> shape = shard_.whole(output.tensor->shape(), output.axes);
  const std::vector<Axis> names_of_axes = checked_axes(output.axes, shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::string& name = names_of_axes[i].name;
    if (ring_place_.shares.contains(name)) shape[i] = shard_.extent(name);
  }
  return shape;
}

CutCall RankParts::cut(const CutCall::Parts& given) const {
  CutCall::Parts parts = given;
  OwnedArrays shares;
  for_each_array(operation_, call_, [&](const Field& field, const Tensor& array) {
    if (!in_ring(field) || parts.contains(&array)) return;
    shares.tensors.push_back(take(array, place(field, array.shape())));
    parts[&array] = &shares.tensors.back();
  });
  CutCall call(operation_, call_, shard_, plan_, parts);
  call.owned.tensors.splice(call.owned.tensors.end(), shares.tensors);
  return call;
}

PlacedArray RankParts::placed(std::string_view axes, std::vector<Index> shape, Tensor part,
                              bool in_ring) const {
  PlacedArray out{std::move(part), std::move(shape), {}, true};
  out.place = place(axes, out.shape, in_ring);
  for (Index other = 0; other < rank_; ++other) {
    if (shares_part(other, axes, out.shape, in_ring)) out.is_first = false;
  }
  return out;
}

PlacedResults RankParts::outputs(void* output) const {
  PlacedResults results;
  for (const ResultArray& array : arrays_of(operation_.outputs, output)) {
    std::vector<Index> shape = whole_shape(array);
    results[std::string(array.name)] =
        placed(array.axes, std::move(shape), std::move(*array.tensor), true);
  }
  return results;
}

PlacedResults RankParts::updated(CutCall& call) const {
  PlacedResults results;
  for (const CutCall::Update& update : call.updated) {
    for_each_array(operation_, call_, [&](const Field& field, const Tensor& array) {
      if (&array != update.whole) return;
      results[std::string(field.name)] =
          placed(update.axes, shape_of_(array), std::move(*update.part), false);
    });
  }
  return results;
}

PlacedResults RankParts::gradients(void* gradients) {
  PlacedResults results;
  for (const ResultArray& array : arrays_of(operation_.gradients, gradients)) {
    const Field& field = input(array.name);
    const std::string_view axes = axes_of(field, call_);
    const std::vector<Index> shape = shape_of_(*array_of(field, call_));
    sum(axes, shape, in_ring(field), *array.tensor);
    results[std::string(array.name)] =
        placed(axes, shape, std::move(*array.tensor), in_ring(field));
  }
  return results;
}

/// Whether the device is the first to compute its shard, so that its gradient counts.
bool RankParts::contributes(Index device) const {
  return !plan_.repeats(plan_.ring_of(device).front());
}

/// Whether this device has the same part of an array as this rank.
bool RankParts::shares_part(Index device, std::string_view axes, std::span<const Index> shape,
                            bool in_ring) const {
  const bool same = plan_.shard_of(device).part(shape, axes) == shard_.part(shape, axes);
  if (!same || !in_ring) return same;
  const auto number = [this](Index d) {
    const std::vector<Index> members = plan_.ring_of(d);
    return std::ranges::find(members, d) - members.begin();
  };
  return number(device) == number(rank_);
}

/// Returns the sum of a gradient over the ranks `givers`, computed on the first of them: first over
/// each ring, rounded to `dtype`, then over the rings.
Tensor RankParts::sum_of(const std::vector<Index>& givers, const Tensor& own, DType dtype) {
  std::vector<Tensor> parts(givers.size(), own);
  for (std::size_t i = 1; i < givers.size(); ++i) receive_array(world_, givers[i], parts[i]);
  world_.finish();
  Tensor total(DType::kFloat32, own.shape());
  for (std::size_t i = 0; i < givers.size();) {
    const Index head = plan_.ring_of(givers[i]).front();
    Tensor of_ring(DType::kFloat32, own.shape());
    for (; i < givers.size() && plan_.ring_of(givers[i]).front() == head; ++i) {
      add(parts[i], of_ring);
    }
    add(astype(of_ring, dtype), total);
  }
  return astype(total, dtype);
}

/// Replaces a gradient by its sum over the ranks that have the same part of the input.
void RankParts::sum(std::string_view axes, std::span<const Index> shape, bool in_ring,
                    Tensor& gradient) {
  std::vector<Index> group, givers;
  for (Index device = 0; device < plan_.devices(); ++device) {
    if (shares_part(device, axes, shape, in_ring)) group.push_back(device);
  }
  std::ranges::copy_if(group, std::back_inserter(givers),
                       [this](Index device) { return contributes(device); });
  std::ranges::stable_sort(givers, {}, [this](Index d) { return plan_.ring_of(d).front(); });
  if (givers.size() < 2) return;
  if (rank_ == givers.front()) {
    gradient = sum_of(givers, gradient, gradient.dtype());
    for (const Index device : group) {
      if (device != rank_) send_array(world_, device, gradient);
    }
  } else {
    const Tensor mine = gradient;
    if (contributes(rank_)) send_array(world_, givers.front(), mine);
    receive_array(world_, givers.front(), gradient);
    world_.finish();
  }
  world_.finish();
}

}  // namespace maskctl::attention
