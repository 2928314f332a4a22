// Checks a call and hands it to its backend.
#include "maskctl/attention/softmax/softmax.h"

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/softmax/backends.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"

namespace maskctl::attention {

Mask open_mask(Index queries, Index keys) { return Mask(full_plane(queries, keys)); }

SoftmaxResult softmax_forward(const SoftmaxInputs& inputs, const SoftmaxOptions& options) {
  const Dims dims = checked_dims(inputs, options);
  return options.backend == Backend::kReference ? reference_forward(inputs, options, dims)
                                                : cpu_forward(inputs, options, dims);
}

Tensor softmax_weights(const SoftmaxInputs& inputs, const SoftmaxOptions& options) {
  const Dims dims = checked_dims(inputs, options);
  return options.backend == Backend::kReference ? reference_weights(inputs, options, dims)
                                                : cpu_weights(inputs, options, dims);
}

SoftmaxGradients softmax_backward(const SoftmaxInputs& inputs, const SoftmaxResult& forward,
                                  const Tensor& d_out, const SoftmaxOptions& options,
                                  const Tensor* d_lse) {
  const Dims dims = checked_dims(inputs, options);
  if (!options.normalize) {
    throw Error(Errc::kUnsupported, "an output that is not normalised has no gradients here");
  }
  check_shape("d_out", d_out,
              std::vector<Index>{dims.batch, dims.queries, dims.q_heads, dims.value_dim});
  check_shape("out", forward.out, d_out.shape());
  if (d_lse) check_shape("d_lse", *d_lse, forward.lse.shape());
  return options.backend == Backend::kReference
             ? reference_backward(inputs, d_out, options, d_lse, dims)
             : cpu_backward(inputs, forward, d_out, options, d_lse, dims);
}

}  // namespace maskctl::attention
