#include "maskctl/attention/sharded/shard_map.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/axes.h"
#include "maskctl/attention/fields.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

constexpr std::string_view kMaskAxes = "B Hq/Hkv Tq Tk";

void add_mask(std::string_view name, const Mask& mask, ShardPlan& plan) {
  const Index shape[] = {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
  plan.add_input(name, shape, kMaskAxes, nullptr);
}

void add_info(std::string_view name, const MaskInfo& info, ShardPlan& plan) {
  const MaskInfoFields& stored = info.fields();
  if (stored.attention_mask) add_mask(name, stored.attention_mask->mask(), plan);
  for (const Array& ids : {stored.q_segment_ids, stored.q_positions}) {
    if (ids) plan.add_input(name, ids->shape(), "B Tq", nullptr);
  }
  for (const Array& ids : {stored.kv_segment_ids, stored.kv_positions}) {
    if (ids) plan.add_input(name, ids->shape(), "B Tk", nullptr);
  }
}

void add_masks(const Field& field, const void* call, ShardPlan& plan) {
  visit_member(field, call, [&](const auto& member) {
    using Member = std::decay_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, const Mask*>) {
      if (member) add_mask(field.name, *member, plan);
    } else if constexpr (std::is_same_v<Member, const MaskInfo*>) {
      if (member) add_info(field.name, *member, plan);
    }
  });
}

void check_spec_counts(const Operation& operation, const Sharding& sharding, std::size_t most) {
  const std::size_t ins = sharding.in_specs.size(), outs = sharding.out_specs.size();
  const std::size_t least = std::min(operation.least_specs, most);
  if (ins < least || ins > most) {
    refuse(
        fmt::format("sharded {}: {} in_specs, expected {} to {}", operation.id, ins, least, most));
  }
  const std::size_t expected = operation.updated_axes.empty() ? 1 : 2;
  if (outs != expected) {
    refuse(fmt::format("sharded {}: {} out_specs, expected {}", operation.id, outs, expected));
  }
}

/// Of alternatives the one whose number is that of the first array's: "N Hq D|N 1 Hq D".
std::string_view out_axes(const Operation& operation, const void* call) {
  const Field& first = operation.fields.front();
  const Tensor* const array = array_of(first, call);
  std::string_view axes = operation.outputs.front().axes, inputs = axes_of(first, call);
  const auto next = [](std::string_view& list) {
    const std::string_view one = list.substr(0, list.find('|'));
    list.remove_prefix(std::min(one.size() + 1, list.size()));
    return one;
  };
  while (array && axes.find('|') != axes.npos) {
    const std::string_view one = next(axes);
    if (axes_of_rank(next(inputs), array->shape().size())) return one;
  }
  return axes;
}

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

/// The call of one shard: a copy whose arrays are cut.
struct ShardMap::Part {
  struct Update {
    Tensor* whole;
    std::string_view axes;
    Tensor* part;
  };

  Part(const ShardMap& map, const Shard& shard) : call(map.operation_.copy_call(map.call_.get())) {
    for (const Field& field : map.operation_.fields) {
      const std::string_view axes = axes_of(field, map.call_.get());
      visit_member(field, call.get(), [&](auto& member) {
        if constexpr (requires { cut(member, axes, shard); }) {
          if (member) cut(member, axes, shard);
        }
      });
    }
    if (map.operation_.localise) {
      map.operation_.localise(call.get(), shard, map.plan_, owned);
    }
  }
  void cut(const Tensor*& array, std::string_view axes, const Shard& shard) {
    array = owned.keep(shard_of(*array, axes, shard));
  }
  void cut(Tensor*& array, std::string_view axes, const Shard& shard) {
    Tensor* const copy = owned.keep(shard_of(*array, axes, shard));
    updated.push_back({array, axes, copy});
    array = copy;
  }
  void cut(const Mask*& mask, std::string_view, const Shard& shard) {
    mask = owned.keep(shard_of(*mask, shard));
  }
  void cut(const MaskInfo*& info, std::string_view, const Shard& shard) {
    info = owned.keep(shard_of(*info, shard));
  }

  AnyValue call;
  OwnedArrays owned;
  std::vector<Update> updated;
};

ShardMap::ShardMap(const Operation& operation, const void* call, const Sharding& sharding)
    : operation_(operation),
      call_(operation.copy_call(call)),
      plan_(operation.id, sharding.mesh, operation.splittable, operation.collective) {
  if (operation_.complete) operation_.complete(call_.get(), owned_);
  add_arrays(sharding);
  if (operation_.check_sharding) operation_.check_sharding(call_.get(), plan_);
  shards_ = plan_.shards();
}

void ShardMap::add_arrays(const Sharding& sharding) {
  std::size_t number = 0;
  for (const Field& field : operation_.fields) {
    if (!field.is_array) {
      add_masks(field, call_.get(), plan_);
      continue;
    }
    const std::size_t at = number++;
    const bool given = at < sharding.in_specs.size() && sharding.in_specs[at];
    const Tensor* const array = array_of(field, call_.get());
    if (!array) continue;
    plan_.add_input(field.name, array->shape(), axes_of(field, call_.get()),
                    given ? &*sharding.in_specs[at] : nullptr);
  }
  check_spec_counts(operation_, sharding, number);
  plan_.add_output("out", out_axes(operation_, call_.get()), sharding.out_specs[0]);
  if (operation_.updated_axes.empty()) return;
  plan_.add_output("the updated array", operation_.updated_axes, sharding.out_specs[1]);
}

const Field& ShardMap::input(std::string_view name) const {
  return *std::ranges::find(operation_.fields, name, &Field::name);
}

AnyValue ShardMap::forward(const Forward& run) const {
  AnyValue whole;
  for (const Shard& shard : shards_) {
    const Part part(*this, shard);
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
    const Part part(*this, shard);
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
