// The arrays of one call as CPU attention wants them: f32, one head at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/arrays/floats.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention {

/// Everything a task of forward or backward reads.
struct CpuCall {
  explicit CpuCall(const SoftmaxProblem& problem);

  /// Rows of one head: element (i, x) is at [i * stride + x].
  const float* query(Index b, Index h) const;
  const float* key(Index b, Index u) const;
  const float* value(Index b, Index u) const;
  Index query_stride() const { return d.q_heads * d.dim; }
  Index key_stride() const { return d.kv_heads * d.dim; }
  Index value_stride() const { return d.kv_heads * d.value_dim; }

  bool adjusts_logits() const { return bias || options.soft_cap; }
  /// Adds the bias and caps the logits of query i for keys; derivative as in soft_cap_all. `width`
  /// is keys.size() rounded up.
  void adjust(float* logits, Index b, Index h, Index i, Range keys, Index width,
              float* derivative) const;
  float dropout_at(Index b, Index h, Index i, Index j) const;
  /// Multiplies the weights of query i by the dropout multipliers.
  void drop(float* weights, Index b, Index h, Index i, Range keys) const;

  /// Keys of one key head that hold NaN or infinity and that no query sees: kernels take them as 0,
  /// so that no result has a 0 * NaN in it.
  std::vector<Index> poisoned_keys(Index b, Index u) const;

  Dims d;
  const SoftmaxOptions& options;
  float scale;
  const Mask& mask;
  const BlockMap* block_map;  // compiled from one of the planes, or null
  Floats q, k, v, bias, sinks;
  BroadcastStrides bias_at;
  const std::optional<TensorView>& sink_array;
};

/// K and V of one key head, row by row.
class HeadRows {
 public:
  HeadRows(const CpuCall& call, Index b, Index u);
  /// Zeroes the poisoned keys, in a copy of all rows where there are any.
  void clean();
  const float* key(Index j) const { return key_ + j * key_stride_; }
  const float* value(Index j) const { return value_ + j * value_stride_; }
  Index key_stride() const { return key_stride_; }
  Index value_stride() const { return value_stride_; }

 private:
  const CpuCall& call_;
  Index b_, u_;
  const float *key_, *value_;
  Index key_stride_, value_stride_;
  std::vector<float> clean_;
};

/// How many backward tasks share the queries of a key head, each with sums of its own, where
/// `heads` are worked on at a time: with few heads and one task each, cores would be idle. It does
/// not depend on the number of threads, so that the gradients of K and V are always added in the
/// same order.
Index parts_of_head(Index heads);

/// The output of a row without keys and sinks: the mean (or sum) of V, or NaN.
std::vector<float> empty_row_value(const CpuCall& call, Index b, Index h);

}  // namespace maskctl::attention
