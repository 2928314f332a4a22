// What operations ask of their arrays and options before any work.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Throws Error(kInvalidArgument), and Error(kShape).
[[noreturn]] void refuse(const std::string& message);
[[noreturn]] void refuse_shape(const std::string& message);

/// An array by the name that its operation gives it; null where it is left out.
struct NamedTensor {
  const char* name;
  const Tensor* tensor;
};

/// Throws Error(kInvalidArgument) for an array that is missing, Error(kShape) for another rank.
void check_rank(const char* what, const Tensor* tensor, Index rank);
/// Throws Error(kShape): "d_out is (1, 2, 3), expected (1, 2, 4)".
void check_shape(const char* what, const Tensor& tensor, std::span<const Index> expected);

/// Throws Error(kInvalidArgument) unless the first is f32, f16 or bf16 and the others, where they
/// are given, are the same.
void check_dtypes(std::initializer_list<NamedTensor> tensors);
/// Throws Error(kInvalidArgument) unless the elements are floats, or integers, of any width.
void check_float(const char* what, const TensorView& array);
void check_integer(const char* what, const TensorView& array);

/// Throws Error(kShape) unless each key head serves as many query heads.
void check_head_groups(Index q_heads, Index kv_heads);
/// Throws Error(kInvalidArgument) unless the cap is left out or above 0.
void check_soft_cap(std::optional<double> cap);

}  // namespace maskctl::attention
