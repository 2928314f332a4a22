// Launches of the small kernels of latent attention. A row is a head of a token.
#pragma once

#include "maskctl/attention/cuda/device.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention::cuda {

/// Makes wide [B,T,H,X+P]: each head of `heads` [B,T,H,X] followed by its token's row of `shared`
/// [B,T,P].
void append_shared(const TensorView& heads, const TensorView& shared, const MutableTensorView& wide,
                   Stream stream);
/// Splits `wide`, the gradient of what append_shared() makes. The gradient of `heads` is the first
/// X columns; the gradient of `shared` is the sum of the other columns over all heads.
void split_shared(const TensorView& wide, const MutableTensorView& heads,
                  const MutableTensorView& shared, Stream stream);

/// Copies latent [B,T,R], with zeros for tokens whose rows of d_key and d_value, [B,T,..], are all
/// 0. No gradient depends on these tokens, but 0 times an infinite element would be NaN.
void take_seen(const TensorView& latent, const TensorView& d_key, const TensorView& d_value,
               const MutableTensorView& to, Stream stream);

/// sum = a + b, for contiguous arrays of one shape and dtype.
void add(const TensorView& a, const TensorView& b, const MutableTensorView& sum, Stream stream);

}  // namespace maskctl::attention::cuda
