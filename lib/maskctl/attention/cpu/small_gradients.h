// The gradients that need no tiles: of empty rows, sinks and the bias array.
#pragma once

#include <vector>

#include "maskctl/attention/cpu/heads.h"

namespace maskctl::attention {

/// Under EmptyRow::kMean every value gets its share of d_out of empty rows.
void add_mean_gradient(const CpuCall& call, const SoftmaxResult& forward, const Floats& d_out,
                       Tensor& d_value);

/// -exp(sink - lse) * (out . d_out - d_lse), summed over what shares the sink.
Tensor sink_gradient(const CpuCall& call, const SoftmaxResult& forward, const Floats& d_out,
                     const Floats& out, const Floats& d_lse, const Tensor& sinks);

/// The sums in the dtype and shape of the bias.
Tensor bias_gradient(const Tensor& bias, const std::vector<float>& sums);

}  // namespace maskctl::attention
