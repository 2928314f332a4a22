#include "maskctl/attention/gpu/check_arrays.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace maskctl::attention::gpu {

void refuse_place(const char* what) {
  refuse(fmt::format("{} is not on the GPU; give its view the place MemorySpace::kDevice", what));
}

void check_extents(const char* what, const TensorView& array, const Shape& shape) {
  if (std::ranges::equal(array.shape(), shape)) return;
  refuse_shape(
      fmt::format("{} is {}, expected {}", what, shape_text(array.shape()), shape_text(shape)));
}

void check_array(const char* what, const TensorView& array, const Shape& shape) {
  check_extents(what, array, shape);
  if (array.elements() == 0) return;
  if (array.place().space != MemorySpace::kDevice) refuse_place(what);
  if (!array.is_contiguous()) refuse(fmt::format("{} has gaps; give it in C order", what));
}

void check_array(const char* what, const TensorView& array, const Shape& shape, DType dtype) {
  check_array(what, array, shape);
  if (array.dtype() == dtype) return;
  refuse(fmt::format("{} is {}, expected {}", what, name(array.dtype()), name(dtype)));
}

void check_floats(const char* what, const TensorView& array, const Shape& shape) {
  check_array(what, array, shape);
  check_float(what, array);
}

void check_given(const char* what, const std::optional<TensorView>& array, const Shape& shape) {
  if (array) check_floats(what, *array, shape);
}

void check_gradient(const char* what, const MutableTensorView& gradient, const TensorView& of) {
  check_array(what, gradient, {of.shape().begin(), of.shape().end()}, of.dtype());
}

void check_factors(std::initializer_list<std::pair<const char*, const TensorView*>> arrays) {
  const auto& [first, leader] = *arrays.begin();
  const DType dtype = leader->dtype();
  if (dtype != DType::kFloat32 && dtype != DType::kFloat16 && dtype != DType::kBFloat16) {
    refuse(fmt::format("{} is {}, expected float32, float16 or bfloat16", first, name(dtype)));
  }
  for (const auto& [what, array] : arrays) {
    if (array->dtype() != dtype) {
      refuse(fmt::format("{} is {} and {} {}; convert one", first, name(dtype), what,
                         name(array->dtype())));
    }
    if (array->elements() > 0 && array->place().space != MemorySpace::kDevice) refuse_place(what);
  }
}

void check_rank(const char* what, const TensorView& array, Index rank) {
  if (array.rank() == rank) return;
  refuse_shape(fmt::format("{} is {}, expected {} axes", what, shape_text(array.shape()), rank));
}

void check_dims(const Dims& d, const Dims& seen) {
  const auto all = [](const Dims& of) {
    return std::tuple(of.batch, of.queries, of.keys, of.q_heads, of.kv_heads, of.dim, of.value_dim);
  };
  if (all(d) != all(seen)) refuse_shape("d has other extents than query, key and value");
}

Dims dims_of(const TensorView& query, const TensorView& key, const TensorView& value) {
  check_rank("query", query, 4);
  check_rank("key", key, 4);
  check_rank("value", value, 4);
  check_factors({{"query", &query}, {"key", &key}, {"value", &value}});
  const Dims d{query.extent(0), query.extent(1), key.extent(1),  query.extent(2),
               key.extent(2),   query.extent(3), value.extent(3)};
  check_extents("key", key, {d.batch, d.keys, d.kv_heads, d.dim});
  check_extents("value", value, {d.batch, d.keys, d.kv_heads, d.value_dim});
  check_head_groups(d.q_heads, d.kv_heads);
  return d;
}

void refuse_gradient(const char* what) {
  refuse(fmt::format("a gradient of {} is wanted, which the problem lacks", what));
}

}  // namespace maskctl::attention::gpu
