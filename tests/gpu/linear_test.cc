// Tests linear attention on the GPU: random calls against the float computation of the CPU, and
// arrays that are on the GPU already.
#include "maskctl/kernels/cuda/linear/linear.h"

#include "gpu/kernels_ran.h"
#include "kernels/linear_call.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/kernels/cuda/arrays.h"
#include "maskctl/kernels/linear/checked.h"

namespace {

using namespace linear_test;

constexpr double kTolerances[] = {2e-5, 4e-3, 3e-2};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

void compare(const LinearCall& call, double tolerance) {
  const LinearAttentionResult expected = call.forward(Backend::kCpu),
                              seen = call.forward(Backend::kCuda);
  check_close(seen.out, expected.out, tolerance, "out");
  check_close(*seen.final_state, *expected.final_state, std::max(5e-5, tolerance), "final_state");
  check_gradients(call.backward(Backend::kCuda), call.backward(Backend::kCpu), 5 * tolerance);
}

/// The norm of the difference by the norm of `expected`.
double relative_distance(const Tensor& seen, const Tensor& expected) {
  const Tensor x = astype(seen, DType::kFloat64), y = astype(expected, DType::kFloat64);
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < y.as<double>().size(); ++i) {
    const double of_y = y.as<double>()[i];
    difference += std::pow(x.as<double>()[i] - of_y, 2);
    size += of_y * of_y;
  }
  return std::sqrt(difference / size);
}

}  // namespace

TEST_CASE("gpu: the recurrence equals the CPU's under every option, forward and backward") {
  for (std::size_t n = 0; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(200);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      constexpr Index kWidest[] = {20, 64, 20, 140};
      constexpr float kStrongest[] = {-0.2f, -3, -100};
      compare(random_linear_call(static_cast<unsigned>(4000 + seed), seed % 3 == 0 ? 200 : 40,
                                 kStrongest[seed % 3], kTypes[n], kWidest[seed % 4]),
              kTolerances[n]);
    }
    gpu_test::say_ran("linear_forward, linear_backward", name(kTypes[n]), calls);
  }
}

TEST_CASE("gpu: the recurrence in chunks and in one step equals the CPU's") {
  for (const std::size_t n : {1, 2}) {
    const int calls = gpu_test::calls(120);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      constexpr float kStrongest[] = {-0.02f, -3, -100};
      compare(random_linear_call(static_cast<unsigned>(8000 + seed), seed % 5 == 0 ? 1 : 300,
                                 kStrongest[seed % 3], kTypes[n], seed % 4 == 0 ? 128 : 64, 8),
              kTolerances[n]);
    }
    gpu_test::say_ran("linear_forward, linear_backward, in chunks", name(kTypes[n]), calls);
  }
}

TEST_CASE("gpu: gradients of gates in chunks have little error beyond their own rounding",
          "[values]") {
  // Most of what the forward walk adds to a gate's gradient, the backward walk takes away. The
  // second sequence is longer than an interval of 512 tokens, after which a state is kept.
  const std::vector<Index> rows{1, 1000, 2, 64}, heads{1, 1000, 2};
  Tensor starts(DType::kInt32, {3});
  std::ranges::copy(std::array{0, 300, 1000}, starts.as<std::int32_t>().begin());
  struct Gates {
    const char* what;
    std::optional<Tensor> LinearCall::*given;
    std::optional<Tensor> LinearAttentionGradients::*gradient;
    const std::vector<Index>& shape;
  };
  for (const Gates& gates :
       {Gates{"key channels", &LinearCall::g, &LinearAttentionGradients::g, rows},
        Gates{"value channels", &LinearCall::gv, &LinearAttentionGradients::gv, rows},
        Gates{"heads", &LinearCall::g, &LinearAttentionGradients::g, heads}}) {
    for (const float low : {-0.02f, -3.0f}) {
      INFO("gates of " << gates.what << ", log decays from " << low);
      RandomTensors r(100);
      LinearCall call;
      call.cu_seqlens = starts;
      for (Tensor* const array : {&call.query, &call.key, &call.value, &call.d_out}) {
        *array = r.normal(rows, DType::kBFloat16);
      }
      call.*gates.given = astype(r.uniform(gates.shape, low, 0), DType::kBFloat16);
      // Each side alone is off by 1.7e-3, the rounding to bfloat16; most elements are equal.
      CHECK(relative_distance(*(call.backward(Backend::kCuda).*gates.gradient),
                              *(call.backward(Backend::kCpu).*gates.gradient)) < 8e-4);
    }
  }
}

