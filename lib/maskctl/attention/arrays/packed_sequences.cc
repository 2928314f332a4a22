// Cumulative lengths, checked.
#include "maskctl/attention/arrays/packed_sequences.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {

std::vector<Range> packed_sequences(const Tensor& cu_seqlens, Index tokens, const char* what) {
  if (cu_seqlens.rank() != 1 || cu_seqlens.elements() == 0) {
    refuse_shape(
        fmt::format("{} is {}, expected (sequences + 1,)", what, shape_text(cu_seqlens.shape())));
  }
  const std::vector<std::int64_t> ends = as_int64(cu_seqlens, what);
  if (ends[0] != 0) {
    refuse(fmt::format("{} starts with {}, expected 0", what, ends[0]));
  }
  std::vector<Range> sequences;
  for (std::size_t n = 1; n < ends.size(); ++n) {
    if (ends[n] < ends[n - 1]) {
      refuse(
          fmt::format("{} falls from {} to {} at entry {}, expected ends that never "
                      "fall",
                      what, ends[n - 1], ends[n], n));
    }
    sequences.push_back({ends[n - 1], ends[n]});
  }
  if (ends.back() > tokens) {
    refuse(fmt::format("{} ends at {}, past the {} tokens", what, ends.back(), tokens));
  }
  return sequences;
}

void check_one_row(Index batch) {
  if (batch == 1) return;
  refuse_shape(fmt::format("cu_seqlens needs a batch of 1, the batch is {}; pack the rows", batch));
}

}  // namespace maskctl::attention
