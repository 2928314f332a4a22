// The gradients of rows without keys, and of sinks, which need no tiles.
#pragma once

#include <span>

#include "maskctl/attention/cpu/heads.h"

namespace maskctl::attention {

/// Under EmptyRow::kMean every value gets its share of the empty rows' d_out. d_value: f32.
void add_mean_gradient(const CpuCall& call, const TensorView& lse, const Floats& d_out,
                       std::span<float> d_value);

/// -exp(sink - lse) * (out . d_out - d_lse), summed over the rows that share the sink.
void write_sink_gradient(const CpuCall& call, const TensorView& lse, const Floats& d_out,
                         const Floats& out, const Floats& d_lse, const MutableTensorView& d_sinks);

}  // namespace maskctl::attention
