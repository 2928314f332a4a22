#include "maskctl/ejkernel/mask_info/mask_info_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <tuple>

#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

constexpr Index kInt32Wraps = Index{1} << 31;

Index wrap32(Index value) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint64_t>(value)));
}

Index product(std::span<const Index> extents) {
  Index out = 1;
  for (const Index extent : extents) out *= extent;
  return out;
}

}  // namespace

Index extent_of(const std::vector<Index>& shape, Index axis) {
  const auto rank = static_cast<Index>(shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) {
    throw PythonError(PythonType::kIndexError, "tuple index out of range");
  }
  return shape[static_cast<std::size_t>(axis)];
}

void require_lengths(const MaskInfo& info, const char* what) {
  if (info.q_len() && info.kv_len()) return;
  const auto text = [](std::optional<Index> length) {
    return length ? std::to_string(*length) : std::string("None");
  };
  const std::string q = text(info.q_len()), kv = text(info.kv_len());
  throw PythonError(PythonType::kValueError,
                    fmt::format("Cannot {}: mask dimensions are unknown. The MaskInfo instance "
                                "must have defined q_len and kv_len (available via attention_mask "
                                "or segment_ids). Current state: q_len={}, kv_len={}",
                                what, q, kv));
}

void require_rank4(const MaskArray& mask) {
  if (mask.rank() == 4) return;
  throw PythonError(
      PythonType::kValueError,
      mask.rank() > 4
          ? "too many values to unpack (expected 4)"
          : fmt::format("not enough values to unpack (expected 4, got {})", mask.rank()));
}

std::int32_t int32_from(Index value) {
  if (value < std::numeric_limits<std::int32_t>::min() ||
      value > std::numeric_limits<std::int32_t>::max()) {
    throw PythonError(PythonType::kValueError,
                      fmt::format("Python integer {} out of bounds for int32", value));
  }
  return static_cast<std::int32_t>(value);
}

std::vector<std::int32_t> int32_values(const PerBatch& values) {
  if (const Index* number = std::get_if<Index>(&values)) return {int32_from(*number)};
  const Array array = int32_array(std::get<Array>(values));
  const auto elements = array->as<std::int32_t>();
  return {elements.begin(), elements.end()};
}

std::vector<Index> batch_values(const PerBatch& values, Index batch) {
  const auto given = int32_values(values);
  const Array* array = std::get_if<Array>(&values);
  if (array == nullptr || (*array)->rank() == 0) {
    return std::vector<Index>(static_cast<std::size_t>(batch), given.front());
  }
  if (static_cast<Index>(given.size()) != batch) {
    throw PythonError(PythonType::kTypeError,
                      fmt::format("cannot reshape array of shape {} into shape ({},)",
                                  shape_text((*array)->shape()), batch));
  }
  return {given.begin(), given.end()};
}

Array int32_array(const Array& array) {
  if (!array) throw PythonError(PythonType::kTypeError, "expected an array, got None");
  return array->dtype() == DType::kInt32 ? array : make_array(astype(*array, DType::kInt32));
}

Array ids_of_flags(const Tensor& flags) {
  const Tensor valid = astype(flags, DType::kBool);
  Tensor ids(DType::kInt32, flags.shape());
  std::ranges::transform(valid.as<std::uint8_t>(), ids.as<std::int32_t>().begin(),
                         [](std::uint8_t flag) { return flag != 0 ? 0 : -1; });
  return make_array(std::move(ids));
}

Mask heads_as_batches(const Mask& mask) {
  return Mask::make(mask.heads(), 1, mask.queries(), mask.keys(),
                    [&](Index b, Index) { return mask.plane(0, b); });
}

bool array_equal(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) return false;
  if (a.dtype() == b.dtype()) return std::ranges::equal(a.bytes(), b.bytes());
  const DType common =
      is_floating(a.dtype()) || is_floating(b.dtype()) ? DType::kFloat64 : DType::kInt64;
  return std::ranges::equal(astype(a, common).bytes(), astype(b, common).bytes());
}

