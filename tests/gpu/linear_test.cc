// The linear family on the GPU: random calls against the CPU's float path, and arrays that are on
// the GPU already.
#include "maskctl/attention/cuda/linear/linear.h"

#include "attention/linear_call.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/arrays/outputs.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/operations/linear/checked.h"

namespace {

using namespace linear_test;

constexpr double kTolerances[] = {2e-5, 4e-3, 3e-2};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

void compare(const LinearCall& call, double tolerance) {
  const LinearAttentionResult expected = call.forward(Backend::kCpu),
                              seen = call.forward(Backend::kCuda);
  check_close(seen.out, expected.out, tolerance, "out");
  check_close(*seen.final_state, *expected.final_state, 5e-5, "final_state");
  check_gradients(call.backward(Backend::kCuda), call.backward(Backend::kCpu), 5 * tolerance);
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

TEST_CASE("gpu: the recurrence and its gradients have the same bits in every run", "[big]") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const LinearCall call = random_linear_call(seed, 200, -0.2f);
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
