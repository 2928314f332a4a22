// Each group of rows times its own matrix (the experts of a mixture).
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// What existing_out does. kAdd: out = product + existing_out. kKeepUnprocessed: rows of the groups
/// that rhs holds are overwritten, the others are those of existing_out.
enum class ExistingOutMode : std::uint8_t { kAdd, kKeepUnprocessed };

/// Borrowed arrays; lhs and rhs are f32, f16 or bf16, of one dtype. Exactly one of group_sizes and
/// group_ids is given.
struct GroupedMatmulInputs {
  const Tensor* lhs = nullptr;          // [m,k]
  const Tensor* rhs = nullptr;          // [G,k,n]; [G,n,k] with transpose_rhs
  const Tensor* group_sizes = nullptr;  // [Gall] int32: rows of each group, in order
  const Tensor* group_ids = nullptr;    // [m] int32 in [0, Gall): the group of each row, any order
  /// One integer: rhs holds the groups group_offset .. group_offset + G - 1 of all; absent: 0.
  const Tensor* group_offset = nullptr;
  const Tensor* existing_out = nullptr;  // [m,n] in the dtype of the result
};

struct GroupedMatmulOptions {
  std::optional<DType> preferred_element_type;  // of the result; absent: as lhs
  bool transpose_rhs = false;
  ExistingOutMode existing_out_mode = ExistingOutMode::kAdd;
  /// Parts of rhs, of equal numbers of groups, multiplied one after another; must divide G. Changes
  /// rounding only.
  Index group_parts = 1;
  /// Hints, 0 = automatic: rows, columns and depth of a tile of the product, or of gradients.
  Index block_m = 0, block_n = 0, block_k = 0;
  Context context = {};
};

/// [m,n]: out[i,:] = lhs[i,:] @ rhs[group of i - group_offset], or its transpose. Rows past the sum
/// of group_sizes and rows of groups that rhs does not hold are 0 (or existing_out's). Summed in
/// f32, rounded once; the bits do not depend on the number of threads.
/// Throws Error(kShape, kInvalidArgument) before any work: shapes or dtypes that do not fit,
/// negative sizes, sizes that sum to more than m, ids below 0 (or, without group_offset, from G
/// on), groups of rhs past the last of group_sizes, group_parts that do not divide G.
Tensor grouped_matmul(const GroupedMatmulInputs& inputs, const GroupedMatmulOptions& options = {});

struct GroupedMatmulGradients {
  Tensor lhs, rhs;                     // as the inputs; 0 for groups without rows
  std::optional<Tensor> existing_out;  // d_out, in kKeepUnprocessed only where a row was kept
};

/// Gradients of sum(out * d_out).
GroupedMatmulGradients grouped_matmul_backward(const GroupedMatmulInputs& inputs,
                                               const Tensor& d_out,
                                               const GroupedMatmulOptions& options = {});

}  // namespace maskctl::attention
