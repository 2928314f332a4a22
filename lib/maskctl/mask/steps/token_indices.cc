#include "maskctl/mask/steps/token_indices.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "maskctl/tensor/convert.h"

namespace maskctl::step {
namespace {

/// The last token that a stride takes of a range.
Index last_taken(const Range& range, Index stride) {
  return range.begin + (range.size() - 1) / stride * stride;
}

}  // namespace

Indices GivenIndices::of(Index b, Index extent, std::string_view step,
                         std::string_view side) const {
  if (!is_given()) return {{0, 1, extent}};
  Indices out;
  const auto outside = [&](Index index) {
    refuse(step, fmt::format("index {} of the {}: expected one of 0 to {}. Slots that hold nothing "
                             "take any of them and are closed by pad",
                             index, side, extent - 1));
  };
  for (const Range& range : ranges) {
    if (range.empty()) outside(range.end - 1);
    const Index last = last_taken(range, stride);
    if (range.begin < 0 || last >= extent) outside(last);
    append_progression({range.begin, stride, ceil_div(range.size(), stride)}, out);
  }
  if (count_of(out) > std::numeric_limits<std::int32_t>::max()) {
    refuse(step, fmt::format("more than {} {}", std::numeric_limits<std::int32_t>::max(), side));
  }
  if (array.empty()) return out;
  const Tensor& all = array.array;
  if (all.rank() != 1 && all.rank() != 2) {
    refuse(step, fmt::format("indices of {} are {}: expected [S] or [B,S]", side,
                             shape_text(all.shape())));
  }
  const auto numbers = as_int64(all, "indices");
  const Index length = all.extent(all.rank() - 1);
  for (Index i = 0; i < length; ++i) {
    const Index index = numbers[as_size(token_index(all, b, i))];
    if (index < 0 || index >= extent) outside(index);
    append_index(index, out);
  }
  return out;
}

Index GivenIndices::at(Index b, Index place) const {
  if (!array.empty()) return element(array.array, token_index(array.array, b, place));
  for (const Range& range : ranges) {
    const Index count = ceil_div(range.size(), stride);
    if (place < count) return range.begin + place * stride;
    place -= count;
  }
  return place;
}

Index GivenIndices::end() const {
  Index out = 0;
  for (const Range& range : ranges) {
    if (!range.empty()) out = std::max(out, last_taken(range, stride) + 1);
  }
  for (const Index index : as_int64(array.array, "indices")) out = std::max(out, index + 1);
  return out;
}

std::optional<Tensor> GivenIndices::all(Index most) const {
  if (!array.empty()) return array.array;
  Index count = 0;
  for (const Range& range : ranges) {
    count += ceil_div(range.size(), stride);
    if (count > most) return std::nullopt;
  }
  Tensor out(DType::kInt64, {count});
  auto next = out.as<std::int64_t>().begin();
  for (const Range& range : ranges) {
    for (Index i = range.begin; i < range.end; i += stride) *next++ = i;
  }
  return out;
}

std::optional<Tensor> query_tokens(const TokenIndices& indices, Index most) {
  return queries_of(indices).all(most);
}
std::optional<Tensor> key_tokens(const TokenIndices& indices, Index most) {
  return keys_of(indices).all(most);
}

Mask taken_of(const Mask& mask, const GivenIndices& q, const GivenIndices& kv,
              std::string_view step) {
  Index batch = mask.batch();
  for (const Index other : {q.batch(), kv.batch()}) {
    if (other != 1 && batch != 1 && other != batch) {
      refuse(step, fmt::format("indices of {} batch entries meet {}", other, batch));
    }
    batch = std::max(batch, other);
  }
  const auto of = [&](Index b, const PlanePtr& plane) {
    return taken(plane, q.of(b, mask.queries(), step, "queries"),
                 kv.of(b, mask.keys(), step, "keys"));
  };
  if (q.batch() == 1 && kv.batch() == 1) {
    return mask.map([&](const PlanePtr& plane) { return of(0, plane); });
  }
  return mask.map_batch(batch, of);
}

std::optional<Misfit> misfit_of(const GivenIndices& q, const GivenIndices& kv) {
  if (!q.is_given() && !kv.is_given()) return Misfit{"queries", "names neither queries nor keys"};
  if (q.stride == 1 || !q.ranges.empty() || !kv.ranges.empty()) return std::nullopt;
  return Misfit{"stride", "stride= needs the ranges of queries= or keys="};
}

}  // namespace maskctl::step
