// Compares ring attention between GPUs with the CPU on long sequences, and tests plans that serve
// several calls.
#include "maskctl/attention/cuda/ring/ring.h"

#include "attention/arrays.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/operations/ring/ring.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/error_of.h"
#include "support/rounds.h"

namespace {

using namespace maskctl::attention_test;

// Each of 3 ranks has 140 tokens, or 70 with sanitizers: no whole number of tiles.
constexpr Index kTokens = maskctl::test::kSanitized ? 210 : 420;

PlanePtr documents() {
  std::vector<std::int32_t> ids(as_size(kTokens));
  for (Index t = 0; t < kTokens; ++t) ids[as_size(t)] = static_cast<std::int32_t>(t / 95);
  return combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kBoth),
                 diagonal_band(kTokens, kTokens, -kUnbounded, 0));
}

/// Opens every fifth tile of 64 x 64 cells, scattered, so that the open keys of a rank form several
/// runs.
PlanePtr scattered_tiles() {
  return mask_of_rule(
             1, 1, kTokens, kTokens,
             [](Index, Index, Index i, Index j) { return (i / 64 * 7 + j / 64 * 3) % 5 == 0; })
      .plane(0, 0);
}

struct RingCall {
  Tensor query, key, value, d_out, d_lse;
  RingAttentionOptions options;
};

RingCall random_call(unsigned seed, const Mask& mask, DType dtype = DType::kFloat32,
                     Index dim = 8) {
  Random r(seed);
  RingCall call{r.normal({2, kTokens, 4, dim}, dtype),
                r.normal({2, kTokens, 2, dim}, dtype),
                r.normal({2, kTokens, 2, dim}, dtype),
                r.normal({2, kTokens, 4, dim}, dtype),
                r.normal({2, 4, kTokens}),
                {}};
  call.options.mask.mask = &mask;
  return call;
}

struct RingResults {
  SoftmaxResult forward;
  SoftmaxGradients gradients;
};
RingResults run(RingCall call, Backend backend, Index ranks) {
  call.options.softmax.context.backend = backend;
  call.options.ring_size = ranks;
  RingResults out{ring_attention(call.query, call.key, call.value, call.options), {}};
  out.gradients = ring_attention_backward(call.query, call.key, call.value, out.forward, call.d_out,
                                          call.options, &call.d_lse);
  return out;
}

void compare(const RingResults& seen, const RingResults& expected, double tolerance) {
  check_close(seen.forward.out, expected.forward.out, tolerance, "out");
  check_close(seen.forward.lse, expected.forward.lse, tolerance, "lse");
  check_gradients(seen.gradients, expected.gradients, 4 * tolerance);
}

}  // namespace

TEST_CASE("gpu: a ring of GPUs gives the CPU's results under masks of every shape", "[slow]") {
  const PlanePtr planes[] = {
      diagonal_band(kTokens, kTokens, -kUnbounded, 0), diagonal_band(kTokens, kTokens, -60, 0),
      diagonal_band(kTokens, kTokens, 250, kUnbounded), documents(), scattered_tiles()};
  unsigned seed = 0;
  for (const PlanePtr& plane : planes) {
    const Mask mask(plane);
    RingCall call = random_call(++seed, mask);
    call.options.softmax.empty_row = seed % 2 == 0 ? EmptyRow::kZero : EmptyRow::kMean;
    const RingResults expected = run(call, Backend::kCpu, 1);
    for (const auto& [ranks, assign] : {std::pair<Index, Assign>(2, Assign::kZigzag),
                                        {3, Assign::kBalanced},
                                        {3, Assign::kStriped},
                                        {4, Assign::kContiguous}}) {
      INFO("mask " << seed << ", " << ranks << " ranks, assign " << static_cast<int>(assign));
      call.options.assign = assign;
      compare(run(call, Backend::kCuda, ranks), expected, 2e-5);
    }
  }
  gpu_test::say_ran("ring_attention, ring_attention_backward", "float32", 20);
}

TEST_CASE("gpu: a ring of 16-bit arrays has nearly the error of one GPU", "[slow]") {
  int calls = 0;
  for (const PlanePtr& plane :
       {diagonal_band(kTokens, kTokens, -kUnbounded, 0), documents(), scattered_tiles()}) {
    const Mask mask(plane);
    RingCall call = random_call(9, mask, DType::kBFloat16, 64);
    const RingResults one = run(call, Backend::kCuda, 1);
    for (const Assign assign : {Assign::kContiguous, Assign::kZigzag, Assign::kBalanced}) {
      INFO("call " << calls << ", assign " << static_cast<int>(assign));
      call.options.assign = assign;
      compare(run(call, Backend::kCuda, 4), one, 1e-2);
      ++calls;
    }
  }
  gpu_test::say_ran("ring_attention, ring_attention_backward", "bfloat16", calls);
}

