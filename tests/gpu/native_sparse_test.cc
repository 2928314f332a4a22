// Tests attention over listed blocks on the GPU: calls of every size of tile against the CPU, the
// same bits in every run, and arrays that are on the GPU already.
#include "maskctl/attention/operations/native_sparse/native_sparse.h"

#include <algorithm>

#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/problems/block_problem.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

constexpr double kTolerances[] = {2e-5, 4e-3, 3e-2};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

struct Call {
  Tensor query, key, value, d_out, blocks, gate;
  NativeSparseOptions options;

  NativeSparseInputs given() const { return {&query, &key, &value, nullptr, nullptr, &blocks}; }
  NativeSparseInputs chosen() const { return {&query, &key, &value, &gate}; }
  NativeSparseOptions on(Backend backend) const {
    NativeSparseOptions o = options;
    o.context.backend = backend;
    return o;
  }
};

/// Draws a call in which so many tokens list block 0 that the work for this block is divided.
Call random_call(unsigned seed, DType dtype) {
  RandomTensors r(seed);
  const Index tokens = 1 + r.below(100), kv_heads = 1 + r.below(2), group = 1 + r.below(18);
  const Index dim = r.chance(0.5) ? 64 : 1 + r.below(200);
  const Index value_dim = r.chance(0.7) ? dim : 1 + r.below(200);
  Call call;
  call.query = r.normal({1, tokens, kv_heads * group, dim}, dtype);
  call.key = r.normal({1, tokens, kv_heads, dim}, dtype);
  call.value = r.normal({1, tokens, kv_heads, value_dim}, dtype);
  call.d_out = r.normal({1, tokens, kv_heads * group, value_dim}, dtype);
  call.gate = r.uniform({1, tokens, kv_heads * group}, 0, 1);
  call.options.block_size = r.chance(0.5) ? 16 : 1 + r.below(100);
  call.options.block_counts = 1 + r.below(6);
  call.blocks = Tensor(DType::kInt32, {1, tokens, kv_heads, 1 + r.below(8)});
  for (auto& block : call.blocks.as<std::int32_t>()) {
    const Index last = ceil_div(tokens, call.options.block_size) - 1;
    block = r.chance(0.2) ? 0 : static_cast<std::int32_t>(r.below(last + 2) - 1);
  }
  return call;
}

/// Draws a call that tensor cores can compute: heads of 64 or 128 channels, blocks of 64 or 128
/// tokens.
Call random_even_call(unsigned seed, DType dtype) {
  RandomTensors r(seed);
  const Index tokens = 64 + r.below(80), group = 1 + r.below(18), dim = r.chance(0.5) ? 64 : 128;
  const Index batch = 1 + r.below(2), kv_heads = batch == 1 ? 1 + r.below(2) : 1;
  Call call;
  call.query = r.normal({batch, tokens, kv_heads * group, dim}, dtype);
  call.key = r.normal({batch, tokens, kv_heads, dim}, dtype);
  call.value = r.normal({batch, tokens, kv_heads, dim}, dtype);
  call.d_out = r.normal({batch, tokens, kv_heads * group, dim}, dtype);
  call.options.block_size = r.chance(0.7) || tokens < 128 ? 64 : 128;
  call.options.block_counts = 1 + r.below(6);
  call.blocks = Tensor(DType::kInt32, {batch, tokens, kv_heads, 1 + r.below(8)});
  for (auto& block : call.blocks.as<std::int32_t>()) {
    const Index last = ceil_div(tokens, call.options.block_size) - 1;
    block = static_cast<std::int32_t>(r.below(last + 2) - 1);
  }
  return call;
}

void check_gradients(const SoftmaxGradients& seen, const SoftmaxGradients& expected,
                     double tolerance) {
  check_close(seen.query, expected.query, tolerance, "d_query");
  check_close(seen.key, expected.key, tolerance, "d_key");
  check_close(seen.value, expected.value, tolerance, "d_value");
}

SoftmaxGradients gradients(const Call& call, const SoftmaxResult& forward, Backend backend) {
  return apply_native_sparse_attention_backward(call.given(), forward, call.d_out,
                                                call.on(backend));
}

}  // namespace

TEST_CASE("gpu: attention over listed blocks equals the CPU's, forward and backward", "[big]") {
  for (std::size_t n = 0; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(40);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      const Call call = random_call(static_cast<unsigned>(seed), kTypes[n]);
      const SoftmaxResult expected =
          apply_native_sparse_attention(call.given(), call.on(Backend::kCpu));
      const SoftmaxResult seen =
          apply_native_sparse_attention(call.given(), call.on(Backend::kCuda));
      check_close(seen.out, expected.out, kTolerances[n], "out");
      check_close(seen.lse, expected.lse, kTolerances[n], "lse");
      check_gradients(gradients(call, expected, Backend::kCuda),
                      gradients(call, expected, Backend::kCpu), 2 * kTolerances[n]);
    }
    gpu_test::say_ran("blocks_forward, blocks_backward", name(kTypes[n]), calls);
  }
}

