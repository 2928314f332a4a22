// The arrays of one call in the form that CPU attention uses: f32, one head at a time.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/arrays/floats.h"
#include "maskctl/attention/problems/softmax_problem.h"

namespace maskctl::attention {

/// Everything that a task of the forward or backward pass reads.
struct CpuCall {
  explicit CpuCall(const SoftmaxProblem& problem);

  /// The first row of one head: element (i, x) is at [i * stride + x], with the stride of the
  /// array.
  const float* query(Index b, Index h) const;
  const float* key(Index b, Index u) const;
  const float* value(Index b, Index u) const;
  Index query_stride() const { return d.q_heads * d.dim; }
  Index key_stride() const { return d.kv_heads * d.dim; }
  Index value_stride() const { return d.kv_heads * d.value_dim; }

  bool adjusts_logits() const { return bias || options.soft_cap; }
  /// Adds the bias to the logits of query i with `keys`, and applies the soft cap. `derivative`:
  /// see soft_cap_all(). `width` is keys.size() rounded up to whole vectors.
  void adjust(float* logits, Index b, Index h, Index i, Range keys, Index width,
              float* derivative) const;
  float dropout_at(Index b, Index h, Index i, Index j) const;
  /// Multiplies the weights of query i with `keys` by the dropout multipliers.
  void drop(float* weights, Index b, Index h, Index i, Range keys) const;

  /// The keys of a key head that contain NaN or infinity and that no query sees. Kernels read them
  /// as 0, so that a weight of 0 never meets a NaN (0 * NaN = NaN).
  std::vector<Index> poisoned_keys(Index b, Index u) const;

  Dims d;
  const SoftmaxSettings& options;
  float scale;
  const Mask& mask;
  const BlockMap* block_map;  // compiled from one plane of the mask, or null
  Floats q, k, v, bias, sinks;
  BroadcastStrides bias_at;
  const std::optional<TensorView>& sink_array;
};

/// K and V of one key head, row by row.
class HeadRows {
 public:
  HeadRows(const CpuCall& call, Index b, Index u);
  /// If there are poisoned keys (unseen keys that contain NaN or infinity), replaces all rows by a
  /// copy in which those keys are 0.
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

/// The number of backward tasks that share the queries of a key head, each with its own sums;
/// `heads` is the number of key heads processed at a time. With few heads and one task per head,
/// cores would be idle. The number does not depend on the number of threads, so that the gradients
/// of K and V are always added in the same order.
Index parts_of_head(Index heads);

/// The output of a row without keys and sinks: the mean of V (its sum if out is not normalized), or
/// NaN.
std::vector<float> empty_row_value(const CpuCall& call, Index b, Index h);

}  // namespace maskctl::attention
