// Softmax calls on host arrays that are cut into parts, beside the same calls in one piece.
#include "maskctl/attention/cuda/softmax/call_parts.h"

#include "attention/softmax_call.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/softmax/from_host.h"
#include "maskctl/attention/softmax/checked.h"

namespace {

using namespace maskctl::attention_test;

/// The results of a call, and its gradients if it has neither bias nor sinks.
struct Results {
  Tensor out, lse, d_query, d_key, d_value;

  Results(const SoftmaxCall& call, Index least_part_bytes)
      : d_query(like(call.query)), d_key(like(call.key)), d_value(like(call.value)) {
    const SoftmaxProblem problem = checked_softmax(call.inputs(), call.options);
    out = Tensor(call.query.dtype(), problem.d.out_shape());
    lse = Tensor(DType::kFloat32, problem.d.lse_shape());
    cuda::softmax_forward_from_host(problem, {out, lse}, least_part_bytes);
    if (call.bias || call.sinks) return;
    const Tensor* const d_lse = call.d_lse ? &*call.d_lse : nullptr;
    cuda::softmax_backward_from_host(problem, {out, lse, call.d_out, view_of(d_lse)},
                                     {d_query, d_key, d_value, {}, {}}, least_part_bytes);
  }

  static Tensor like(const Tensor& x) { return {x.dtype(), x.shape()}; }
};

Index count_parts(const SoftmaxCall& call, Index least_bytes = 1) {
  const SoftmaxProblem problem = checked_softmax(call.inputs(), call.options);
  Tensor out(call.query.dtype(), problem.d.out_shape()),
      lse(DType::kFloat32, problem.d.lse_shape());
  return std::ssize(cuda::parts_of(problem, {out, lse}, least_bytes));
}

}  // namespace

TEST_CASE("gpu: a call on host arrays gives the same results in parts as in one piece") {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kBFloat16};
  const int calls = gpu_test::calls(60);
  Index cut = 0;
  for (int seed = 0; seed < calls; ++seed) {
    INFO("seed " << seed);
    const SoftmaxCall call =
        random_softmax_call(static_cast<unsigned>(12000 + seed), kTypes[seed % 2],
                            seed % 4 == 3 ? CallDims{64, 64} : CallDims{});
    cut += count_parts(call) > 1;
    const Results whole(call, Index{1} << 40), parts(call, 1);
    const double tolerance = seed % 2 == 0 ? 2e-5 : 3e-2;
    check_close(parts.out, whole.out, seed % 2 == 0 ? 0 : tolerance, "out");
    check_close(parts.lse, whole.lse, tolerance, "lse");
    check_close(parts.d_query, whole.d_query, tolerance, "gradient of the query");
    check_close(parts.d_key, whole.d_key, tolerance, "gradient of the key");
    check_close(parts.d_value, whole.d_value, tolerance, "gradient of the value");
  }
  CHECK((calls < 10 || cut > calls / 3));
}

TEST_CASE("gpu: a call on host arrays is cut along its batch into equal parts") {
  SoftmaxCall call = random_softmax_call(1);
  Random r(1);
  call.bias.reset(), call.sinks.reset(), call.mask.reset();
  call.query = r.normal({6, 8, 12, 4}), call.key = call.value = r.normal({6, 8, 3, 4});
  CHECK(count_parts(call) == 6);
  const Index bytes_of_entry = 4 * (2 * 8 * 12 * 4 + 2 * 8 * 3 * 4 + 8 * 12);
  CHECK(count_parts(call, bytes_of_entry) == 6);
  CHECK(count_parts(call, bytes_of_entry + 1) == 3);  // not 5 parts: they would not be equal
  CHECK(count_parts(call, 3 * bytes_of_entry) == 2);
  CHECK(count_parts(call, 4 * bytes_of_entry) == 1);
  call.sinks = r.normal({12, 1});
  CHECK(count_parts(call) == 6);
  call.bias = r.normal({6, 1, 8, 8});
  CHECK(count_parts(call) == 6);
  const SoftmaxProblem whole = checked_softmax(call.inputs(), call.options);
  const SoftmaxProblem part = cuda::part_of(whole, {2, 4});
  CHECK(part.d.batch == 2);
  CHECK(part.options.first_batch == whole.options.first_batch + 2);
  CHECK(part.query.data() == whole.query.data() + 2 * 8 * 12 * 4 * sizeof(float));
  CHECK(part.bias->data() == whole.bias->data() + 2 * 8 * 8 * sizeof(float));
  CHECK(part.sinks->data() == whole.sinks->data());
  CHECK(part.mask.distinct().front() == whole.mask.distinct().front());
  call.bias = r.normal({1, 1, 1, 8});  // every part would have to copy this bias
  CHECK(count_parts(call) == 1);
}
