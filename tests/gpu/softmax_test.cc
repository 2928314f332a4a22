// Tests softmax attention on the GPU: random calls against the float computation of the CPU, and
// arrays that are on the GPU already.
#include "maskctl/attention/cuda/softmax/softmax.h"

#include "attention/softmax_call.h"
#include "gpu/hopper/probes.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/softmax/hopper/forward.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/mask/planes/bands.h"
#include "support/rounds.h"

namespace {

using namespace maskctl::attention_test;

constexpr double kTolerances[] = {2e-5, 4e-3, 3e-2};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

SoftmaxOptions on(Backend backend, SoftmaxOptions options) {
  options.context.backend = backend;
  return options;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::ranges::equal(a.bytes(), b.bytes());
}

void compare(const SoftmaxCall& call, double tolerance) {
  const SoftmaxOptions cpu = on(Backend::kCpu, call.options),
                       gpu = on(Backend::kCuda, call.options);
  const Tensor* const d_lse = call.d_lse ? &*call.d_lse : nullptr;
  const SoftmaxResult expected = softmax_forward(call.inputs(), cpu);
  const SoftmaxResult seen = softmax_forward(call.inputs(), gpu);
  check_close(seen.out, expected.out, tolerance, "out");
  check_close(seen.lse, expected.lse, tolerance, "lse");
  check_close(softmax_weights(call.inputs(), gpu), softmax_weights(call.inputs(), cpu), tolerance,
              "weights");
  check_gradients(softmax_backward(call.inputs(), expected, call.d_out, gpu, d_lse),
                  softmax_backward(call.inputs(), expected, call.d_out, cpu, d_lse), 2 * tolerance);
}

/// Compares random calls of dtype kTypes[n] with the CPU; tensor cores can compute some of the head
/// sizes.
void check_every_option(std::size_t n) {
  const int calls = gpu_test::calls(200);
  for (int seed = 0; seed < calls; ++seed) {
    INFO(name(kTypes[n]) << " seed " << seed);
    constexpr Index kDims[] = {0, 64, 0, 128, 0, 200};
    compare(random_softmax_call(static_cast<unsigned>(5000 + seed), kTypes[n],
                                {kDims[as_size(seed) % std::size(kDims)]}),
            kTolerances[n]);
  }
  const bool is_plain = kTypes[n] == DType::kFloat32 || !cuda::hopper::unavailable().empty();
  gpu_test::say_ran("softmax_forward, softmax_weights, softmax_backward", name(kTypes[n]), calls,
                    is_plain ? "plain" : "plain or tensor cores");
}

}  // namespace

TEST_CASE("gpu: softmax equals the CPU's under every option, forward and backward") {
  check_every_option(0);
}

TEST_CASE("gpu: softmax of 16-bit arrays equals the CPU's under every option", "[tensor cores]") {
  check_every_option(1);
  check_every_option(2);
}

TEST_CASE("gpu: head sizes of tensor cores give the CPU's results under every option",
          "[tensor cores]") {
  constexpr CallDims kDims[] = {{64, 64},  {128, 128}, {256, 256}, {80, 96},  {192, 128},
                                {96, 192}, {8, 256},   {128, 64},  {64, 128}, {248, 16}};
  for (const std::size_t n : {1, 2}) {
    const int calls = gpu_test::calls(240);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      compare(random_softmax_call(static_cast<unsigned>(9000 + seed), kTypes[n],
                                  kDims[as_size(seed) % std::size(kDims)]),
              kTolerances[n]);
    }
    const bool is_plain = !cuda::hopper::unavailable().empty();
    gpu_test::say_ran("softmax_forward, softmax_backward", name(kTypes[n]), calls,
                      is_plain ? "plain" : "tensor cores");
  }
}

TEST_CASE("gpu: structured masks and few rows run on tensor cores", "[tensor cores][big]") {
  for (unsigned seed = 0; seed < maskctl::test::rounds(24u); ++seed) {
    SoftmaxCall call = random_softmax_call(7000 + seed, DType::kBFloat16, {64, 64});
    const Index queries = call.query.extent(1), keys = call.key.extent(1);
    INFO("seed " << seed << ": " << queries << " x " << keys);
    call.mask = Mask(diagonal_band(queries, keys, -static_cast<Index>(1 + seed), keys - queries));
    compare(call, kTolerances[2]);
  }
}

