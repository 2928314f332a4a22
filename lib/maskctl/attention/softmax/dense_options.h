// The options of the dense operations.
#pragma once

#include "maskctl/attention/problems/softmax_options.h"
#include "maskctl/attention/softmax/mask_arguments.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::attention {

/// Options that dense operations have in addition to query, key and value. Logits are cap(scale *
/// q.k + bias), or cap(scale * q.k) + bias where the operation says so.
struct DenseOptions {
  const Tensor* bias = nullptr;         // [B or 1, Hq or 1, Tq or 1, Tk or 1]
  const Tensor* softmax_aux = nullptr;  // sinks: [n], or [Hq, n] or [Hkv, n]
  MaskArguments mask;
  SoftmaxOptions softmax;
};

}  // namespace maskctl::attention
