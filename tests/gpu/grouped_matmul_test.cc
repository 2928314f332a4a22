// Compares grouped matrix products on the GPU, by plain kernels and on tensor cores, with the CPU.
// Also tests that NaN in one group reaches no other, and that gradients have the same bits in every
// run.
#include "maskctl/kernels/grouped_matmul/grouped_matmul.h"

#include <algorithm>
#include <array>
#include <optional>

#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

constexpr double kTolerances[] = {2e-5, 2e-3, 1.6e-2};
constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};

std::string_view path() { return cuda::hopper::unavailable().empty() ? "tensor cores" : "plain"; }

struct Call {
  Tensor lhs, rhs, groups, existing, d_out;
  bool by_size = false;  // `groups` has sizes, not an id for each row
  std::optional<Tensor> offset;
  GroupedMatmulOptions options;

  GroupedMatmulInputs inputs() const {
    return {&lhs,
            &rhs,
            by_size ? &groups : nullptr,
            by_size ? nullptr : &groups,
            offset ? &*offset : nullptr,
            &existing};
  }
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
  call.groups = Tensor(DType::kInt32, {rows});
  for (auto& id : call.groups.as<std::int32_t>()) id = static_cast<std::int32_t>(r.below(matrices));
  return call;
}

/// Draws a call that tensor cores can compute: rows are multiples of 16 bytes. Ids of groups need
/// not be sorted.
Call random_even_call(unsigned seed, DType dtype) {
  RandomTensors r(seed);
  const Index rows = 1 + r.below(400), inner = 8 * (1 + r.below(20));
  const Index columns = 8 * (1 + r.below(r.chance(0.3) ? 70 : 30)), matrices = 1 + r.below(5);
  Call call;
  call.options.transpose_rhs = r.chance(0.5);
  if (r.chance(0.5)) call.options.existing_out_mode = ExistingOutMode::kKeepUnprocessed;
  if (r.chance(0.3)) call.options.preferred_element_type = DType::kFloat32;
  const DType result = call.options.preferred_element_type.value_or(dtype);
  call.lhs = r.normal({rows, inner}, dtype);
  call.rhs = call.options.transpose_rhs ? r.normal({matrices, columns, inner}, dtype)
                                        : r.normal({matrices, inner, columns}, dtype);
  call.existing = r.normal({rows, columns}, result);
  call.d_out = r.normal({rows, columns}, dtype);
  const Index before = r.chance(0.5) ? r.below(3) : 0, all = before + matrices + r.below(2);
  call.offset = i32({static_cast<std::int32_t>(before)});
  call.by_size = r.chance(0.5);
  call.groups = Tensor(DType::kInt32, {call.by_size ? all : rows});
  Index left = rows;
  for (auto& x : call.groups.as<std::int32_t>()) {
    const Index n =
        call.by_size ? r.below(std::min<Index>(left, 2 * rows / all) + 1) : r.below(all);
    if (call.by_size) left -= n;
    x = static_cast<std::int32_t>(n);
  }
  return call;
}

void check_against_cpu(const Call& call, double tolerance) {
  check_close(grouped_matmul(call.inputs(), call.on(Backend::kCuda)),
              grouped_matmul(call.inputs(), call.on(Backend::kCpu)), tolerance, "out");
  const GroupedMatmulGradients seen = call.gradients(Backend::kCuda);
  const GroupedMatmulGradients expected = call.gradients(Backend::kCpu);
  check_close(seen.lhs, expected.lhs, tolerance, "d_lhs");
  check_close(seen.rhs, expected.rhs, tolerance, "d_rhs");
}

}  // namespace

TEST_CASE("gpu: the grouped product equals the CPU's, forward and backward") {
  for (std::size_t n = 0; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(100);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      const Call call = random_call(static_cast<unsigned>(seed), kTypes[n]);
      check_against_cpu(call, kTolerances[n]);
    }
    gpu_test::say_ran("grouped_forward, grouped_backward", name(kTypes[n]), calls);
  }
}

TEST_CASE("gpu: the grouped product on tensor cores equals the CPU's", "[tensor cores]") {
  for (std::size_t n = 1; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(100);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      check_against_cpu(random_even_call(static_cast<unsigned>(seed), kTypes[n]), kTolerances[n]);
    }
    gpu_test::say_ran("grouped_forward, grouped_backward", name(kTypes[n]), calls, path());
  }
}

TEST_CASE("gpu: NaN in one group of rows reaches no other group", "[tensor cores][values]") {
  RandomTensors r(7);
  constexpr Index kRows[] = {70, 77, 130}, kInner = 136, kColumns = 264;
  Call call;
  call.by_size = true;
  call.groups = i32({70, 77, 130});
  const Index rows = kRows[0] + kRows[1] + kRows[2];
  call.lhs = r.normal({rows, kInner}, DType::kBFloat16);
  call.rhs = r.normal({3, kInner, kColumns}, DType::kBFloat16);
  call.existing = Tensor(DType::kBFloat16, {rows, kColumns});
  call.d_out = r.normal({rows, kColumns}, DType::kBFloat16);
  const auto out_and_gradients = [&] {
    const GroupedMatmulGradients g = call.gradients(Backend::kCuda);
    return std::array{grouped_matmul(call.inputs(), call.on(Backend::kCuda)), g.lhs, g.rhs};
  };
  const auto clean = out_and_gradients();
  constexpr std::uint16_t kNan = 0x7fc0;
  for (Tensor* const array : {&call.lhs, &call.d_out}) {
    const auto elements = array->as<std::uint16_t>();
    const auto width = elements.size() / as_size(rows);
    std::fill_n(elements.begin() + static_cast<std::ptrdiff_t>(as_size(kRows[0]) * width),
                as_size(kRows[1]) * width, kNan);
  }
  const auto seen = out_and_gradients();
  for (std::size_t n = 0; n < clean.size(); ++n) {
    // Compares the rows of out and d_lhs, or the matrices of d_rhs, that do not belong to the NaN
    // group.
    const auto all = clean[n].as<std::uint16_t>(), now = seen[n].as<std::uint16_t>();
    const std::size_t unit = all.size() / as_size(n == 2 ? 3 : rows);
    const std::size_t begin = n == 2 ? 1 : as_size(kRows[0]);
    const std::size_t end = n == 2 ? 2 : as_size(kRows[0] + kRows[1]);
    CHECK(std::ranges::equal(all.first(begin * unit), now.first(begin * unit)));
    CHECK(std::ranges::equal(all.subspan(end * unit), now.subspan(end * unit)));
  }
  gpu_test::say_ran("grouped_forward, grouped_backward, NaN", "bfloat16", 2, path());
}

TEST_CASE("gpu: gradients of the grouped product have the same bits in every run", "[values]") {
  const int calls = gpu_test::calls(20);
  for (int seed = 0; seed < 2 * calls; ++seed) {
    const auto n = static_cast<unsigned>(seed / 2);
    const Call call =
        seed % 2 == 0 ? random_call(n, DType::kFloat32) : random_even_call(n, DType::kFloat16);
    const GroupedMatmulGradients once = call.gradients(Backend::kCuda);
    const GroupedMatmulGradients twice = call.gradients(Backend::kCuda);
    check_close(twice.lhs, once.lhs, 0, "d_lhs");
    check_close(twice.rhs, once.rhs, 0, "d_rhs");
  }
  gpu_test::say_ran("grouped_backward, twice", "float32, float16", 2 * calls);
}
