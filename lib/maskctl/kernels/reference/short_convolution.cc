// The float64 reference of the short convolution: sums over taps in plain loops.
#include <functional>
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/problems/convolution_problem.h"
#include "maskctl/kernels/reference/kernels.h"

namespace maskctl::attention {
namespace {

using ConvolutionNumbers = ConvolutionArrays<std::vector<double>, std::vector<double>>;

/// A problem with its arrays in float64. Inputs are numbered within a sequence: 0 is its first
/// token, and -1 the last number of its state.
struct ConvolutionInDouble : ConvolutionNumbers {
  explicit ConvolutionInDouble(const ConvolutionProblem& p)
      : ConvolutionNumbers(
            map_convolution_arrays(p, [](const auto& array) { return to_double(array); })),
        d(p.d) {}

  std::size_t x_at(std::size_t n, Index step, Index c) const {
    return as_size((d.first_token(d.sequences[n]) + step) * d.channels + c);
  }
  std::size_t state_at(std::size_t n, Index step, Index c) const {
    return (n * as_size(d.channels) + as_size(c)) * as_size(d.past()) + as_size(d.past() + step);
  }
  std::size_t tap_at(Index c, Index w) const { return as_size(c * d.width + w); }

  double input(std::size_t n, Index step, Index c) const {
    if (step >= 0) return x[x_at(n, step, c)];
    return initial_state.empty() ? 0 : initial_state[state_at(n, step, c)];
  }
  /// Adds to the gradient of an input.
  void add(double gradient, std::size_t n, Index step, Index c, ConvolutionNumbers& sums) const {
    if (step >= 0) {
      sums.x[x_at(n, step, c)] += gradient;
    } else if (!sums.initial_state.empty()) {
      sums.initial_state[state_at(n, step, c)] += gradient;
    }
  }
  /// The sum over the taps, before the activation.
  double sum(std::size_t n, Index step, Index c) const {
    double out = bias.empty() ? 0 : bias[as_size(c)];
    for (Index w = 0; w < d.width; ++w) {
      out += weight[tap_at(c, w)] * input(n, step - d.past() + w, c);
    }
    return out;
  }

  const ConvolutionDims& d;
};

/// Calls f(n, step, c) for each token and channel of each sequence.
void for_each_output(const ConvolutionDims& d,
                     const std::function<void(std::size_t, Index, Index)>& f) {
  for (std::size_t n = 0; n < d.sequences.size(); ++n) {
    for (Index step = 0; step < d.sequences[n].tokens.size(); ++step) {
      for (Index c = 0; c < d.channels; ++c) f(n, step, c);
    }
  }
}

/// Calls f(n, step, c, i) for each number i of the final states, which is input `step`.
void for_each_last_input(const ConvolutionDims& d,
                         const std::function<void(std::size_t, Index, Index, std::size_t)>& f) {
  std::size_t i = 0;
  for (std::size_t n = 0; n < d.sequences.size(); ++n) {
    for (Index c = 0; c < d.channels; ++c) {
      for (Index p = 0; p < d.past(); ++p) {
        f(n, d.sequences[n].tokens.size() - d.past() + p, c, i++);
      }
    }
  }
}

}  // namespace

void reference::convolution_forward(const ConvolutionProblem& problem,
                                    const ConvolutionOutputs& outputs, const Context&) {
  const ConvolutionInDouble c(problem);
  std::vector<double> out(c.x.size()), last(as_size(outputs.final_state.elements()));
  for_each_output(c.d, [&](std::size_t n, Index step, Index channel) {
    const double z = c.sum(n, step, channel);
    out[c.x_at(n, step, channel)] = c.d.silu ? silu(z) : z;
  });
  for_each_last_input(c.d, [&](std::size_t n, Index step, Index channel, std::size_t i) {
    last[i] = c.input(n, step, channel);
  });
  store(out, outputs.out);
  store(last, outputs.final_state);
}

void reference::convolution_backward(const ConvolutionProblem& problem,
                                     const ConvolutionBackwardInputs& inputs,
                                     const ConvolutionGradientOutputs& gradients, const Context&) {
  const ConvolutionInDouble c(problem);
  const std::vector<double> d_out = to_double(inputs.d_out);
  const std::vector<double> d_last = to_double(inputs.d_final_state);
  ConvolutionNumbers sums =
      map_convolution_arrays(c, [](const auto& x) { return std::vector<double>(x.size()); });
  for_each_output(c.d, [&](std::size_t n, Index step, Index channel) {
    const double slope = c.d.silu ? silu_slope(c.sum(n, step, channel)) : 1;
    const double d_sum = slope * d_out[c.x_at(n, step, channel)];
    if (!sums.bias.empty()) sums.bias[as_size(channel)] += d_sum;
    for (Index w = 0; w < c.d.width; ++w) {
      const Index from = step - c.d.past() + w;
      sums.weight[c.tap_at(channel, w)] += d_sum * c.input(n, from, channel);
      c.add(d_sum * c.weight[c.tap_at(channel, w)], n, from, channel, sums);
    }
  });
  if (!d_last.empty()) {
    for_each_last_input(c.d, [&](std::size_t n, Index step, Index channel, std::size_t i) {
      c.add(d_last[i], n, step, channel, sums);
    });
  }
  store(sums.x, gradients.x);
  store(sums.weight, gradients.weight);
  if (gradients.bias) store(sums.bias, *gradients.bias);
  if (gradients.initial_state) store(sums.initial_state, *gradients.initial_state);
}

}  // namespace maskctl::attention
