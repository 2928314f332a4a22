// Tests operations on arrays of the GPU: results have the same bits as with host arrays, also in
// CUDA graphs, and bad calls are refused before anything runs.
#include "maskctl/attention/gpu/plan.h"

#include <cuda_runtime_api.h>

#include <deque>
#include <tuple>

#include "gpu/device_batch.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/kernels.h"
#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/operations/native_sparse/compression.h"
#include "maskctl/attention/softmax/checked.h"
#include "maskctl/attention/softmax/run.h"
#include "maskctl/kernels/cuda/arrays.h"
#include "maskctl/kernels/cuda/kernels.h"
#include "maskctl/kernels/gpu/plans.h"
#include "maskctl/kernels/grouped_matmul/checked.h"
#include "maskctl/kernels/linear/checked.h"
#include "maskctl/mask/planes/bands.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace maskctl::attention {
namespace gpu_plan_cases {

using namespace test;

Tensor like(const TensorView& view) {
  return Tensor(view.dtype(), {view.shape().begin(), view.shape().end()});
}

/// Holds the results of a call in host memory.
class Results {
 public:
  MutableTensorView add(DType dtype, std::vector<Index> shape) {
    return tensors_.emplace_back(dtype, std::move(shape));
  }
  MutableTensorView add_like(const TensorView& view) { return tensors_.emplace_back(like(view)); }
  bool equal_bits(const Results& other) const {
    for (std::size_t n = 0; n < tensors_.size(); ++n) {
      if (!std::ranges::equal(tensors_[n].bytes(), other.tensors_[n].bytes())) return false;
    }
    return true;
  }

