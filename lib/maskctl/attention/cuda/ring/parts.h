// Merges the results of several ring steps, each of which covers a range of rows.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/elements.h"
#include "maskctl/attention/cuda/softmax/params.h"

namespace maskctl::attention::cuda {

inline constexpr int kMostParts = 32;

/// Rows [first, first + count) of a result [B,rows,...], as a contiguous array [B,count,...] of the
/// result's dtype.
struct Part {
  // [B,count,...]; in the memory of the result itself if the part was computed there
  const void* data = nullptr;
  /// [B,Hq,count], for parts of `out`; in the memory of the final lse if the part was computed
  /// there
  const float* lse = nullptr;
  Index first = 0, count = 0;
};
struct Parts {
  Part part[kMostParts];
  int count = 0;
};

/// Merges normalised parts of `out` and the sinks of the call, and writes out [B,Tq,Hq,Dv] and lse
/// [B,Hq,Tq]. Rows without a key follow the call's policy; `means` as in launch_forward.
void launch_merge(const SoftmaxParams& p, const Parts& parts, const float* means, AnyResult out,
                  float* lse, Stream stream);

/// The shape [B,rows,columns] of a sum of parts.
struct SumShape {
  Index batch = 0, rows = 0, columns = 0;
};
/// sum = scale * (sum of the parts, in their order, + `each_row` [B,columns] if not null).
void launch_sum(const SumShape& shape, const Parts& parts, const float* each_row, float scale,
                AnyResult sum, Stream stream);

}  // namespace maskctl::attention::cuda