Array first_head(const Array& ids) {
  if (!ids || ids->rank() != 3) return ids;
  if (ids->extent(1) == 0) throw PythonError(PythonType::kIndexError, "no head 0 in 0 heads");
  Tensor head = slice_axis(*ids, 1, {0, 1});
  head.reshape({ids->extent(0), ids->extent(2)});
  return make_array(std::move(head));
}

Tensor slice_batches(const Tensor& x, Index axis, std::span<const Index> starts, Index width) {
  if (x.rank() <= axis || x.extent(0) != static_cast<Index>(starts.size())) {
    throw PythonError(PythonType::kValueError, fmt::format("an array of shape {} for {} batches",
                                                           shape_text(x.shape()), starts.size()));
  }
  const Index extent = x.extent(axis);
  if (width < 0 || width > extent) {
    throw PythonError(
        PythonType::kTypeError,
        fmt::format("slice size {} is out of range: axis {} has {} elements", width, axis, extent));
  }
  const std::span<const Index> shape = x.shape();
  const auto at = static_cast<std::size_t>(axis);
  const Index outer = product(shape.subspan(1, at - 1));
  const Index inner = product(shape.subspan(at + 1)) * size_bytes(x.dtype());
  std::vector<Index> out_shape = x.shape();
  out_shape[at] = width;
  Tensor out(x.dtype(), out_shape);
  if (out.elements() == 0) return out;
  for (Index row = 0; row < x.extent(0) * outer; ++row) {
    const Index start =
        std::clamp<Index>(starts[static_cast<std::size_t>(row / outer)], 0, extent - width);
    std::memcpy(out.bytes().data() + row * width * inner,
                x.bytes().data() + (row * extent + start) * inner,
                static_cast<std::size_t>(width * inner));
  }
  return out;
}

Tensor slice_axis(const Tensor& x, Index axis, Range range) {
  if (x.rank() <= axis) {
    throw PythonError(
        PythonType::kIndexError,
        fmt::format("too many indices for an array of shape {}", shape_text(x.shape())));
  }
  const Range cut = intersect(range, {0, x.extent(axis)});
  const std::vector<Index> starts(static_cast<std::size_t>(x.extent(0)), cut.begin);
  return slice_batches(x, axis, starts, cut.size());
}

Mask slice_batches(const Mask& mask, std::span<const Index> q_starts, Index q_width,
                   std::span<const Index> k_starts, Index k_width) {
  std::map<std::tuple<std::uint32_t, Index, Index>, PlanePtr> cut;
  return Mask::make(mask.batch(), mask.heads(), q_width, k_width, [&](Index b, Index h) {
    const Index q = q_starts[static_cast<std::size_t>(b)];
    const Index k = k_starts[static_cast<std::size_t>(b)];
    PlanePtr& plane = cut[{mask.index_of(b, h), q, k}];
    if (!plane) plane = mask.plane(b, h)->sliced({q, q + q_width}, {k, k + k_width});
    return plane;
  });
}

Mask planes_of_values(std::span<const std::int32_t> values, Index queries, Index keys,
                      const std::function<PlanePtr(Index value)>& make) {
  std::map<std::int32_t, PlanePtr> planes;
  return Mask::make(static_cast<Index>(values.size()), 1, queries, keys, [&](Index b, Index) {
    const std::int32_t value = values[static_cast<std::size_t>(b)];
    PlanePtr& plane = planes[value];
    if (!plane) plane = make(value);
    return plane;
  });
}

PlanePtr int32_band(Index queries, Index keys, std::optional<Index> low, Index high) {
  std::vector<Index> cuts{0, queries};
  for (const Index line : {low.value_or(0), high}) {
    // the first row for which the int32 sum row + line wraps around
    cuts.push_back(std::min(kInt32Wraps - wrap32(line), queries));
  }
  std::ranges::sort(cuts);
  std::vector<Slab> slabs;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Range rows{cuts[i], cuts[i + 1]};
    if (rows.empty()) continue;
    Band band{0, wrap32(high + rows.begin) + 1 - rows.begin, 0, 1};
    if (low) {
      band.begin = wrap32(*low + rows.begin) - rows.begin;
      band.begin_slope = 1;
    }
    slabs.push_back({rows, {band}});
  }
  return bands(queries, keys, slabs);
}

}  // namespace maskctl