 private:
  std::deque<Tensor> tensors_;
};

/// Runs a call with host arrays, and with GPU arrays in a CUDA graph that contains the call twice;
/// the results must have the same bits. `outputs(results)` makes room for them; `inputs` are what
/// the call reads besides `problem`.
template <class Plan, class Problem, class Outputs, class... Inputs>
void check_doors(const Problem& problem, auto kernel, const Outputs& outputs,
                 const Inputs&... inputs) {
  using cuda::to_device;
  Results expected, seen;
  kernel(problem, inputs..., outputs(expected), Context());

  cuda::HostCall call;
  const cuda::Stream stream = call.stream();
  const gpu::Workspace workspace(stream);
  const Plan plan(to_device(call, problem), stream);
  const auto run = [&, there = to_device(call, problem), to = to_device(call, outputs(seen)),
                    given = std::tuple(to_device(call, inputs)...)] {
    std::apply([&](const auto&... more) { plan(workspace, there, more..., to); }, given);
  };
  run();  // lets the workspace grow
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t ready = nullptr;
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  run(), run();
  cuda::check(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
  cuda::check(cudaGraphInstantiate(&ready, graph, 0), "cudaGraphInstantiate");
  cuda::check(cudaGraphLaunch(ready, stream), "cudaGraphLaunch");
  call.finish();
  cudaGraphExecDestroy(ready), cudaGraphDestroy(graph);
  CHECK(seen.equal_bits(expected));
}

struct Arrays {
  RandomTensors random{7};
  Tensor query = random.normal({1, 150, 4, 64}, DType::kBFloat16);
  Tensor key = random.normal({1, 150, 2, 64}, DType::kBFloat16);
  Tensor value = random.normal({1, 150, 2, 64}, DType::kBFloat16);
  Mask mask = Mask(diagonal_band(150, 150, -40, 0));
};

TEST_CASE("gpu: softmax attention on GPU arrays has the same bits in a graph", "[tensor cores]") {
  Arrays a;
  const SoftmaxProblem problem =
      checked_softmax({&a.query, &a.key, &a.value, &a.mask}, SoftmaxOptions());
  const auto outputs = [&](Results& to) {
    return SoftmaxOutputs{to.add_like(problem.query), to.add(DType::kFloat32, {1, 4, 150})};
  };
  check_doors<gpu::SoftmaxForward>(problem, cuda::kKernels.softmax_forward.run, outputs);
  check_doors<gpu::SoftmaxWeights>(problem, cuda::kKernels.softmax_weights.run, [](Results& to) {
    return to.add(DType::kFloat32, {1, 4, 150, 150});
  });
  const SoftmaxResult forward = softmax_forward(problem, Context());
  check_doors<gpu::SoftmaxBackward>(
      problem, cuda::kKernels.softmax_backward.run,
      [&](Results& to) {
        return SoftmaxGradientOutputs{to.add_like(problem.query),
                                      to.add_like(problem.key),
                                      to.add_like(problem.value),
                                      {},
                                      {}};
      },
      SoftmaxBackwardInputs{forward.out, forward.lse, a.query, {}});
}

TEST_CASE(
    "gpu: linear attention and grouped products on GPU arrays have the same bits in a graph") {
  Arrays a;
  const Tensor gates = a.random.normal({4});
  RecurrentAttentionInputs inputs{&a.query, &a.key, &a.value};
  inputs.g_gamma = &gates;
  const LinearProblem problem = checked_linear(inputs, {});
  check_doors<gpu::LinearForward>(
      problem, cuda::kMasklessKernels.linear_forward.run, [&](Results& to) {
        return LinearOutputs{to.add(DType::kBFloat16, problem.d.out_shape()),
                             to.add(DType::kFloat32, problem.d.state_shape())};
      });

  const Tensor lhs = a.random.normal({90, 32}), rhs = a.random.normal({3, 32, 48});
  Tensor sizes(DType::kInt32, {3});
  std::ranges::copy(std::vector{40, 0, 30}, sizes.as<std::int32_t>().begin());
  GroupedMatmulInputs grouped{&lhs, &rhs};
  grouped.group_sizes = &sizes;
  check_doors<gpu::GroupedForward>(checked_grouped(grouped, {}),
                                   cuda::kMasklessKernels.grouped_forward.run, [](Results& to) {
                                     return to.add(DType::kFloat32, {90, 48});
                                   });
}

TEST_CASE("gpu: attention to listed blocks on GPU arrays has the same bits in a graph",
          "[tensor cores][slow]") {
  Arrays a;
  Tensor listed(DType::kInt32, {1, 150, 2, 3});
  for (std::size_t i = 0; i < listed.as<std::int32_t>().size(); ++i) {
    listed.as<std::int32_t>()[i] = static_cast<std::int32_t>(i % 3);
  }
  NativeSparseOptions options;
  options.block_size = 64;
  const NativeSparseInputs inputs{&a.query, &a.key, &a.value, nullptr, nullptr, &listed};
  const BlockProblem problem = checked_selected_problem(inputs, options);
  check_doors<gpu::BlocksForward>(problem, cuda::kKernels.blocks_forward.run, [&](Results& to) {
    return SoftmaxOutputs{to.add_like(problem.query), to.add(DType::kFloat32, {1, 4, 150})};
  });
}

TEST_CASE("gpu: decoding over pages works if the sequences are described on the GPU too") {
  RandomTensors r(5);
  paging::Batch b;
  b.dtype = DType::kFloat32, b.dim = 64, b.kv_heads = 2, b.q_heads = 4;
  b.page_size = 16, b.pages = 12, b.width = 10;
  b.lengths = {150, 7}, b.starts = {0, 1, 2};
  b.table = {9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, -1, -1, -1, -1, -1, -1, -1, -1, -1};
  for (const std::int32_t length : b.lengths) {
    b.keys.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
    b.values.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
  }
  b.queries = r.normal({2, b.q_heads, b.dim}, b.dtype);
  paging::DeviceBatch there(b, {});
  const Tensor expected = there.run(there.plan());
  cuda::HostCall& call = there.host_call();
  Tensor out(b.dtype, b.queries.shape());
  const gpu::Workspace workspace(call.stream());
  const gpu::PagedOfArrays plan(there.problem(), call.stream());
  plan(workspace, there.problem(), call.to_device(MutableTensorView(out)));
  call.finish();
  CHECK(there.status() == 0);
  CHECK(std::ranges::equal(out.bytes(), expected.bytes()));
}

TEST_CASE("gpu: a plan refuses shapes that do not fit before anything runs") {
  Arrays a;
  cuda::HostCall call;
  const TensorView query = call.to_device(TensorView(a.query)),
                   key = call.to_device(TensorView(a.key)),
                   value = call.to_device(TensorView(a.value));
  const auto refused = [](const char* words, auto&& f) {
    INFO(words);
    CHECK(contains(error_of(f), words));
  };
  refused("query is not on the GPU", [&] { gpu::softmax_problem(a.query, key, value, a.mask); });
  refused("value is (1, 150, 4, 64), expected (1, 150, 2, 64)",
          [&] { gpu::softmax_problem(query, key, query, a.mask); });
  refused("the mask is", [&] {
    gpu::SoftmaxForward(gpu::softmax_problem(query, key, value, Mask(full_plane(3, 150))),
                        call.stream());
  });
  const SoftmaxProblem problem = gpu::softmax_problem(query, key, value, a.mask);
  const gpu::SoftmaxForward plan(problem, call.stream());
  const gpu::Workspace workspace(call.stream());
  Tensor out = like(a.query), lse(DType::kFloat32, {1, 4, 150});
  const MutableTensorView to = call.to_device(MutableTensorView(out));
  refused("lse is not on the GPU", [&] { plan(workspace, problem, {to, lse}); });
  refused("lse is (1, 150, 4, 64), expected (1, 4, 150)", [&] {
    plan(workspace, problem, {to, to});
  });
  SoftmaxProblem other = problem;
  other.key = query;
  refused("make another plan", [&] { plan(workspace, other, {to, to}); });

  PagedProblem pages;
  pages.queries = query, pages.q_heads = 4;
  pages.cache = {DType::kBFloat16,         key.data(), value.data(), 2, 16, 2, 64, 2048, 128, 64,
                 {MemorySpace::kDevice, 0}};
  pages.tables = {0, 7};
  pages.sequences = {{{0, 1}, {0, 20}, 0}};
  refused("sequence 0 has rows, keys or pages that are not there",
          [&] { gpu::Paged(pages, call.stream()); });

  constexpr MemoryPlace kGpu{MemorySpace::kDevice, 0};
  constexpr std::array<Index, 3> kWide{1, 4, 1025};
  PagedProblem wide;
  wide.queries = TensorView(query.data(), DType::kFloat32, kWide, kGpu), wide.q_heads = 4;
  wide.cache = {DType::kFloat32, key.data(), value.data(), 1,        1,   2,
                kWide[2],        2050,       2050,         kWide[2], kGpu};
  wide.tables = {0};
  wide.sequences = {{{0, 1}, {0, 1}, 0}};
  const gpu::Paged wide_plan(wide, call.stream());
  refused("heads have 1025 elements, more than 1024", [&] {
    wide_plan(workspace, wide, MutableTensorView(to.data(), DType::kFloat32, kWide, kGpu));
  });
  call.finish();
}

}  // namespace gpu_plan_cases
}  // namespace maskctl::attention
