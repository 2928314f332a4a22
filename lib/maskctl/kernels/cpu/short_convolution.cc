// The short convolution on the CPU: blocks of channels, tap by tap, in f32.
#include <algorithm>
#include <array>
#include <vector>

#include "maskctl/attention/arrays/floats.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/kernels/cpu/kernels.h"

namespace maskctl::attention {
namespace {

/// Channels of a task. Their sums stay in registers or the L1 cache.
constexpr Index kChannels = 64;
using Channels = std::array<float, kChannels>;

struct ConvolutionCpuCall : ConvolutionArrays<Floats, Floats> {
  explicit ConvolutionCpuCall(const ConvolutionProblem& p)
      : ConvolutionArrays(
            map_convolution_arrays(p, [](const auto& array) { return Floats(array); })),
        d(p.d) {}

  Index blocks() const { return ceil_div(d.channels, kChannels); }
  const ConvolutionDims& d;
};

/// Some channels of one sequence. Inputs are numbered within the sequence: 0 is its first token,
/// and -1 the last number of its state.
class ConvolutionPart {
 public:
  ConvolutionPart(const ConvolutionCpuCall& call, Index sequence, Index block)
      : call_(call),
        d_(call.d),
        sequence_(d_.sequences[as_size(sequence)]),
        first_(block * kChannels),
        count_(std::min(kChannels, d_.channels - first_)),
        state_first_((sequence * d_.channels + first_) * d_.past()),
        weight_(as_size(d_.width * kChannels)),
        state_(as_size(d_.past() * kChannels)) {
    for (Index c = 0; c < count_; ++c) {
      const float* const taps = call.weight.data() + (first_ + c) * d_.width;
      for (Index w = 0; w < d_.width; ++w) weight_[as_size(w * kChannels + c)] = taps[w];
      if (call.bias) bias_[as_size(c)] = call.bias.data()[first_ + c];
      for (Index p = 0; call.initial_state && p < d_.past(); ++p) {
        state_[as_size(p * kChannels + c)] =
            call.initial_state.data()[state_first_ + c * d_.past() + p];
      }
    }
  }

  Index tokens() const { return sequence_.tokens.size(); }
  Index channels() const { return count_; }
  Index first_channel() const { return first_; }
  /// The offset of the row of a token in an array [B,T,C].
  Index row(Index step) const { return (d_.first_token(sequence_) + step) * d_.channels + first_; }
  /// The offset of channel c of input `step`, which precedes the first token or is one of the last,
  /// in an array of states [N,C,past]. `last`: of final states.
  Index state_at(Index step, Index c, bool last) const {
    return state_first_ + c * d_.past() + d_.past() + step - (last ? tokens() : 0);
  }

  const float* input(Index step) const {
    return step >= 0 ? call_.x.data() + row(step)
                     : state_.data() + as_size((d_.past() + step) * kChannels);
  }
  const float* tap(Index w) const { return weight_.data() + as_size(w * kChannels); }
  /// The sums over the taps at one token, before the activation.
  void sum(Index step, Channels& sums) const {
    sums = bias_;
    for (Index w = 0; w < d_.width; ++w) {
      const float *const taps = tap(w), *const inputs = input(step - d_.past() + w);
      for (Index c = 0; c < count_; ++c) sums[as_size(c)] += taps[c] * inputs[c];
    }
  }

 private:
  const ConvolutionCpuCall& call_;
  const ConvolutionDims& d_;
  const TokenSequence& sequence_;
  Index first_, count_, state_first_;
  std::vector<float> weight_, state_;  // [width,kChannels] and [past,kChannels]
  Channels bias_{};
};

void forward_part(const ConvolutionPart& part, bool uses_silu, float* out) {
  const StopPoll poll;
  Channels sums;
  for (Index step = 0; step < part.tokens(); ++step) {
    poll();
    part.sum(step, sums);
    float* const row = out + part.row(step);
    for (Index c = 0; c < part.channels(); ++c) {
      row[c] = uses_silu ? silu(sums[as_size(c)]) : sums[as_size(c)];
    }
  }
}

void store_last_inputs(const ConvolutionPart& part, Index past, float* final_state) {
  for (Index step = part.tokens() - past; step < part.tokens(); ++step) {
    const float* const inputs = part.input(step);
    for (Index c = 0; c < part.channels(); ++c) {
      final_state[part.state_at(step, c, true)] = inputs[c];
    }
  }
}

/// Gradients in f32; those of weight and bias are summed in float64. initial_state is null where it
/// is not given.
struct ConvolutionSums {
  float *x, *initial_state;
  std::vector<double> weight, bias;  // [C,width] and [C]
};

class ConvolutionBackward {
 public:
  ConvolutionBackward(const ConvolutionCpuCall& call, const float* d_out, const float* d_last,
                      ConvolutionSums& sums)
      : d_(call.d), d_out_(d_out), d_last_(d_last), sums_(sums) {}

