// Registers short_convolution: its fields, outputs and gradients.
#pragma once

#include "maskctl/attention/calls/fields.h"
#include "maskctl/kernels/short_convolution/short_convolution.h"

namespace maskctl::attention {

inline constexpr std::string_view kActivationWords[] = {"none", "silu"};

inline constexpr ResultField kConvolutionOutputs[] = {
    result<&ShortConvolutionResult::out>("out", "B T C"),
    result<&ShortConvolutionResult::final_state>("final_state", "B C past"),
};
inline constexpr ResultField kConvolutionGradients[] = {
    result<&ShortConvolutionGradients::x>("x"),
    result<&ShortConvolutionGradients::weight>("weight"),
    result<&ShortConvolutionGradients::bias>("bias"),
    result<&ShortConvolutionGradients::initial_state>("initial_state"),
};

struct ShortConvolutionOp : FunctionOp<short_convolution, short_convolution_backward> {
  static constexpr std::array kFields = {
      array<Call, &Inputs::x>("x", "B T C", kRequired | kByRows),
      array<Call, &Inputs::weight>("weight", "C W", kRequired),
      array<Call, &Inputs::bias>("bias", "C"),
      array<Call, &Inputs::initial_state>("initial_state", "B C past"),
      array<Call, &Inputs::cu_seqlens>("cu_seqlens", "N+1", kIntegers),
      choice<Call, &Options::activation>("activation", kActivationWords, "none (default), silu"),
      option<Call, &Options::return_state>("return_state", "true, false (default)"),
  };

  static constexpr Operation kRow = {
      .name = "short_convolution",
      .summary = "causal convolution of each channel over a few tokens",
      .outputs = kConvolutionOutputs,
      .gradients = kConvolutionGradients,
      .cotangents = "out final_state",
      .over_borders = "the convolution reaches over",
      .on_gpu = false,
      .splittable = "B C",
      .least_specs = 2,
  };
};

}  // namespace maskctl::attention
