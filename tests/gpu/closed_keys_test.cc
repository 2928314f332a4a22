// Tests that a changed key leaves every bit of the rows of queries that do not see the key.
#include "attention/softmax_call.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/hopper/gpu.h"

namespace {

using namespace maskctl::attention_test;

constexpr DType kTypes[] = {DType::kBFloat16, DType::kFloat16, DType::kFloat32};
constexpr Index kDims[] = {64, 128, 256}, kTokens[] = {300, 512, 700, 1024, 2048};

/// Makes self-attention in which query i sees keys (i - window, i]. Every other call has a soft
/// cap, so that the kernels for general logits run too.
SoftmaxCall windowed_call(int n, DType dtype) {
  Random r(static_cast<unsigned>(n));
  const Index dim = kDims[n % 3], tokens = kTokens[n / 3 % 5];
  const Index window = r.chance(0.5) ? tokens : 200;
  SoftmaxCall call;
  for (Tensor* const array : {&call.query, &call.key, &call.value, &call.d_out}) {
    *array = r.normal({1, tokens, 1, dim}, dtype);
  }
  call.mask = mask_of_rule(1, 1, tokens, tokens, [&](Index, Index, Index i, Index j) {
    return j <= i && i - j < window;
  });
  if (n % 2 == 1) call.options.soft_cap = 20;
  call.options.context.backend = Backend::kCuda;
  return call;
}

struct Answer {
  Tensor out, lse, d_query;
};
Answer answer_to(const SoftmaxCall& call) {
  SoftmaxResult result = softmax_forward(call.inputs(), call.options);
  SoftmaxGradients gradients = softmax_backward(call.inputs(), result, call.d_out, call.options);
  return {std::move(result.out), std::move(result.lse), std::move(gradients.query)};
}

/// Returns the array [1,T,1,D] with f applied to the elements of token j.
template <class F>
Tensor with_row(const Tensor& array, Index j, F&& f) {
  Tensor wide = astype(array, DType::kFloat32);
  const Index row = array.extent(3);
  for (float& x : wide.as<float>().subspan(as_size(j * row), as_size(row))) x = f(x);
  return astype(wide, array.dtype());
}

/// True if `elements` elements from `first` on are equal, bit by bit.
bool equal_elements(const Tensor& a, const Tensor& b, Index first, Index elements) {
  const Index size = size_bytes(a.dtype());
  const auto bytes = [&](const Tensor& x) {
    return x.bytes().subspan(as_size(first * size), as_size(elements * size));
  };
  return std::ranges::equal(bytes(a), bytes(b));
}

void check_unseeing_rows(const Mask& mask, Index j, const Answer& before, const Answer& after) {
  const Index dim = before.out.extent(3);
  for (Index i = 0; i < before.lse.extent(2); ++i) {
    if (mask.plane(0, 0)->count({i, i + 1}, {j, j + 1}) != 0) continue;
    INFO("key " << j << " and query " << i);
    const bool same_lse = equal_elements(before.lse, after.lse, i, 1);
    const bool same_out = equal_elements(before.out, after.out, i * dim, dim);
    const bool same_d_query = equal_elements(before.d_query, after.d_query, i * dim, dim);
    if (same_lse && same_out && same_d_query) continue;
    CHECK(same_lse);
    CHECK(same_out);
    CHECK(same_d_query);
    return;
  }
}

}  // namespace

TEST_CASE("gpu: changing a key changes no bit of the rows that do not see it",
          "[tensor cores][big]") {
  for (const DType dtype : kTypes) {
    const int calls = gpu_test::calls(50), keys = gpu_test::calls(20);
    for (int n = 0; n < calls; ++n) {
      const SoftmaxCall call = windowed_call(n, dtype);
      const Index tokens = call.query.extent(1);
      INFO(name(dtype) << ", D " << call.query.extent(3) << ", " << tokens << " tokens");
      const Answer before = answer_to(call);
      for (int k = 0; k < keys; ++k) {
        // The changed key is so large that the maxima of rows that see it grow. It is not in the
        // first tile of keys, where all maxima grow.
        const Index j = tokens - 1 - (tokens / 2 * k / keys);
        SoftmaxCall changed = call;
        changed.key = with_row(call.key, j, [](float x) { return 30 * x; });
        changed.value = with_row(call.value, j, [](float x) { return x + 7; });
        check_unseeing_rows(*call.mask, j, before, answer_to(changed));
      }
    }
    gpu_test::say_ran("softmax under changed keys", name(dtype), calls * (1 + keys),
                      dtype == DType::kFloat32 || !cuda::hopper::unavailable().empty()
                          ? "plain"
                          : "tensor cores");
  }
}
