// Mean pooling in float64 and plain loops.
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/reference/kernels.h"

namespace maskctl::attention {

void reference::mean_pooling(const PoolingProblem& p, const MutableTensorView& out,
                             const Context&) {
  const std::vector<double> values = to_double(p.x);
  std::vector<double> means(p.segments.size() * as_size(p.width));
  for (std::size_t n = 0; n < p.segments.size(); ++n) {
    for (Index c = 0; c < p.width; ++c) {
      double sum = 0;
      for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
        if (p.counts(t)) sum += values[as_size(t * p.width + c)];
      }
      means[n * as_size(p.width) + as_size(c)] = sum * p.weight(p.segments[n]);
    }
  }
  store(means, out);
}

}  // namespace maskctl::attention