  void run(const ConvolutionPart& part) const {
    const StopPoll poll;
    std::vector<double> d_weight(as_size(d_.width * kChannels)), d_bias(as_size(kChannels));
    Channels d_sums;
    for (Index step = 0; step < part.tokens(); ++step) {
      poll();
      before_activation(part, step, d_sums);
      for (Index c = 0; c < part.channels(); ++c) {
        d_bias[as_size(c)] += static_cast<double>(d_sums[as_size(c)]);
      }
      for (Index w = 0; w < d_.width; ++w) {
        add_tap(part, step, w, d_sums, d_weight.data() + as_size(w * kChannels));
      }
    }
    if (d_last_) add_last(part);
    for (Index c = 0; c < part.channels(); ++c) {
      const std::size_t channel = as_size(part.first_channel() + c);
      sums_.bias[channel] += d_bias[as_size(c)];
      for (Index w = 0; w < d_.width; ++w) {
        sums_.weight[channel * as_size(d_.width) + as_size(w)] +=
            d_weight[as_size(w * kChannels + c)];
      }
    }
  }

 private:
  /// The gradient of the sums over the taps.
  void before_activation(const ConvolutionPart& part, Index step, Channels& d_sums) const {
    const float* const d_row = d_out_ + part.row(step);
    if (d_.silu) part.sum(step, d_sums);
    for (Index c = 0; c < part.channels(); ++c) {
      float& sum = d_sums[as_size(c)];
      sum = d_.silu ? silu_slope(sum) * d_row[c] : d_row[c];
    }
  }

  void add_tap(const ConvolutionPart& part, Index step, Index w, const Channels& d_sums,
               double* d_weight) const {
    const Index from = step - d_.past() + w;
    const float *const inputs = part.input(from), *const taps = part.tap(w);
    for (Index c = 0; c < part.channels(); ++c) {
      d_weight[c] += static_cast<double>(d_sums[as_size(c)] * inputs[c]);
    }
    if (from >= 0) {
      float* const row = sums_.x + part.row(from);
      for (Index c = 0; c < part.channels(); ++c) row[c] += taps[c] * d_sums[as_size(c)];
    } else if (sums_.initial_state) {
      for (Index c = 0; c < part.channels(); ++c) {
        sums_.initial_state[part.state_at(from, c, false)] += taps[c] * d_sums[as_size(c)];
      }
    }
  }

  /// Adds the gradient of the final state, whose numbers are inputs.
  void add_last(const ConvolutionPart& part) const {
    for (Index step = part.tokens() - d_.past(); step < part.tokens(); ++step) {
      for (Index c = 0; c < part.channels(); ++c) {
        const float d = d_last_[part.state_at(step, c, true)];
        if (step >= 0) {
          sums_.x[part.row(step) + c] += d;
        } else if (sums_.initial_state) {
          sums_.initial_state[part.state_at(step, c, false)] += d;
        }
      }
    }
  }

  const ConvolutionDims& d_;
  const float *d_out_, *d_last_;
  ConvolutionSums& sums_;
};

}  // namespace

void cpu::convolution_forward(const ConvolutionProblem& problem, const ConvolutionOutputs& outputs,
                              const Context&) {
  const ConvolutionCpuCall call(problem);
  const ConvolutionDims& d = call.d;
  const FloatOutput out(outputs.out);
  if (!d.covers_tokens()) out.fill(0);
  float* const final_state = outputs.final_state.as<float>().data();
  const Index blocks = call.blocks();
  parallel_for(static_cast<Index>(d.sequences.size()) * blocks, [&](Index task) {
    const ConvolutionPart part(call, task / blocks, task % blocks);
    forward_part(part, d.silu, out.data());
    store_last_inputs(part, d.past(), final_state);
  });
  out.finish();
}

void cpu::convolution_backward(const ConvolutionProblem& problem,
                               const ConvolutionBackwardInputs& inputs,
                               const ConvolutionGradientOutputs& gradients, const Context&) {
  const ConvolutionCpuCall call(problem);
  const ConvolutionDims& d = call.d;
  const Floats d_out(inputs.d_out), d_last(inputs.d_final_state);
  const FloatOutput x(gradients.x);
  std::optional<FloatOutput> initial_state;
  x.fill(0);
  if (gradients.initial_state) {
    initial_state.emplace(*gradients.initial_state);
    initial_state->fill(0);
  }
  ConvolutionSums sums{x.data(), initial_state ? initial_state->data() : nullptr,
                       std::vector<double>(as_size(d.channels * d.width)),
                       std::vector<double>(as_size(d.channels))};
  const ConvolutionBackward backward(call, d_out.data(), d_last.data(), sums);
  // One task has all sequences of its channels, so that sums over them have one order.
  parallel_for(call.blocks(), [&](Index block) {
    for (Index n = 0; n < static_cast<Index>(d.sequences.size()); ++n) {
      backward.run(ConvolutionPart(call, n, block));
    }
  });
  x.finish();
  store(sums.weight, gradients.weight);
  if (gradients.bias) store(sums.bias, *gradients.bias);
  if (initial_state) initial_state->finish();
}

}  // namespace maskctl::attention
