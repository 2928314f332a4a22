// The GPU kernels as C functions, for tests/gpu/peer_bench.py; arrays are passed as GPU addresses.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <memory>
#include <random>

#include "maskctl/attention/cuda/softmax/softmax.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/pipeline/parse/grammar.h"
#include "maskctl/pipeline/steps/bind.h"
#include "maskctl/pipeline/steps/generate.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// Makes the array that `text` describes. "blocks:SIZE:PERCENT" gives a map of n / SIZE x n / SIZE
/// blocks, with PERCENT of each row open at random places; any other text is passed to generate().
Tensor random_blocks(const std::string& text, Index n) {
  int size = 0, percent = 0;
  if (std::sscanf(text.c_str(), "blocks:%d:%d", &size, &percent) != 2) {
    return std::get<Tensor>(generate(text, {}));
  }
  const Index blocks = n / size;
  Tensor map(DType::kUInt8, {blocks, blocks});
  std::mt19937 random(1);
  const auto cells = map.as<std::uint8_t>();
  for (Index row = 0; row < blocks; ++row) {
    const auto in_row = cells.subspan(as_size(row * blocks), as_size(blocks));
    std::fill_n(in_row.begin(), std::max<Index>(1, blocks * percent / 100), std::uint8_t{1});
    std::shuffle(in_row.begin(), in_row.end(), random);
  }
  return map;
}

/// Applies a pipeline of mask operations to an open mask of n x n cells. Where the pipeline names
/// an array, this is a text for random_blocks(); where it names a mask, this is another pipeline.
Mask mask_of(const std::string& pipeline, Index n) {
  BindContext context;
  context.read_array = [n](const std::string& source) { return random_blocks(source, n); };
  context.read_mask = [n](const std::string& source) { return mask_of(source, n); };
  const Mask open = std::get<Mask>(generate(fmt::format("full:n={}", n), context));
  if (pipeline.empty()) return open;
  const Chain chain = bind(parse(pipeline), context);
  return apply(open, std::span(chain));
}

struct Extents {
  std::int64_t batch, tokens, heads, kv_heads, dim;
};

/// Self-attention of one shape under one mask, to be run many times.
struct Call {
  Call(const std::string& pipeline, const Extents& e, bool is_half, bool deterministic,
       cuda::Stream stream)
      : workspace(stream), dtype(is_half ? DType::kFloat16 : DType::kBFloat16), extents(e) {
    problem.d = {e.batch, e.tokens, e.tokens, e.heads, e.kv_heads, e.dim, e.dim};
    // A plan is made for shapes and dtype; the addresses of the arrays come with each run.
    problem.query = view(nullptr, e.heads);
    problem.key = problem.value = view(nullptr, e.kv_heads);
    problem.mask = mask_of(pipeline, e.tokens);
    problem.scale = default_scale(problem.d.dim);
    problem.options.deterministic = deterministic;
  }
  TensorView view(const void* data, Index heads) const {
    return {static_cast<const std::byte*>(data), dtype, q_shape(heads), {MemorySpace::kDevice, 0}};
  }
  MutableTensorView result(void* data, Index heads) const {
    return {static_cast<std::byte*>(data), dtype, q_shape(heads), {MemorySpace::kDevice, 0}};
  }
  std::vector<Index> q_shape(Index heads) const {
    return {extents.batch, extents.tokens, heads, extents.dim};
  }

  cuda::Workspace workspace;
  DType dtype;
  Extents extents;
  SoftmaxProblem problem;
  std::optional<cuda::SoftmaxBackwardPlan> plan;
};

/// Calls f. Returns 0, or 1 after printing an exception, which must not reach Python.
template <class F>
int guarded(F&& f) {
  try {
    f();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

}  // namespace

extern "C" {

/// Prepares a call; null after an error. Sets `area` to the number of open cells in all heads.
void* maskctl_call(const char* pipeline, std::int64_t batch, std::int64_t tokens,
                   std::int64_t heads, std::int64_t kv_heads, std::int64_t dim, int is_half,
                   int deterministic, void* stream, double* area) {
  Call* call = nullptr;
  guarded([&] {
    auto made =
        std::make_unique<Call>(pipeline, Extents{batch, tokens, heads, kv_heads, dim}, is_half != 0,
                               deterministic != 0, static_cast<cuda::Stream>(stream));
    *area = static_cast<double>(made->problem.mask.count()) * static_cast<double>(batch * heads);
    made->plan.emplace(made->problem, static_cast<cuda::Stream>(stream));
    call = made.release();
  });
  return call;
}
void maskctl_end(void* call) { delete static_cast<Call*>(call); }

int maskctl_forward(void* call, const void* q, const void* k, const void* v, void* out, void* lse) {
  return guarded([&] {
    Call& c = *static_cast<Call*>(call);
    SoftmaxProblem problem = c.problem;
    const Index heads = c.extents.heads;
    problem.query = c.view(q, heads);
    problem.key = c.view(k, c.extents.kv_heads), problem.value = c.view(v, c.extents.kv_heads);
    const std::vector<Index> rows{c.extents.batch, heads, c.extents.tokens};
    cuda::softmax_forward(
        c.workspace, problem, *c.plan,
        {c.result(out, heads),
         {static_cast<std::byte*>(lse), DType::kFloat32, rows, {MemorySpace::kDevice, 0}}});
  });
}

int maskctl_backward(void* call, const void* q, const void* k, const void* v, const void* out,
                     const void* lse, const void* d_out, void* d_q, void* d_k, void* d_v) {
  return guarded([&] {
    Call& c = *static_cast<Call*>(call);
    SoftmaxProblem problem = c.problem;
    const Index heads = c.extents.heads, kv_heads = c.extents.kv_heads;
    problem.query = c.view(q, heads);
    problem.key = c.view(k, kv_heads), problem.value = c.view(v, kv_heads);
    const std::vector<Index> rows{c.extents.batch, heads, c.extents.tokens};
    const TensorView sums{
        static_cast<const std::byte*>(lse), DType::kFloat32, rows, {MemorySpace::kDevice, 0}};
    cuda::softmax_backward(
        c.workspace, problem, *c.plan, {c.view(out, heads), sums, c.view(d_out, heads), {}},
        {c.result(d_q, heads), c.result(d_k, kv_heads), c.result(d_v, kv_heads), {}, {}});
  });
}

}  // extern "C"