TEST_CASE("gpu: listed blocks on tensor cores give what the CPU gives", "[tensor cores]") {
  for (std::size_t n = 1; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(40);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      Call call = random_even_call(static_cast<unsigned>(seed), kTypes[n]);
      const auto on = [&](Backend backend) {
        return apply_native_sparse_attention(call.given(), call.on(backend));
      };
      const SoftmaxResult expected = on(Backend::kCpu), seen = on(Backend::kCuda);
      check_close(seen.out, expected.out, kTolerances[n], "out");
      check_close(seen.lse, expected.lse, kTolerances[n], "lse");
      const SoftmaxGradients differentiated = gradients(call, expected, Backend::kCuda);
      check_gradients(differentiated, gradients(call, expected, Backend::kCpu), 2 * kTolerances[n]);
      if (seed % 8 == 0) {
        check_gradients(gradients(call, expected, Backend::kCuda), differentiated, 0);
      }
      // The last key of the first sequence, which no earlier token sees, becomes NaN.
      const Index tokens = call.key.extent(1);
      for (Tensor* const array : {&call.key, &call.value}) {
        const Index row = array->extent(2) * array->extent(3);
        std::fill_n(array->as<std::uint16_t>().begin() + (tokens - 1) * row, row,
                    std::uint16_t{0x7fff});
      }
      const SoftmaxResult with_nan = on(Backend::kCuda);
      const auto before = as_size((tokens - 1) * call.query.extent(2) * call.query.extent(3));
      const auto check_before = [&](const Tensor& x, const Tensor& y) {
        CHECK(std::ranges::equal(x.as<std::uint16_t>().first(before),
                                 y.as<std::uint16_t>().first(before)));
      };
      check_before(with_nan.out, seen.out);
      check_before(gradients(call, expected, Backend::kCuda).query, differentiated.query);
    }
    gpu_test::say_ran("blocks_forward, blocks_backward", name(kTypes[n]), calls,
                      cuda::hopper::unavailable().empty() ? "tensor cores" : "plain");
  }
}

TEST_CASE("gpu: the blocks that are chosen are the CPU's", "[slow]") {
  const int calls = gpu_test::calls(40);
  std::size_t others = 0, total = 0;
  for (int seed = 0; seed < calls; ++seed) {
    const Call call = random_call(static_cast<unsigned>(seed), DType::kFloat32);
    const auto expected = native_sparse_attention(call.chosen(), call.on(Backend::kCpu));
    const auto seen = native_sparse_attention(call.chosen(), call.on(Backend::kCuda));
    const auto a = seen.selected_block_indices->as<std::int32_t>();
    const auto b = expected.selected_block_indices->as<std::int32_t>();
    // Blocks whose weights differ by rounding alone may be ranked either way.
    for (std::size_t i = 0; i < a.size(); ++i, ++total) others += a[i] != b[i];
  }
  INFO(others << " of " << total << " differ");
  CHECK(others <= total / 10000);
  gpu_test::say_ran("select_blocks", "float32", calls);
}

TEST_CASE("gpu: gradients of listed blocks have the same bits in every run", "[slow]") {
  const int calls = gpu_test::calls(20);
  for (int seed = 0; seed < calls; ++seed) {
    const Call call = random_call(static_cast<unsigned>(seed), DType::kFloat32);
    const SoftmaxResult forward =
        apply_native_sparse_attention(call.given(), call.on(Backend::kCuda));
    check_gradients(gradients(call, forward, Backend::kCuda),
                    gradients(call, forward, Backend::kCuda), 0);
  }
  gpu_test::say_ran("blocks_backward, twice", "float32", calls);
}

TEST_CASE("gpu: a plan of listed blocks serves several calls on arrays of the GPU") {
  const Call call = random_call(7, DType::kFloat32);
  const SoftmaxResult expected =
      apply_native_sparse_attention(call.given(), call.on(Backend::kCuda));
  SoftmaxResult seen{Tensor(expected.out.dtype(), expected.out.shape()),
                     Tensor(expected.lse.dtype(), expected.lse.shape())};
  cuda::HostCall host_call;
  const BlockProblem problem = checked_selected_problem(call.given(), call.options);
  const cuda::BlockPlan plan(problem, host_call.stream());
  const BlockProblem there = cuda::to_device(host_call, problem);
  const SoftmaxOutputs outputs = cuda::to_device(host_call, SoftmaxOutputs{seen.out, seen.lse});
  for (int n = 0; n < 3; ++n) cuda::blocks_forward(host_call.workspace(), there, plan, outputs);
  host_call.finish();
  check_close(seen.out, expected.out, 0, "out");
  check_close(seen.lse, expected.lse, 0, "lse");
  gpu_test::say_ran("blocks_forward from the device door", "float32", 3);
}
