// Checks of arrays that belong to a call on the GPU; private to gpu/.
#pragma once

#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/problems/dims.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::gpu {

using Shape = std::vector<Index>;

[[noreturn]] void refuse_place(const char* what);
void check_extents(const char* what, const TensorView& array, const Shape& shape);
/// Throws unless the array has this shape and, if it has elements, is on the GPU and without gaps.
void check_array(const char* what, const TensorView& array, const Shape& shape);
void check_array(const char* what, const TensorView& array, const Shape& shape, DType dtype);
void check_floats(const char* what, const TensorView& array, const Shape& shape);
void check_given(const char* what, const std::optional<TensorView>& array, const Shape& shape);
/// Throws unless the gradient of an array `of` is on the GPU, with the shape and dtype of the
/// array.
void check_gradient(const char* what, const MutableTensorView& gradient, const TensorView& of);
/// Throws unless all arrays are on the GPU and of one dtype, which is one that kernels multiply.
void check_factors(std::initializer_list<std::pair<const char*, const TensorView*>> arrays);
void check_rank(const char* what, const TensorView& array, Index rank);
/// Throws unless the extents that a problem names, `d`, are those of its arrays, `seen`.
void check_dims(const Dims& d, const Dims& seen);
Dims dims_of(const TensorView& query, const TensorView& key, const TensorView& value);

[[noreturn]] void refuse_gradient(const char* what);
template <class Gradient>
void check_gradient(const char* what, const std::optional<Gradient>& gradient,
                    const std::optional<TensorView>& of) {
  if (!gradient) return;
  if (!of) refuse_gradient(what);
  check_gradient(what, *gradient, *of);
}

}  // namespace maskctl::attention::gpu
