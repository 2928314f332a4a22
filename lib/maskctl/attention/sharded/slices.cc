#include "maskctl/attention/sharded/slices.h"

#include <algorithm>
#include <cstring>

#include "maskctl/attention/axes.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// f(offset in the whole, offset in the part, elements) for each contiguous row of a part.
template <class F>
void for_each_row(std::span<const Index> shape, std::span<const Range> part, F&& f) {
  if (shape.empty()) return f(Index{0}, Index{0}, Index{1});
  if (std::ranges::any_of(part, [](const Range& range) { return range.empty(); })) return;
  std::vector<Index> at(shape.size(), 0);  // within the part; the last axis stays 0
  for (Index row = 0;; ++row) {
    Index offset = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      offset = offset * shape[axis] + part[axis].begin + at[axis];
    }
    f(offset, row * part.back().size(), part.back().size());
    std::size_t axis = shape.size() - 1;
    while (axis > 0 && ++at[axis - 1] == part[axis - 1].size()) at[--axis] = 0;
    if (axis == 0) return;
  }
}

std::size_t bytes_of(const Tensor& tensor, Index elements) {
  return as_size(elements * size_bytes(tensor.dtype()));
}

std::optional<MaskArray> shard_of_array(const std::optional<MaskArray>& array, const Shard& shard) {
  if (!array) return std::nullopt;
  return MaskArray(shard_of(array->mask(), shard), array->dtype());
}

Array shard_of_array(const Array& array, std::string_view labels, const Shard& shard) {
  return array ? make_array(shard_of(*array, labels, shard)) : nullptr;
}

}  // namespace

Tensor take(const Tensor& whole, std::span<const Range> part) {
  std::vector<Index> shape;
  for (const Range& range : part) shape.push_back(range.size());
  Tensor out(whole.dtype(), shape);
  for_each_row(whole.shape(), part, [&](Index from, Index to, Index n) {
    std::memcpy(out.bytes().data() + bytes_of(out, to), whole.bytes().data() + bytes_of(out, from),
                bytes_of(out, n));
  });
  return out;
}

void put(const Tensor& part, std::span<const Range> place, Tensor& whole) {
  for_each_row(whole.shape(), place, [&](Index to, Index from, Index n) {
    std::memcpy(whole.bytes().data() + bytes_of(part, to),
                part.bytes().data() + bytes_of(part, from), bytes_of(part, n));
  });
}

void add(const Tensor& part, std::span<const Range> place, Tensor& whole) {
  for_each_row(whole.shape(), place, [&](Index to, Index from, Index n) {
    const std::span<const float> source = part.as<float>().subspan(as_size(from), as_size(n));
    const std::span<float> target = whole.as<float>().subspan(as_size(to), as_size(n));
    for (std::size_t i = 0; i < source.size(); ++i) target[i] += source[i];
  });
}

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
  const std::vector<Range> part = shard.part(shape, "B Hq/Hkv Tq Tk");
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

}  // namespace maskctl::attention
