// The short convolution: checks the call, allocates the results and runs the kernels.
#include "maskctl/kernels/short_convolution/short_convolution.h"

#include <fmt/format.h>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/kernels/problems/convolution_problem.h"
#include "maskctl/kernels/problems/table.h"

namespace maskctl::attention {
namespace {

ConvolutionProblem checked_convolution(const ShortConvolutionInputs& in,
                                       const ShortConvolutionOptions& options) {
  check_rank("x", in.x, 3);
  check_rank("weight", in.weight, 2);
  check_dtypes({{"x", in.x}});
  ConvolutionDims d;
  d.batch = in.x->extent(0), d.tokens = in.x->extent(1), d.channels = in.x->extent(2);
  d.width = in.weight->extent(1);
  check_floats("weight", in.weight, {d.channels, d.width});
  if (d.width == 0) refuse_shape("weight has no taps, expected at least 1");
  check_floats("bias", in.bias, {d.channels});
  d.sequences = sequences_in(in.cu_seqlens, d.batch, d.tokens);
  check_floats("initial_state", in.initial_state, d.state_shape());
  d.silu = options.activation == Activation::kSilu;
  return {{*in.x, *in.weight, view_of(in.bias), view_of(in.initial_state)}, std::move(d)};
}

}  // namespace

ShortConvolutionResult short_convolution(const ShortConvolutionInputs& inputs,
                                         const ShortConvolutionOptions& options) {
  const ConvolutionProblem problem = checked_convolution(inputs, options);
  ShortConvolutionResult result{Tensor::unwritten(problem.x.dtype(), problem.d.out_shape()),
                                Tensor::unwritten(DType::kFloat32, problem.d.state_shape())};
  run_kernel(options.context, "convolution_forward", &MasklessKernels::convolution_forward, problem,
             {result.out, *result.final_state});
  if (!options.return_state) result.final_state.reset();
  return result;
}

ShortConvolutionGradients short_convolution_backward(const ShortConvolutionInputs& inputs,
                                                     const Tensor& d_out,
                                                     const ShortConvolutionOptions& options,
                                                     const Tensor* d_final_state) {
  const ConvolutionProblem problem = checked_convolution(inputs, options);
  check_shape("d_out", d_out, problem.d.out_shape());
  if (d_final_state) check_shape("d_final_state", *d_final_state, problem.d.state_shape());
  ShortConvolutionGradients gradients =
      map_convolution_arrays(problem, [](const auto& array) { return unwritten_like(array); });
  run_kernel(options.context, "convolution_backward", &MasklessKernels::convolution_backward,
             problem, {d_out, view_of(d_final_state)},
             map_convolution_arrays(gradients, [](auto& array) { return view_of(array); }));
  return gradients;
}

}  // namespace maskctl::attention
