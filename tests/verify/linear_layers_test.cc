// verify names what delta rules and short convolutions did with borders, states and other
// arguments; results come from plain loops in float64.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/verify/verdict.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace maskctl::attention {
namespace {

using test::i32;

constexpr Index kLength = 20;
const std::vector<std::int32_t> kEnds = {0, 6, 7, 20};

double at(const Tensor& array, Index n) { return array.as<float>()[as_size(n)]; }

/// The sequence of a token, where each border lies `late` tokens after its place.
Index sequence_of(Index token, Index late = 0) {
  Index sequence = 0;
  while (sequence < 2 && kEnds[as_size(sequence + 1)] + late <= token) ++sequence;
  return sequence;
}

std::string verdict(const char* operation, const std::map<std::string, Tensor>& arrays,
                    const std::map<std::string, std::string>& options, const Tensor& out) {
  JudgedCall call;
  call.request.operation = find_operation(operation);
  call.request.arguments.arrays = arrays;
  call.request.arguments.arrays["cu_seqlens"] = i32(kEnds);
  call.request.arguments.options = options;
  return judge_results(call, {{"out", out}}).judgement.text;
}

void check_says(const std::string& text, const char* words) {
  INFO(text);
  CHECK(text.find(words) != text.npos);
}

/// What a kernel of the delta rule may do otherwise.
struct DeltaFault {
  bool resets = true, begins = true, decays = true, unit = false;
  Index late = 0;
  enum { kAsGiven, kOne, kSigmoid } beta = kAsGiven;
};

/// A delta rule of packed sequences, of two heads.
struct DeltaLayer {
  static constexpr Index kHeads = 2, kKeys = 4, kValues = 3;
  std::map<std::string, Tensor> arrays = {
      {"query", random_normal({1, kLength, kHeads, kKeys}, 1)},
      {"key", random_normal({1, kLength, kHeads, kKeys}, 2)},
      {"value", random_normal({1, kLength, kHeads, kValues}, 3)},
      {"beta", random_normal({1, kLength, kHeads}, 4)},
      {"g", random_normal({1, kLength, kHeads}, 5)},
      {"initial_state", random_normal({3, kHeads, kKeys, kValues}, 6)}};

  DeltaLayer() {
    for (float& x : arrays["key"].as<float>()) x *= 0.4F;
    for (float& x : arrays["beta"].as<float>()) x = 1 / (1 + std::exp(-x));
    for (float& x : arrays["g"].as<float>()) x = -std::abs(x) / 4;
  }

  double length(const char* name, Index t, Index h) const {
    double squared = 0;
    for (Index x = 0; x < kKeys; ++x) {
      squared += std::pow(at(arrays.at(name), (t * kHeads + h) * kKeys + x), 2);
    }
    return std::sqrt(squared);
  }

