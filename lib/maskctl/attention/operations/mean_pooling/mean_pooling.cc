// Means over tokens and their gradients.
#include "maskctl/attention/operations/mean_pooling/mean_pooling.h"

#include <vector>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/backends.h"

namespace maskctl::attention {

Tensor mean_pooling(const MeanPoolingInputs& in, const MeanPoolingOptions& options) {
  const PoolingProblem problem = checked_pooling(in, options);
  Tensor out = Tensor::unwritten(in.x->dtype(), problem.out_shape);
  run_kernel(Context{options.backend}, "mean_pooling", &Kernels::mean_pooling, problem, out);
  return out;
}

Tensor mean_pooling_backward(const MeanPoolingInputs& in, const Tensor& d_out,
                             const MeanPoolingOptions& options) {
  const PoolingProblem p = checked_pooling(in, options);
  check_shape("d_out", d_out, p.out_shape);
  // Each element is one product: float64 for every backend.
  const std::vector<double> d_means = to_double(d_out);
  std::vector<double> d_x(as_size(in.x->elements()));
  for (std::size_t n = 0; n < p.segments.size(); ++n) {
    const double weight = p.weight(p.segments[n]);
    for (Index t = p.segments[n].begin; t < p.segments[n].end; ++t) {
      for (Index c = 0; p.counts(t) && c < p.width; ++c) {
        d_x[as_size(t * p.width + c)] = weight * d_means[n * as_size(p.width) + as_size(c)];
      }
    }
  }
  return tensor_of(d_x, *in.x);
}

}  // namespace maskctl::attention
