#include "maskctl/attention/softmax/run.h"

#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/base/error.h"

namespace maskctl::attention {

SoftmaxResult softmax_forward(const SoftmaxProblem& problem, const Context& context) {
  SoftmaxResult result = unwritten_result(problem.d, problem.query.dtype());
  run_kernel(context, "softmax_forward", &Kernels::softmax_forward, problem,
             {result.out, result.lse});
  return result;
}

Tensor softmax_weights(const SoftmaxProblem& problem, const Context& context) {
  const Dims& d = problem.d;
  Tensor weights = Tensor::unwritten(DType::kFloat32, {d.batch, d.q_heads, d.queries, d.keys});
  run_kernel(context, "softmax_weights", &Kernels::softmax_weights, problem, weights);
  return weights;
}

SoftmaxGradients softmax_backward(const SoftmaxProblem& problem, const SoftmaxResult& forward,
                                  const Tensor& d_out, const Tensor* d_lse,
                                  const Context& context) {
  if (!problem.options.normalize) {
    throw Error(Errc::kUnsupported, "an output that is not normalised has no gradients here");
  }
  check_backward(problem.d, forward, d_out, d_lse);
  SoftmaxGradients gradients{unwritten_like(problem.query), unwritten_like(problem.key),
                             unwritten_like(problem.value), unwritten_like(problem.bias),
                             unwritten_like(problem.sinks)};
  run_kernel(context, "softmax_backward", &Kernels::softmax_backward, problem,
             {forward.out, forward.lse, d_out, view_of(d_lse)},
             {gradients.query, gradients.key, gradients.value, view_of(gradients.bias),
              view_of(gradients.sinks)});
  return gradients;
}

}  // namespace maskctl::attention
