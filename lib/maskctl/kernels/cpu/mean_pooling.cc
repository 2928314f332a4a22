// Mean pooling on the CPU.
#include <algorithm>
#include <vector>

#include "maskctl/attention/cpu/heads.h"
#include "maskctl/base/threads.h"
#include "maskctl/kernels/cpu/kernels.h"

namespace maskctl::attention {

void cpu::mean_pooling(const PoolingProblem& p, const MutableTensorView& output, const Context&) {
  constexpr Index kColumns = 512;  // columns per task, so that the sums stay in the L1 cache
  const Floats values(p.x);
  const FloatOutput means(output);
  const Index parts = ceil_div(p.width, kColumns);
  parallel_for(static_cast<Index>(p.segments.size()) * parts, [&](Index task) {
    const std::size_t n = as_size(task / parts);
    const Index first = task % parts * kColumns;
    const Range columns{first, std::min(first + kColumns, p.width)};
    std::vector<double> sums(as_size(columns.size()));
    for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
      if (!p.counts(t)) continue;
      const float* const row = values.data() + t * p.width + columns.begin;
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += static_cast<double>(row[c]);
    }
    const double weight = p.weight(p.segments[n]);
    float* const out = means.data() + static_cast<Index>(n) * p.width + columns.begin;
    for (std::size_t c = 0; c < sums.size(); ++c) out[c] = static_cast<float>(sums[c] * weight);
  });
  means.finish();
}

}  // namespace maskctl::attention