TEST_CASE("gpu: NaN in a token reaches only later outputs of the recurrence") {
  enum class Gates { kOfHeads, kOfKeys, kOfValues };
  constexpr Index kTokens = 150, kBad = 90, kChannels = 16;
  for (const bool reverse : {false, true}) {
    for (int which = 0; which < 3; ++which) {
      for (const Gates gates : {Gates::kOfHeads, Gates::kOfKeys, Gates::kOfValues}) {
        INFO("reverse " << reverse << ", array " << which << ", gates " << static_cast<int>(gates));
        RandomTensors r(77);
        const std::vector<Index> shape{1, kTokens, 1, kChannels};
        std::array arrays{r.normal(shape), r.normal(shape), r.normal(shape)};
        LinearCall call;
        const auto out_of = [&] {
          Tensor* const rounded[] = {&call.query, &call.key, &call.value};
          for (std::size_t n = 0; n < 3; ++n) *rounded[n] = astype(arrays[n], DType::kBFloat16);
          return astype(call.forward(Backend::kCuda).out, DType::kFloat32);
        };
        if (gates == Gates::kOfHeads) call.g_gamma = r.uniform({1}, -0.1f, 0);
        if (gates == Gates::kOfKeys) call.gk = r.uniform(shape, -0.1f, 0);
        if (gates == Gates::kOfValues) call.gv = r.uniform(shape, -0.1f, 0);
        call.options.reverse = reverse;
        const Tensor expected = out_of();
        arrays[as_size(which)].as<float>()[kBad * kChannels + 3] = std::nanf("");
        const Tensor seen = out_of();
        for (Index t = 0; t < kTokens; ++t) {
          const bool sees = which == 0 ? t == kBad : reverse ? t <= kBad : t >= kBad;
          for (Index y = 0; y < kChannels; ++y) {
            const std::size_t i = as_size(t * kChannels + y);
            const float x = seen.as<float>()[i];
            INFO("token " << t << ", channel " << y);
            if (sees && (which < 2 || y == 3)) {
              REQUIRE(std::isnan(x));
            } else {
              REQUIRE(x == expected.as<float>()[i]);
            }
          }
        }
      }
    }
  }
}

TEST_CASE("gpu: the recurrence and its gradients have the same bits in every run", "[big]") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const LinearCall call = seed % 2 == 0
                                ? random_linear_call(seed, 200, -0.2f)
                                : random_linear_call(seed, 200, -0.2f, DType::kBFloat16, 64, 8);
    const Tensor once = call.forward(Backend::kCuda).out;
    CHECK(std::ranges::equal(call.forward(Backend::kCuda).out.bytes(), once.bytes()));
    check_gradients(call.backward(Backend::kCuda), call.backward(Backend::kCuda), 0);
  }
  gpu_test::say_ran("linear_forward, linear_backward, twice", "float32", 6);
}

TEST_CASE("gpu: a plan and a workspace serve several passes of the recurrence", "[big]") {
  for (unsigned seed = 20; seed < 24; ++seed) {
    INFO("seed " << seed);
    const LinearCall call = random_linear_call(seed, 200, -0.2f);
    const LinearAttentionGradients expected = call.backward(Backend::kCuda);
    LinearAttentionGradients seen = expected;
    for (Tensor* const array : {&seen.query, &seen.key, &seen.value}) {
      std::ranges::fill(array->bytes(), std::byte{0});
    }
    cuda::HostCall host_call;
    const LinearProblem problem = checked_linear(call.inputs(), call.options);
    const cuda::LinearPlan plan(problem, host_call.stream());
    const LinearProblem there = cuda::to_device(host_call, problem);
    const auto in = cuda::to_device(
        host_call,
        LinearBackwardInputs{call.d_out, view_of(call.d_final ? &*call.d_final : nullptr)});
    const auto out = cuda::to_device(
        host_call, LinearGradientOutputs{seen.query, seen.key, seen.value, view_of(seen.g),
                                         view_of(seen.g_gamma), view_of(seen.gk), view_of(seen.gv),
                                         view_of(seen.initial_state)});
    for (int n = 0; n < 3; ++n) cuda::linear_backward(host_call.workspace(), there, plan, in, out);
    host_call.finish();
    check_gradients(seen, expected, 0);
  }
  gpu_test::say_ran("linear_backward from the device door", "float32", 12);
}
