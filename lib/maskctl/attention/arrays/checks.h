// What operations ask of their arrays and options before any work.
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

/// Throws Error(kInvalidArgument), and Error(kShape).
[[noreturn]] void refuse(const std::string& message);
[[noreturn]] void refuse_shape(const std::string& message);
/// The extents that would do, each once: "1", "1 or 2", "1, 2 or 4".
std::string any_of_text(std::initializer_list<Index> extents);

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

/// The elements of an array of integers of the given shape; extents of -1 fit any. Throws
/// Error(kShape, kInvalidArgument).
std::vector<std::int32_t> integers(const char* what, const Tensor* array,
                                   std::span<const Index> shape);
/// The element of an array that has one: [] or [1]. Throws the same.
Index one_integer(const char* what, const Tensor& array);

/// Throws Error(kShape) unless each key head serves as many query heads.
void check_head_groups(Index q_heads, Index kv_heads);
/// Throws Error(kInvalidArgument) unless the cap is left out or above 0.
void check_soft_cap(std::optional<double> cap);

// Sequences back to back on one axis of tokens.

/// The tokens of each sequence of cumulative lengths [N+1]: nondecreasing integers that start at 0
/// and end at `tokens` or before. Throws Error(kShape, kInvalidArgument) naming the array
/// otherwise.
std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens,
                                    const char* what = "cu_seqlens");
/// Throws Error(kShape) unless a batch with cu_seqlens has one row.
void check_one_row(Index batch);

/// Tokens that see only each other, in one row of the batch.
struct TokenSequence {
  Index batch = 0;
  Range tokens;
};
/// One sequence for each row of a batch or, with `cu_seqlens`, for each one packed in its only row.
/// Throws the same, and Error(kShape) for several rows.
std::vector<TokenSequence> sequences_in(const Tensor* cu_seqlens, Index batch, Index tokens);

}  // namespace maskctl::attention
