#include "maskctl/attention/sharded/shard_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/axes.h"
#include "maskctl/attention/fields.h"
#include "maskctl/attention/sharded/cut_call.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

std::optional<MaskArray> shard_of_array(const std::optional<MaskArray>& array, const Shard& shard) {
  if (!array) return std::nullopt;
  return MaskArray(shard_of(array->mask(), shard), array->dtype());
}

Array shard_of_array(const Array& array, std::string_view labels, const Shard& shard) {
  return array ? make_array(shard_of(*array, labels, shard)) : nullptr;
}

}  // namespace

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

MaskInfo shard_of(const MaskInfo& whole, const Shard& shard) {
  MaskInfo source = whole;
  const bool bare = !source.fields().attention_mask && !source.fields().q_segment_ids;
  if (bare) source.attention_mask();
  MaskInfoFields fields = source.fields();
  fields.attention_mask = shard_of_array(fields.attention_mask, shard);
  fields.q_segment_ids = shard_of_array(fields.q_segment_ids, "B Tq", shard);
  fields.kv_segment_ids = shard_of_array(fields.kv_segment_ids, "B Tk", shard);
  fields.q_positions = shard_of_array(fields.q_positions, "B Tq", shard);
  fields.kv_positions = shard_of_array(fields.kv_positions, "B Tk", shard);
  fields.cu_seqlens_q = fields.cu_seqlens_kv = nullptr;
  return MaskInfo(std::move(fields));
}

std::vector<ResultArray> arrays_of(std::span<const ResultField> fields, void* result) {
  std::vector<ResultArray> arrays;
  for (const ResultField& field : fields) {
    if (Tensor* const array = field.array(result))
      arrays.push_back({field.name, field.axes, array});
  }
  return arrays;
}

ShardMap::ShardMap(const Operation& operation, const void* call, const Sharding& sharding)
    : operation_(operation),
      call_(completed(operation, call, owned_)),
      plan_(plan_of(operation, call_.get(), sharding,
                    [](const Tensor& array) { return array.shape(); })),
      shards_(plan_.shards()) {}

const Field& ShardMap::input(std::string_view name) const {
  return *std::ranges::find(operation_.fields, name, &Field::name);
}

AnyValue ShardMap::forward(const Forward& run) const {
  AnyValue whole;
  for (const Shard& shard : shards_) {
    const CutCall part(operation_, call_.get(), shard, plan_);
    const AnyValue out = run(part.call.get());
    if (!whole) {
      whole = operation_.copy_output(out.get());
      for (const ResultArray& array : arrays_of(operation_.outputs, whole.get())) {
        *array.tensor =
            Tensor(array.tensor->dtype(), shard.whole(array.tensor->shape(), array.axes));
      }
    }
    const auto parts = arrays_of(operation_.outputs, out.get());
    const auto wholes = arrays_of(operation_.outputs, whole.get());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Tensor& target = *wholes[i].tensor;
      put(*parts[i].tensor, shard.part(target.shape(), parts[i].axes), target);
    }
    for (const auto& [array, axes, copy] : part.updated) {
      put(*copy, shard.part(array->shape(), axes), *array);
    }
  }
  return whole;
}

AnyValue ShardMap::backward(const void* output, const Cotangents& d, const Backward& run) const {
  AnyValue whole;
  std::vector<Tensor> sums;
  const auto axes_of_input = [&](const ResultArray& array) {
    return axes_of(input(array.name), call_.get());
  };
  for (const Shard& shard : shards_) {
    const CutCall part(operation_, call_.get(), shard, plan_);
    OwnedArrays owned;
    AnyValue gradients =
        run(part.call.get(), cut_output(output, shard).get(), cut(output, d, shard, owned));
    const auto parts = arrays_of(operation_.gradients, gradients.get());
    if (sums.empty()) {
      for (const ResultArray& array : parts) {
        sums.emplace_back(DType::kFloat32, array_of(input(array.name), call_.get())->shape());
      }
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
      add(astype(*parts[i].tensor, DType::kFloat32),
          shard.part(sums[i].shape(), axes_of_input(parts[i])), sums[i]);
    }
    if (!whole) whole = std::move(gradients);
  }
  const auto wholes = arrays_of(operation_.gradients, whole.get());
  for (std::size_t i = 0; i < wholes.size(); ++i) {
    *wholes[i].tensor = astype(sums[i], wholes[i].tensor->dtype());
  }
  return whole;
}

AnyValue ShardMap::cut_output(const void* output, const Shard& shard) const {
  AnyValue part = operation_.copy_output(output);
  for (const ResultArray& array : arrays_of(operation_.outputs, part.get())) {
    *array.tensor = shard_of(*array.tensor, array.axes, shard);
  }
  return part;
}

/// Cotangents have the axes of their outputs.
Cotangents ShardMap::cut(const void* output, Cotangents whole, const Shard& shard,
                         OwnedArrays& owned) const {
  Cotangents part;
  for (const ResultArray& array :
       arrays_of(operation_.outputs, const_cast<void*>(output))) {  // NOLINT: only read here
    const Tensor** const d = whole.find(array.name);
    if (d && *d) *part.find(array.name) = owned.keep(shard_of(**d, array.axes, shard));
  }
  return part;
}

}  // namespace maskctl::attention
