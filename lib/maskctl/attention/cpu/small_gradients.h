// Gradients that need no tiles: those of rows without keys, and of sinks.
#pragma once

#include <span>

#include "maskctl/attention/cpu/heads.h"

namespace maskctl::attention {

/// Under EmptyRow::kMean, adds d_out / Tk of every empty row to the gradient of every value.
/// d_value is f32.
void add_mean_gradient(const CpuCall& call, const TensorView& lse, const Floats& d_out,
                       std::span<float> d_value);

/// d_sink = -exp(sink - lse) * (out . d_out - d_lse), summed over the rows that share the sink.
void write_sink_gradient(const CpuCall& call, const TensorView& lse, const Floats& d_out,
                         const Floats& out, const Floats& d_lse, const MutableTensorView& d_sinks);

}  // namespace maskctl::attention
