// Cumulative lengths, checked.
#include "maskctl/attention/arrays/packed_sequences.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens, const char* what) {
  if (cu_seqlens.rank() != 1 || cu_seqlens.elements() == 0) {
    throw Error(Errc::kShape, fmt::format("{} is {}, expected (sequences + 1,)", what,
                                          shape_text(cu_seqlens.shape())));
  }
  const std::vector<std::int64_t> ends = as_int64(cu_seqlens, what);
  if (ends[0] != 0) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} starts with {}, expected 0", what, ends[0]));
  }
  std::vector<Range> sequences;
  for (std::size_t n = 1; n < ends.size(); ++n) {
    if (ends[n] < ends[n - 1]) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("{} falls from {} to {} at entry {}, expected ends that never "
                              "fall",
                              what, ends[n - 1], ends[n], n));
    }
    sequences.push_back({ends[n - 1], ends[n]});
  }
  if (ends.back() > tokens) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("{} ends at {}, past the {} tokens", what, ends.back(), tokens));
  }
  return sequences;
}

}  // namespace maskctl::attention