TEST_CASE("gpu: gradients have the same bits in every run", "[slow][tensor cores]") {
  constexpr CallDims kDims[] = {{64, 64}, {128, 128}, {256, 256}};
  for (unsigned seed = 0; seed < 12; ++seed) {
    SoftmaxCall call = seed % 2 == 0
                           ? random_softmax_call(seed)
                           : random_softmax_call(seed, DType::kBFloat16, kDims[seed / 2 % 3]);
    call.options.context.backend = Backend::kCuda;
    call.options.deterministic = true;
    const SoftmaxResult result = softmax_forward(call.inputs(), call.options);
    const auto gradients = [&] {
      return softmax_backward(call.inputs(), result, call.d_out, call.options);
    };
    check_gradients(gradients(), gradients(), 0);
  }
  gpu_test::say_ran("softmax_backward, twice", "float32", 6);
  gpu_test::say_ran("softmax_backward, twice", "bfloat16", 6,
                    cuda::hopper::unavailable().empty() ? "tensor cores" : "plain");
}

TEST_CASE("gpu: a plan and a workspace serve several calls on arrays of the GPU", "[slow]") {
  for (unsigned seed = 20; seed < 24; ++seed) {
    INFO("seed " << seed);
    SoftmaxCall call = random_softmax_call(seed);
    call.options.context.backend = Backend::kCuda;
    const SoftmaxResult expected = softmax_forward(call.inputs(), call.options);
    SoftmaxResult seen{Tensor(expected.out.dtype(), expected.out.shape()),
                       Tensor(expected.lse.dtype(), expected.lse.shape())};
    cuda::HostCall host_call;
    const SoftmaxProblem problem = checked_softmax(call.inputs(), call.options);
    const cuda::SoftmaxPlan plan(problem, host_call.stream());
    const SoftmaxProblem there = cuda::to_device(host_call, problem);
    const SoftmaxOutputs outputs = cuda::to_device(host_call, SoftmaxOutputs{seen.out, seen.lse});
    for (int n = 0; n < 3; ++n) cuda::softmax_forward(host_call.workspace(), there, plan, outputs);
    host_call.finish();
    CHECK(same_bits(seen.out, expected.out));
    CHECK(same_bits(seen.lse, expected.lse));
  }
  gpu_test::say_ran("softmax_forward from the device door", "float32", 12);
}

TEST_CASE("gpu: a call on arrays of the GPU is captured into a CUDA graph", "[slow]") {
  SoftmaxCall call = random_softmax_call(31, DType::kBFloat16, {64});
  call.options.context.backend = Backend::kCuda;
  const SoftmaxResult expected = softmax_forward(call.inputs(), call.options);
  SoftmaxResult seen{Tensor(expected.out.dtype(), expected.out.shape()),
                     Tensor(expected.lse.dtype(), expected.lse.shape())};
  cuda::HostCall host_call;
  const cuda::Stream stream = host_call.stream();
  const SoftmaxProblem problem = checked_softmax(call.inputs(), call.options);
  const cuda::SoftmaxPlan plan(problem, stream);
  const SoftmaxProblem there = cuda::to_device(host_call, problem);
  const SoftmaxOutputs outputs = cuda::to_device(host_call, SoftmaxOutputs{seen.out, seen.lse});
  const auto run = [&] { cuda::softmax_forward(host_call.workspace(), there, plan, outputs); };
  run();  // lets the workspace grow
  const std::vector<std::byte> nan(seen.out.bytes().size(), std::byte{0xff});
  cuda::copy_to_device(outputs.out.data(), nan, stream);
  hopper_probe::replay(stream, run);
  host_call.finish();
  CHECK(same_bits(seen.out, expected.out));
  CHECK(same_bits(seen.lse, expected.lse));
}

TEST_CASE("gpu: arrays with an alignment that the copy engine lacks run on the plain kernels",
          "[tensor cores]") {
  if (!cuda::hopper::unavailable().empty()) return;
  alignas(16) const std::byte memory[16] = {};
  cuda::SoftmaxParams p;
  p.d = {1, 8, 8, 1, 1, 64, 64};
  for (cuda::HeadsView* const array : {&p.query, &p.key, &p.value}) {
    *array = {memory, DType::kBFloat16, 512, 64, 64};
  }
  CHECK(cuda::hopper::unsupported_forward(p).empty());
  p.value.data = memory + 2;
  CHECK(cuda::hopper::unsupported_forward(p) == "its address is 2 bytes past a multiple of 16");
  p.value = {memory, DType::kBFloat16, 512, 64, 60};
  CHECK(cuda::hopper::unsupported_forward(p) == "steps of 120 bytes are no multiple of 16");
}
