// grouped_matmul: multiplies each group of rows by its own matrix, as in a mixture of experts.
#pragma once

#include <cstdint>
#include <optional>

#include "maskctl/attention/problems/context.h"
#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// How existing_out is used. kAdd: out = product + existing_out. kKeepUnprocessed: rows whose group
/// rhs holds get the product, all other rows are copied from existing_out.
enum class ExistingOutMode : std::uint8_t { kAdd, kKeepUnprocessed };

/// Borrowed arrays. lhs and rhs have the same dtype: f32, f16 or bf16. Exactly one of group_sizes
/// and group_ids is given.
struct GroupedMatmulInputs {
  const Tensor* lhs = nullptr;          // [m,k]
  const Tensor* rhs = nullptr;          // [G,k,n]; [G,n,k] with transpose_rhs
  const Tensor* group_sizes = nullptr;  // [Gall] int32: rows of each group, in order
  const Tensor* group_ids = nullptr;    // [m] int32 in [0, Gall): the group of each row
  /// One integer: rhs holds the groups group_offset .. group_offset + G - 1 of all Gall. Null: 0.
  const Tensor* group_offset = nullptr;
  const Tensor* existing_out = nullptr;  // [m,n] in the dtype of the result
};

struct GroupedMatmulOptions {
  std::optional<DType> preferred_element_type;  // dtype of the result; unset: that of lhs
  bool transpose_rhs = false;
  ExistingOutMode existing_out_mode = ExistingOutMode::kAdd;
  /// The number of parts of rhs, each of G / group_parts groups, that are multiplied one after
  /// another; must divide G. Changes only rounding.
  Index group_parts = 1;
  /// Hints for the size of a tile: rows, columns and inner dimension. 0: automatic.
  Index block_m = 0, block_n = 0, block_k = 0;
  Context context = {};
};

/// [m,n]: out[i,:] = lhs[i,:] @ rhs[group of row i - group_offset], transposed if transpose_rhs.
/// Rows past the sum of group_sizes, and rows whose group rhs does not hold, are 0 (or come from
/// existing_out). Sums are in f32 and rounded once; the number of threads does not change any bit.
/// Throws Error(kShape, kInvalidArgument) before any work, for shapes or dtypes that do not fit,
/// negative sizes or a sum above m, ids below 0 (or, without group_offset, of G or more), an rhs
/// that holds groups past the last of group_sizes, and group_parts that do not divide G.
Tensor grouped_matmul(const GroupedMatmulInputs& inputs, const GroupedMatmulOptions& options = {});

struct GroupedMatmulGradients {
  Tensor lhs, rhs;                     // shaped as the inputs; 0 for matrices without rows
  std::optional<Tensor> existing_out;  // d_out; under kKeepUnprocessed, 0 in rows of the product
};

/// Gradients of sum(out * d_out).
GroupedMatmulGradients grouped_matmul_backward(const GroupedMatmulInputs& inputs,
                                               const Tensor& d_out,
                                               const GroupedMatmulOptions& options = {});

}  // namespace maskctl::attention
