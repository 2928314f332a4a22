#include "maskctl/attention/sharded/shard_map.h"

#include <fmt/format.h>

#include <mutex>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/ring/on_devices.h"
#include "maskctl/attention/sharded/rank_parts.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

Tensor shard_of(const Tensor& whole, std::string_view labels, const Shard& shard) {
  Tensor part = take(whole, shard.part(whole.shape(), labels));
  const std::vector<Axis> axes = checked_axes(labels, whole.shape().size());
  if (axes.size() != 1 || !axes[0].cumulative || !shard.splits(axes[0].name)) return part;
  const std::vector<std::int64_t> sums = as_int64(part, "cumulative lengths");
  Tensor from_zero(DType::kInt64, part.shape());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    from_zero.as<std::int64_t>()[i] = sums[i] - sums[0];
  }
  return astype(from_zero, part.dtype());
}

Mask shard_of(const Mask& whole, const Shard& shard) {
  const std::vector<Index> shape = {whole.batch(), whole.heads(), whole.queries(), whole.keys()};
  const std::vector<Range> part = shard.part(shape, kMaskAxes);
  return sliced(whole, part[0], part[1], part[2], part[3]);
}

namespace {

std::vector<Index> own_shape(const Tensor& array) { return array.shape(); }

}  // namespace

ShardMap::ShardMap(const Operation& operation, const void* call, const Sharding& sharding)
    : operation_(operation), call_(completed(operation, call, owned_)), sharding_(sharding) {
  sharding_.mesh = plan_of(operation, call_.get(), sharding, own_shape).working_mesh();
}

/// The results of one rank: its output or gradients, and the arrays that were moved out of them.
struct ShardMap::OfRank {
  AnyValue value;
  PlacedResults arrays, updated;
};

std::vector<ShardMap::OfRank> ShardMap::on_ranks(
    const std::function<void(RankParts&, OfRank&)>& work) const {
  const Index ranks = sharding_.mesh.devices();
  std::vector<OfRank> results(as_size(ranks));
  run_on_devices(operation_.backend_of(call_.get()), ranks, [&](Communicator& world) {
    RankParts rank(operation_, call_.get(), sharding_, own_shape, world);
    work(rank, results[as_size(world.rank())]);
  });
  return results;
}

namespace {

void put_first(const PlacedArray& array, Tensor& whole) {
  if (array.is_first) put(array.part, array.place, whole);
}

}  // namespace

AnyValue ShardMap::put_together(std::span<const ResultField> fields,
                                const std::vector<OfRank>& ranks) const {
  const AnyValue& whole = ranks.front().value;
  for (const ResultArray& array : arrays_of(fields, whole.get())) {
    const std::string name(array.name);
    const PlacedArray& first = ranks.front().arrays.at(name);
    *array.tensor = Tensor(first.part.dtype(), first.shape);
    for (const OfRank& rank : ranks) put_first(rank.arrays.at(name), *array.tensor);
  }
  return whole;
}

void ShardMap::update(const std::vector<OfRank>& ranks) const {
  for (const Field& field : operation_.fields) {
    visit_member(field, call_.get(), [&](auto& member) {
      if constexpr (std::is_same_v<decltype(member), Tensor*&>) {
        for (const OfRank& rank : ranks) {
          const auto array = rank.updated.find(std::string(field.name));
          if (array != rank.updated.end()) put_first(array->second, *member);
        }
      }
    });
  }
}

AnyValue ShardMap::forward(const Forward& run) const {
  const std::vector<OfRank> ranks = on_ranks([&](RankParts& rank, OfRank& result) {
    CutCall part = rank.cut({});
    result.value = run(part.call.get());
    result.arrays = rank.outputs(result.value.get());
    result.updated = rank.updated(part);
  });
  update(ranks);
  return put_together(operation_.outputs, ranks);
}

AnyValue ShardMap::backward(const void* output, const Cotangents& d, const Backward& run) const {
  std::mutex one_copy;  // only one rank at a time holds a copy of the whole output
  const std::vector<OfRank> ranks = on_ranks([&](RankParts& rank, OfRank& result) {
    const CutCall part = rank.cut({});
    std::unique_lock lock(one_copy);
    const AnyValue own = cut_output(output, rank);
    lock.unlock();
    OwnedArrays owned;
    result.value = run(part.call.get(), own.get(), cut(output, d, rank, owned));
    result.arrays = rank.gradients(result.value.get());
  });
  return put_together(operation_.gradients, ranks);
}

AnyValue ShardMap::cut_output(const void* output, const RankParts& rank) const {
  AnyValue part = operation_.copy_output(output);
  for (const ResultField& field : operation_.outputs) {
    Tensor* const array = field.array(part.get());
    if (array) *array = take(*array, rank.place(field, array->shape()));
  }
  return part;
}

/// Cuts each cotangent along the axes of its output.
Cotangents ShardMap::cut(const void* output, Cotangents whole, const RankParts& rank,
                         OwnedArrays& owned) const {
  Cotangents part;
  for (const ResultField& field : operation_.outputs) {
    if (!field.array(const_cast<void*>(output))) continue;  // NOLINT: only read here
    const Tensor** const d = whole.find(field.name);
    if (!d || !*d) continue;
    owned.tensors.push_back(take(**d, rank.place(field, (*d)->shape())));
    *part.find(field.name) = &owned.tensors.back();
  }
  return part;
}

}  // namespace maskctl::attention
