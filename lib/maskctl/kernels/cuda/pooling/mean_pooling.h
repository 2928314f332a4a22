// Means over tokens on the GPU.
#pragma once

#include <vector>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/kernels/problems/pooling_problem.h"

namespace maskctl::attention::cuda {

/// Rows of an array that threads sum together: tokens, or the sums of parts of a segment.
struct PoolingPart {
  Range rows;
  Index to;         // number of the row of the result
  Index count = 0;  // the divisor of the sum; 0: the result is 0
};

/// What the kernels need of a problem besides its array. Segments are cut into parts such that all
/// blocks have about the same work and all multiprocessors have some.
class PoolingPlan {
 public:
  PoolingPlan(const PoolingProblem& problem, Stream stream);

  /// Some of the parts, on the GPU.
  struct Parts {
    const PoolingPart* begin;
    Index count;
    Index longest;  // number of rows of the longest part
  };
  /// whole() has the segments that are not cut, and cut() the parts of all other segments.
  /// of_sums() adds up the sums of these parts, segment by segment.
  Parts whole() const { return parts(whole_); }
  Parts cut() const { return parts(cut_); }
  Parts of_sums() const { return parts(of_sums_); }
  /// Whether each token counts; null: all do.
  const char* counted() const { return counted_.data(); }

 private:
  Parts parts(Range range) const;

  std::vector<PoolingPart> parts_;
  Range whole_, cut_, of_sums_;  // ranges of indices into parts_
  DeviceArray<PoolingPart> device_parts_;
  DeviceArray<char> counted_;
};

void mean_pooling(Workspace& workspace, const PoolingProblem& problem, const PoolingPlan& plan,
                  const MutableTensorView& out);

}  // namespace maskctl::attention::cuda
