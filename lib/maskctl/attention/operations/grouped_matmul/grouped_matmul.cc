// The grouped product: checks a call, makes room for its results and runs its kernels.
#include "maskctl/attention/operations/grouped_matmul/grouped_matmul.h"

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/backends.h"

namespace maskctl::attention {

Tensor grouped_matmul(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options) {
  const Context context{options.backend};
  const GroupedProblem problem = checked_grouped(in, options);
  Tensor out =
      Tensor::unwritten(result_dtype(in, options), {problem.groups.rows, problem.groups.columns});
  run_kernel(context, "grouped_forward", &Kernels::grouped_forward, problem, out);
  return out;
}

GroupedMatmulGradients grouped_matmul_backward(const GroupedMatmulInputs& in, const Tensor& d_out,
                                               const GroupedMatmulOptions& options) {
  const Context context{options.backend};
  const GroupedProblem problem = checked_grouped(in, options);
  check_shape("d_out", d_out, std::vector<Index>{problem.groups.rows, problem.groups.columns});
  GroupedMatmulGradients gradients{unwritten_like(problem.lhs), unwritten_like(problem.rhs),
                                   unwritten_like(problem.existing_out)};
  run_kernel(context, "grouped_backward", &Kernels::grouped_backward, problem, d_out,
             {gradients.lhs, gradients.rhs});
  if (gradients.existing_out) {
    // What d_out is to a product of nothing: all of it, or the rows that no matrix wrote.
    start_product(problem.groups, d_out, options.existing_out_mode, *gradients.existing_out);
  }
  return gradients;
}

}  // namespace maskctl::attention
