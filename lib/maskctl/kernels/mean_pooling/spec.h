// Registers mean_pooling: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/calls/fields.h"
#include "maskctl/kernels/mean_pooling/mean_pooling.h"

namespace maskctl::attention {

inline constexpr std::string_view kPoolingWords[] = {"per_sequence", "per_chunk"};

inline constexpr ResultField kPoolingOutputs[] = {
    whole_result("out", "B|B T|B T C|B T C D|B T C D E")};

inline constexpr ResultField kPoolingGradients[] = {whole_result("x")};

struct MeanPoolingOp : FunctionOp<mean_pooling, mean_pooling_backward> {
  static std::string_view x_axes(const void* call) {
    const Inputs& in = static_cast<const Call*>(call)->in;
    return in.cu_seqlens ? "T|T C|T C D|T C D E" : "B T C|B T|B T C D|B T C D E";
  }

  static constexpr std::array kFields = {
      with_alias("hidden_states",
                 array_by<x_axes, Call, &Inputs::x>("x", "B T C", kRequired | kByRows)),
      array<Call, &Inputs::cu_seqlens>("cu_seqlens", "N+1", kIntegers),
      array<Call, &Inputs::attention_mask>("attention_mask", "B T", kIntegers),
      choice<Call, &Options::mode>("mode", kPoolingWords, "per_sequence (default), per_chunk"),
      needing("mode", option<Call, &Options::chunk_size>("chunk_size", "tokens of a chunk; 32")),
  };

  static constexpr Operation kRow = {
      .name = "mean_pooling",
      .summary = "means over tokens of sequences or chunks",
      .outputs = kPoolingOutputs,
      .gradients = kPoolingGradients,
      .splittable = "B",
      .least_specs = 1,
  };
};

}  // namespace maskctl::attention
