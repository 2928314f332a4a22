// Checks of the arrays and options of a call, made before any work.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// refuse() throws Error(kInvalidArgument), refuse_shape() throws Error(kShape).
[[noreturn]] void refuse(const std::string& message);
[[noreturn]] void refuse_shape(const std::string& message);
/// The allowed extents as text, without duplicates: "1", "1 or 2", "1, 2 or 4".
std::string any_of_text(std::initializer_list<Index> extents);

/// An array and its argument name, for messages. Null: the array is not given.
struct NamedTensor {
  const char* name;
  const Tensor* tensor;
};

/// Throws Error(kInvalidArgument) if the array is missing, Error(kShape) if its rank differs.
void check_rank(const char* what, const Tensor* tensor, Index rank);
/// Throws Error(kShape): "d_out is (1, 2, 3), expected (1, 2, 4)".
void check_shape(const char* what, const Tensor& tensor, std::span<const Index> expected);

/// Throws Error(kInvalidArgument) unless the first array is f32, f16 or bf16 and the others have
/// the same dtype. Arrays other than the first may be null.
void check_dtypes(std::initializer_list<NamedTensor> tensors);
/// Throw Error(kInvalidArgument) unless the elements are floats (or integers) of any width.
void check_float(const char* what, const TensorView& array);
void check_integer(const char* what, const TensorView& array);
/// Throws what check_float() and check_shape() throw; an array that is not given passes.
void check_floats(const char* what, const Tensor* tensor, const std::vector<Index>& shape);

/// The elements of an array of integers, which must have the given shape; an extent of -1 allows
/// any. Throws Error(kShape, kInvalidArgument).
std::vector<std::int32_t> integers(const char* what, const Tensor* array,
                                   std::span<const Index> shape);
/// The only element of an array [] or [1]. Throws the same errors as integers().
Index one_integer(const char* what, const Tensor& array);

/// Throws Error(kShape) unless q_heads, the heads of `what`, are a multiple of kv_heads.
void check_head_groups(Index q_heads, Index kv_heads, const char* what = "query");
/// Throws Error(kInvalidArgument) if there is a cap that is not above 0.
void check_soft_cap(std::optional<double> cap);

// Sequences packed one after another along the token axis.

/// The token range of each sequence, from cumulative lengths [N+1]: nondecreasing integers, of
/// which the first is 0 and the last at most `tokens`. Otherwise throws Error(kShape,
/// kInvalidArgument) that names the array.
std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens,
                                    const char* what = "cu_seqlens");
/// For calls with cu_seqlens: throws Error(kShape) unless the batch has one row.
void check_one_row(Index batch);

/// A sequence: a range of tokens in one row of the batch, which see only each other.
struct TokenSequence {
  Index batch = 0;
  Range tokens;
};
/// One sequence per batch row or, with `cu_seqlens`, one per sequence packed in the only row.
/// Throws what packed_sequences() throws, and Error(kShape) if cu_seqlens comes with several rows.
std::vector<TokenSequence> sequences_in(const Tensor* cu_seqlens, Index batch, Index tokens);

}  // namespace maskctl::attention