  Tensor out(const DeltaFault& fault) const {
    Tensor out(DType::kFloat32, {1, kLength, kHeads, kValues});
    for (Index h = 0; h < kHeads; ++h) {
      std::vector<double> state(kKeys * kValues);
      for (Index t = 0; t < kLength; ++t) {
        const Index sequence = sequence_of(t, fault.late);
        const bool begins = t == 0 || sequence != sequence_of(t - 1, fault.late);
        const Index number = t * kHeads + h;
        const double q_by = fault.unit ? 1 / length("query", t, h) : 1;
        const double k_by = fault.unit ? 1 / length("key", t, h) : 1;
        const auto k = [&](Index x) { return k_by * at(arrays.at("key"), number * kKeys + x); };
        double beta = at(arrays.at("beta"), number);
        if (fault.beta == DeltaFault::kOne) beta = 1;
        if (fault.beta == DeltaFault::kSigmoid) beta = 1 / (1 + std::exp(-beta));
        const double decay = fault.decays ? std::exp(at(arrays.at("g"), number)) : 1;
        for (Index y = 0; y < kValues; ++y) {
          double held = 0, read = 0;
          for (Index x = 0; x < kKeys; ++x) {
            double& cell = state[as_size(x * kValues + y)];
            if (t == 0 || (fault.resets && begins)) {
              const Index from = (sequence * kHeads + h) * kKeys * kValues;
              cell = fault.begins ? at(arrays.at("initial_state"), from + x * kValues + y) : 0;
            }
            cell *= decay;
            held += cell * k(x);
          }
          const double lack = at(arrays.at("value"), number * kValues + y) - held;
          for (Index x = 0; x < kKeys; ++x) {
            double& cell = state[as_size(x * kValues + y)];
            cell += beta * lack * k(x);
            read += cell * q_by * at(arrays.at("query"), number * kKeys + x);
          }
          out.as<float>()[as_size(number * kValues + y)] =
              static_cast<float>(read / std::sqrt(double{kKeys}));
        }
      }
    }
    return out;
  }
};

TEST_CASE("verify names what a gated delta rule did otherwise", "[verify]") {
  const DeltaLayer layer;
  const auto says = [&](const DeltaFault& fault, const char* words) {
    check_says(verdict("gated_delta_rule", layer.arrays, {}, layer.out(fault)), words);
  };
  says({}, "no other mask was tried; single cells were not told apart");
  says({.resets = false}, "without cu_seqlens: borders ignored, the state not reset");
  says({.late = 1}, "borders of cu_seqlens a token late");
  says({.late = -1}, "borders of cu_seqlens a token early");
  says({.begins = false}, "without initial_state: each sequence from a state of 0");
  says({.decays = false}, "without g: its decay not applied");
  says({.unit = true}, "key and query divided by their lengths");
  says({.beta = DeltaFault::kOne}, "without beta: each value written in full");
  says({.beta = DeltaFault::kSigmoid}, "beta after another sigmoid");
}

/// What a kernel of the convolution may do otherwise.
struct ConvolutionFault {
  bool resets = true, begins = true, silu = false, reversed = false, bias = true;
  Index late = 0;
};

/// A short convolution of packed sequences.
struct ConvolutionLayer {
  static constexpr Index kChannels = 5, kTaps = 4;
  std::map<std::string, Tensor> arrays = {
      {"x", random_normal({1, kLength, kChannels}, 1)},
      {"weight", random_normal({kChannels, kTaps}, 2)},
      {"bias", random_normal({kChannels}, 3)},
      {"initial_state", random_normal({3, kChannels, kTaps - 1}, 4)}};

  Tensor out(const ConvolutionFault& fault) const {
    Tensor out(DType::kFloat32, {1, kLength, kChannels});
    for (Index t = 0; t < kLength; ++t) {
      const Index sequence = fault.resets ? sequence_of(t, fault.late) : 0;
      const Index first = sequence == 0 ? 0 : kEnds[as_size(sequence)] + fault.late;
      for (Index c = 0; c < kChannels; ++c) {
        double z = fault.bias ? at(arrays.at("bias"), c) : 0;
        for (Index back = 0; back < kTaps; ++back) {
          const Index tap = fault.reversed ? back : kTaps - 1 - back, from = t - back;
          const Index state = (sequence * kChannels + c) * (kTaps - 1) + kTaps - 1 + from - first;
          const double input = from >= first  ? at(arrays.at("x"), from * kChannels + c)
                               : fault.begins ? at(arrays.at("initial_state"), state)
                                              : 0;
          z += at(arrays.at("weight"), c * kTaps + tap) * input;
        }
        out.as<float>()[as_size(t * kChannels + c)] =
            static_cast<float>(fault.silu ? z / (1 + std::exp(-z)) : z);
      }
    }
    return out;
  }
};

TEST_CASE("verify names what a short convolution did otherwise", "[verify]") {
  const ConvolutionLayer layer;
  const auto says = [&](const ConvolutionFault& fault, const char* words,
                        const char* activation = "none") {
    check_says(
        verdict("short_convolution", layer.arrays, {{"activation", activation}}, layer.out(fault)),
        words);
  };
  says({}, "no other mask was tried");
  says({.silu = true}, "no other mask was tried", "silu");
  says({.resets = false}, "without cu_seqlens: borders ignored, the convolution reaches over");
  says({.resets = false, .silu = true},
       "without cu_seqlens: borders ignored, the convolution reaches over", "silu");
  says({.late = 1}, "borders of cu_seqlens a token late");
  says({.begins = false}, "without initial_state: each sequence from a state of 0");
  says({.silu = true}, "silu applied to the output");
  says({}, "without activation: silu not applied", "silu");
  says({.reversed = true}, "the taps of weight in reverse order");
  says({.bias = false}, "without bias");
}

}  // namespace
}  // namespace maskctl::attention
