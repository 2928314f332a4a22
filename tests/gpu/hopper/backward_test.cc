// Compares gradients on the tensor cores of Hopper GPUs with the CPU, under masks for which the
// work is divided into blocks in unusual ways.
#include "attention/softmax_call.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/attention/softmax/checked.h"
#include "support/rounds.h"

namespace {

using namespace maskctl::attention_test;

constexpr double kTolerance = 6e-2;

bool on_tensor_cores() { return cuda::hopper::unavailable().empty(); }

/// Self-attention over one sequence of `tokens` tokens, in which query i sees key j where open(i,
/// j).
struct OfRule {
  Index tokens, q_heads, kv_heads, dim;
  bool (*open)(Index i, Index j);
};
SoftmaxCall call_of(const OfRule& rule, unsigned seed) {
  Random r(seed);
  const auto [tokens, q_heads, kv_heads, dim, open] = rule;
  SoftmaxCall call;
  call.query = r.normal({1, tokens, q_heads, dim}, DType::kBFloat16);
  call.d_out = r.normal({1, tokens, q_heads, dim}, DType::kBFloat16);
  call.key = r.normal({1, tokens, kv_heads, dim}, DType::kBFloat16);
  call.value = r.normal({1, tokens, kv_heads, dim}, DType::kBFloat16);
  call.mask = mask_of_rule(1, 1, tokens, tokens,
                           [&](Index, Index, Index i, Index j) { return open(i, j); });
  return call;
}
/// How the plan of a call divides the work for the gradients of keys and values into blocks.
struct PlannedBlocks {
  int split_count;
  bool is_fine, is_scattered;
};
PlannedBlocks planned_blocks(const SoftmaxCall& call) {
  cuda::HostCall host_call;
  const SoftmaxProblem problem = checked_softmax(call.inputs(), call.options);
  const cuda::SoftmaxBackwardPlan plan(problem, host_call.stream());
  return {plan.key_order.split_count, plan.key_order.is_fine,
          plan.key_order.walks().steps != nullptr};
}
SoftmaxGradients gradients_of(const SoftmaxCall& call, Backend backend, bool deterministic = true) {
  SoftmaxOptions options = call.options;
  options.deterministic = deterministic;
  options.context.backend = Backend::kCpu;
  const SoftmaxResult result = softmax_forward(call.inputs(), options);
  options.context.backend = backend;
  return softmax_backward(call.inputs(), result, call.d_out, options);
}
/// Checks gradients that are summed in a fixed order, which have the same bits twice, and in any
/// order.
void check_call(const SoftmaxCall& call) {
  const SoftmaxGradients expected = gradients_of(call, Backend::kCpu);
  const SoftmaxGradients seen = gradients_of(call, Backend::kCuda);
  check_gradients(seen, expected, kTolerance);
  check_gradients(gradients_of(call, Backend::kCuda, false), expected, kTolerance);
  if (maskctl::test::kSanitized) return;  // a second run would access the same memory
  check_gradients(gradients_of(call, Backend::kCuda), seen, 0);
}

}  // namespace

TEST_CASE("gpu: gradients are right if the work of a key tile is divided among several blocks",
          "[tensor cores][big]") {
  constexpr Index kTokens = gpu_test::kEmulated ? 900 : 2000;
  constexpr bool (*kRules[])(Index, Index) = {
      [](Index i, Index j) { return j <= i && (i - j < 100 || j < 64); },
      [](Index i, Index j) { return (j <= i && i - j < 100) || (j >= 700 && j < 720); },
      [](Index i, Index j) { return j <= i && (i - j < 60 || j == 300 || j == kTokens - 1); }};
  const int calls = gpu_test::calls(41);
  for (int i = 0; i < calls; ++i) {
    const Index dim = Index{64} << i % 3, kv_heads = i / 3 % 2 == 0 ? 1 : 4;
    const std::size_t n = as_size(i / 6 % 3);
    INFO("rule " << n << ", D " << dim << ", " << kv_heads << " key heads");
    const SoftmaxCall call =
        call_of({kTokens, 4, kv_heads, dim, kRules[n]}, static_cast<unsigned>(i));
    if (on_tensor_cores()) CHECK(planned_blocks(call).split_count > 0);
    check_call(call);
  }
  gpu_test::say_ran("softmax_backward of long lists", "bfloat16", 3 * calls,
                    on_tensor_cores() ? "tensor cores" : "plain");
}

TEST_CASE("gpu: gradients are right for scattered small blocks, which get small tiles",
          "[tensor cores][big]") {
  constexpr auto kOpen = [](Index i, Index j) {
    const auto tile = static_cast<std::uint32_t>(i / 64 * 40 + j / 64);
    return (tile * 2654435761u >> 16) % 8 == 0 && (i + j) % 5 != 0;
  };
  const int calls = gpu_test::calls(21);
  for (int i = 0; i < calls; ++i) {
    const Index dim = Index{64} << i % 2, kv_heads = i / 2 % 2 == 0 ? 1 : 4;
    const bool has_places = i % 8 >= 4;
    INFO("D " << dim << ", " << kv_heads << " key heads" << (has_places ? ", soft cap" : ""));
    SoftmaxCall call = call_of({gpu_test::kEmulated ? 600 : 1500, 4, kv_heads, dim, kOpen},
                               static_cast<unsigned>(i));
    if (on_tensor_cores()) CHECK(planned_blocks(call).is_fine);
    if (has_places) call.options.soft_cap = 3;
    check_call(call);
  }
  gpu_test::say_ran("softmax_backward of small blocks", "bfloat16", 3 * calls,
                    on_tensor_cores() ? "tensor cores" : "plain");
}

TEST_CASE("gpu: gradients are right where blocks take turns at scattered tiles",
          "[tensor cores][big]") {
  constexpr Index kTokens = gpu_test::kEmulated ? 1150 : 2300;
  // Blocks of 128, so that tiles stay large; they differ by batch entry and head. Half of the
  // queries see the first keys, which several GPU blocks share.
  constexpr auto kOpen = [](Index b, Index h, Index i, Index j) {
    return (i / 128 + 3 * (j / 128) + b + h) % 4 == 0 || (j < 3 && i / 128 % 2 == 0);
  };
  const int calls = gpu_test::calls(41);
  for (int i = 0; i < calls; ++i) {
    const Index dim = Index{64} << i % 3, kv_heads = i / 3 % 2 == 0 ? 1 : 4;
    const Index mask_batch = i % 2 + 1, mask_heads = i / 2 % 2 == 0 ? 1 : 4;
    INFO("D " << dim << ", " << kv_heads << " key heads, mask of " << mask_batch << " entries and "
              << mask_heads << " heads");
    Random r(static_cast<unsigned>(i));
    SoftmaxCall call;
    call.query = r.normal({2, kTokens, 4, dim}, DType::kBFloat16);
    call.d_out = r.normal({2, kTokens, 4, dim}, DType::kBFloat16);
    call.key = r.normal({2, kTokens, kv_heads, dim}, DType::kBFloat16);
    call.value = r.normal({2, kTokens, kv_heads, dim}, DType::kBFloat16);
    call.mask = mask_of_rule(mask_batch, mask_heads, kTokens, kTokens, kOpen);
    if (on_tensor_cores()) CHECK(planned_blocks(call).is_scattered);
    check_call(call);
  }
  gpu_test::say_ran("softmax_backward of scattered tiles", "bfloat16", 3 * calls,
                    on_tensor_cores() ? "tensor cores" : "plain");
}
