// The grouped product on the GPU: groups larger than its tiles against the CPU, and the same bits
// in every run.
#include "maskctl/attention/operations/grouped_matmul/grouped_matmul.h"

#include "gpu/kernels_ran.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

constexpr double kTolerances[] = {2e-5, 2e-3, 1.6e-2};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

struct Call {
  Tensor lhs, rhs, ids, existing, d_out;
  GroupedMatmulOptions options;

  GroupedMatmulInputs inputs() const { return {&lhs, &rhs, nullptr, &ids, nullptr, &existing}; }
  GroupedMatmulOptions on(Backend backend) const {
    GroupedMatmulOptions o = options;
    o.context.backend = backend;
    return o;
  }
  GroupedMatmulGradients gradients(Backend backend) const {
    return grouped_matmul_backward(inputs(), d_out, on(backend));
  }
};

Call random_call(unsigned seed, DType dtype) {
  RandomTensors r(seed);
  const Index rows = r.below(400), inner = 1 + r.below(150), columns = 1 + r.below(300);
  const Index matrices = 1 + r.below(5);
  Call call;
  call.options.transpose_rhs = r.chance(0.5);
  if (r.chance(0.5)) call.options.existing_out_mode = ExistingOutMode::kKeepUnprocessed;
  call.lhs = r.normal({rows, inner}, dtype);
  call.rhs = call.options.transpose_rhs ? r.normal({matrices, columns, inner}, dtype)
                                        : r.normal({matrices, inner, columns}, dtype);
  call.existing = r.normal({rows, columns}, dtype);
  call.d_out = r.normal({rows, columns}, dtype);
  call.ids = Tensor(DType::kInt32, {rows});
  for (auto& id : call.ids.as<std::int32_t>()) id = static_cast<std::int32_t>(r.below(matrices));
  return call;
}

}  // namespace

TEST_CASE("gpu: the grouped product equals the CPU's, forward and backward") {
  for (std::size_t n = 0; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(100);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      const Call call = random_call(static_cast<unsigned>(seed), kTypes[n]);
      check_close(grouped_matmul(call.inputs(), call.on(Backend::kCuda)),
                  grouped_matmul(call.inputs(), call.on(Backend::kCpu)), kTolerances[n], "out");
      const GroupedMatmulGradients seen = call.gradients(Backend::kCuda);
      const GroupedMatmulGradients expected = call.gradients(Backend::kCpu);
      check_close(seen.lhs, expected.lhs, kTolerances[n], "d_lhs");
      check_close(seen.rhs, expected.rhs, kTolerances[n], "d_rhs");
    }
    gpu_test::say_ran("grouped_forward, grouped_backward", name(kTypes[n]), calls);
  }
}

TEST_CASE("gpu: gradients of the grouped product have the same bits in every run") {
  const int calls = gpu_test::calls(20);
  for (int seed = 0; seed < calls; ++seed) {
    const Call call = random_call(static_cast<unsigned>(seed), DType::kFloat32);
    const GroupedMatmulGradients once = call.gradients(Backend::kCuda);
    const GroupedMatmulGradients twice = call.gradients(Backend::kCuda);
    check_close(twice.lhs, once.lhs, 0, "d_lhs");
    check_close(twice.rhs, once.rhs, 0, "d_rhs");
  }
  gpu_test::say_ran("grouped_backward, twice", "float32", calls);
}