TEST_CASE("gpu: a ring gives the CPU's results after balanced queries were moved", "[slow]") {
  const Mask mask = uneven_documents();
  Random r(12);
  const auto array = [&] { return r.normal({1, mask.queries(), 1, 8}); };
  RingCall call{array(), array(), array(), array(), r.normal({1, 1, mask.queries()}), {}};
  call.options.mask.mask = &mask;
  call.options.assign = Assign::kBalanced;
  compare(run(call, Backend::kCuda, 2), run(call, Backend::kCpu, 1), 2e-5);
  gpu_test::say_ran("ring_attention, ring_attention_backward", "float32", 1);
}

TEST_CASE("gpu: equal ring calls give equal bits", "[slow]") {
  const Mask mask(documents());
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    RingCall call = random_call(3, mask, dtype, 64);
    call.options.assign = Assign::kZigzag;
    compare(run(call, Backend::kCuda, 3), run(call, Backend::kCuda, 3), 0);
  }
}

TEST_CASE("gpu: a plan and a workspace of each rank serve several calls of a ring", "[big]") {
  const Mask mask(diagonal_band(kTokens, kTokens, -kUnbounded, 0));
  RingCall call = random_call(5, mask);
  const RingResults expected = run(call, Backend::kCuda, 2);
  call.options.softmax.context.backend = Backend::kCuda;
  call.options.all_queries = kTokens;
  const int gpus = backend_row(Backend::kCuda).devices();
  run_ring(2, [&](Communicator& ring) {
    cuda::use_gpu(static_cast<int>(ring.rank()) % gpus);
    const Range rows = part_of(kTokens, 2, ring.rank());
    const auto part = [&](const Tensor& whole) {
      return take(whole, along(whole, 1, std::vector{rows}));
    };
    const Tensor q = part(call.query), k = part(call.key), v = part(call.value);
    const RingShard shard(ring, q, k, v, call.options);
    const RingProblem problem{&ring, &shard, q, k, v, {}};
    Tensor out(q.dtype(), q.shape()), lse(DType::kFloat32, shard.dims().lse_shape());
    cuda::HostCall host_call;
    const cuda::RingPlan plan(problem, host_call.stream());
    const RingProblem there = cuda::to_device(host_call, problem);
    const SoftmaxOutputs results = cuda::to_device(host_call, SoftmaxOutputs{out, lse});
    for (int n = 0; n < maskctl::test::rounds(5); ++n)
      cuda::ring_forward(host_call.workspace(), there, plan, results);
    host_call.finish();
    const Tensor like = part(expected.forward.out);
    if (!std::ranges::equal(out.bytes(), like.bytes())) throw Error(Errc::kDevice, "other bits");
  });
}

TEST_CASE("gpu: a ring transfers and computes only keys that are seen") {
  const Mask mask(diagonal_band(kTokens, kTokens, -10, 0));
  RingCall call = random_call(6, mask);
  call.options.softmax.context.backend = Backend::kCuda;
  constexpr Index kRanks = 3;
  run_ring(kRanks, [&](Communicator& ring) {
    const auto part = [&](const Tensor& whole) {
      return slice_of(whole, 1, part_of(kTokens, kRanks, ring.rank()));
    };
    const Tensor q = part(call.query), k = part(call.key), v = part(call.value);
    const RingShard shard(ring, q, k, v, call.options);
    const cuda::RingSteps steps(RingProblem{&ring, &shard, q, k, v, {}});
    const Index after = (ring.rank() + 1) % kRanks, before = (ring.rank() + 2) % kRanks;
    const bool is_first = ring.rank() == 0, is_last = ring.rank() == kRanks - 1;
    std::vector<bool> partners(kRanks);
    partners[as_size(ring.rank())] = true;
    if (!is_last) partners[as_size(after)] = true;
    if (!is_first) partners[as_size(before)] = true;
    if (steps.partners != partners) throw Error(Errc::kDevice, "other partners");
    if (steps.parts.size() != (is_first ? 1 : 2)) throw Error(Errc::kDevice, "other parts");
    if (steps.parts.front().queries.size() != q.extent(1)) throw Error(Errc::kDevice, "few rows");
  });
}

TEST_CASE("gpu: a thread that asks for a GPU that does not exist gets an error") {
  CHECK(maskctl::test::error_of([] { cuda::use_gpu(1000); }) ==
        "cudaSetDevice failed: invalid device ordinal");
}
