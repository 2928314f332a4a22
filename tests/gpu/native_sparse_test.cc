// Tests attention over listed blocks on the GPU: calls of every size of tile against the CPU, the
// same bits in every run, and arrays that are on the GPU already.
#include "maskctl/attention/operations/native_sparse/native_sparse.h"

#include <algorithm>

#include "gpu/kernels_ran.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/cuda/blocks/block_attention.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/operations/native_sparse/compression.h"
#include "maskctl/attention/problems/backends.h"
#include "maskctl/attention/problems/block_problem.h"
#include "maskctl/tensor/convert.h"
#include "support/rounds.h"
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
  const Index tokens = 1 + r.below(kSanitized ? 40 : 100), kv_heads = 1 + r.below(2),
              group = 1 + r.below(18);
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

/// A call of select_blocks alone.
struct Selection {
  Tensor query, key;
  std::optional<Tensor> cu_seqlens;
  NativeSparseOptions options;

  BlockProblem problem() const {
    return checked_block_problem({&query, &key, &key, nullptr, nullptr, nullptr, nullptr,
                                  cu_seqlens ? &*cu_seqlens : nullptr},
                                 options);
  }
};

/// Draws a call of select_blocks that tensor cores can compute, with random sizes of groups and
/// blocks.
Selection random_selection(unsigned seed, DType dtype) {
  RandomTensors r(seed);
  const bool packed = r.chance(0.4);
  const Index batch = packed ? 1 : 1 + r.below(2), tokens = 1 + r.below(120);
  const Index kv_heads = 1 + r.below(2), group = 1 + r.below(r.chance(0.3) ? 40 : 16);
  const Index dim = r.chance(0.7) ? (r.chance(0.5) ? 64 : 128) : 8 * (1 + r.below(32));
  Selection selection;
  selection.query = r.normal({batch, tokens, kv_heads * group, dim}, dtype);
  selection.key = r.normal({batch, tokens, kv_heads, dim}, dtype);
  if (packed) selection.cu_seqlens = r.cu_seqlens(1 + r.below(4), tokens);
  selection.options.block_size = 1 + r.below(r.chance(0.6) ? 3 : 40);
  selection.options.block_counts = 1 + r.below(20);
  if (seed % 8 == 4) {  // more blocks than a warp keeps in registers
    selection.query = r.normal({1, 270, 2, 64}, dtype);
    selection.key = r.normal({1, 270, 1, 64}, dtype);
    selection.cu_seqlens.reset();
    selection.options.block_size = 1;
  }
  return selection;
}

Tensor chosen_blocks(const BlockProblem& problem, const TensorView& query, const BlockMeans& means,
                     Backend backend) {
  Tensor chosen = Tensor::unwritten(
      DType::kInt32, {problem.d.batch, problem.d.queries, problem.d.kv_heads, problem.count});
  run_kernel(Context{backend}, "select_blocks", &Kernels::select_blocks,
             SelectionProblem{&problem, query, means.key, &means.first}, chosen);
  return chosen;
}

/// The importance of a token's blocks as it is defined, computed in float64.
class Importance {
 public:
  Importance(const BlockProblem& problem, const BlockMeans& means)
      : problem_(problem), means_(means), query_(to_double(problem.query)) {}

  /// Computes the importance of the blocks that token t of sequence n sees in key head u.
  void find(std::size_t n, Index t, Index u) {
    const Dims& d = problem_.d;
    const TokenSequence& s = problem_.sequences[n];
    const Index token = s.batch * d.queries + s.tokens.begin + t;
    first_ = (s.batch * means_.key.extent(1) + means_.first[n]) * d.kv_heads + u;
    const Index seen = (t + 1) / problem_.block_size;
    weights_.assign(as_size(t / problem_.block_size + 1), 0);
    size_ = 0;
    for (Index h = 0; h < d.group(); ++h) {
      const double* const q = query_.data() + (token * d.q_heads + u * d.group() + h) * d.dim;
      std::vector<double> scores;
      for (Index c = 0; c < seen; ++c) {
        double sum = 0, size = 0;
        for (Index x = 0; x < d.dim; ++x) {
          const double product = q[x] * static_cast<double>(mean(c)[x]);
          sum += product, size += std::abs(product);
        }
        scores.push_back(problem_.scale * sum);
        size_ = std::max(size_, std::abs(problem_.scale) * size);
      }
      const double top = seen > 0 ? *std::ranges::max_element(scores) : 0;
      double sum = 0;
      for (double& x : scores) sum += x = std::exp(x - top);
      for (std::size_t c = 0; c < scores.size(); ++c) weights_[c] += scores[c] / sum;
    }
    weights_.back() = static_cast<double>(d.group());
  }
  /// Whether `chosen` has the numbers of the most important blocks, in descending order, then -1. A
  /// less important block may be chosen instead of another one if the rounding of f32 scores
  /// explains it. Of blocks with the same mean, the first must be chosen.
  bool explains(std::span<const std::int32_t> chosen) const {
    const Index blocks = static_cast<Index>(weights_.size());
    const Index wanted = std::min(static_cast<Index>(chosen.size()), blocks);
    std::vector<bool> is_chosen(weights_.size());
    for (Index i = 0; i < static_cast<Index>(chosen.size()); ++i) {
      const Index block = chosen[as_size(i)];
      if (i >= wanted ? block != -1 : block < 0 || block >= blocks) return false;
      if (i > 0 && i < wanted && block >= chosen[as_size(i) - 1]) return false;
      if (i < wanted) is_chosen[as_size(block)] = true;
    }
    const double rounding = 2e-6 * (1 + size_);
    for (Index a = 0; a < blocks; ++a) {
      for (Index b = 0; b < blocks; ++b) {
        if (!is_chosen[as_size(a)] || is_chosen[as_size(b)]) continue;
        const double x = weights_[as_size(a)], y = weights_[as_size(b)];
        if (x < y && y - x > rounding * y + 1e-36) return false;
        if (b < a && a < blocks - 1 && std::equal(mean(a), mean(a) + problem_.d.dim, mean(b))) {
          return false;
        }
      }
    }
    return true;
  }

 private:
  const float* mean(Index block) const {
    return means_.key.as<float>().data() + (first_ + block * problem_.d.kv_heads) * problem_.d.dim;
  }

  const BlockProblem& problem_;
  const BlockMeans& means_;
  const std::vector<double> query_;
  Index first_ = 0;  // index in [B,C,Hkv] of the mean of the sequence's first block
  std::vector<double> weights_;
  double size_ = 0;  // largest sum of the magnitudes of the products in a score
};

/// Calls f(n, t, u, row) for each token t of each sequence n and each key head u. `row` has the
/// blocks that were chosen for this token and head.
template <class F>
void for_each_row(const BlockProblem& problem, const Tensor& chosen, F&& f) {
  for (std::size_t n = 0; n < problem.sequences.size(); ++n) {
    const TokenSequence& s = problem.sequences[n];
    for (Index t = 0; t < s.tokens.size(); ++t) {
      for (Index u = 0; u < problem.d.kv_heads; ++u) {
        const Index token = s.batch * problem.d.queries + s.tokens.begin + t;
        const Index begin = (token * problem.d.kv_heads + u) * problem.count;
        f(n, t, u, chosen.as<std::int32_t>().subspan(as_size(begin), as_size(problem.count)));
      }
    }
  }
}

void check_gradients(const SoftmaxGradients& seen, const SoftmaxGradients& expected,
                     double tolerance) {
  check_close(seen.query, expected.query, tolerance, "d_query");
  check_close(seen.key, expected.key, tolerance, "d_key");
  check_close(seen.value, expected.value, tolerance, "d_value");
}

SoftmaxResult attend(const Call& call, Backend backend) {
  return apply_native_sparse_attention(call.given(), call.on(backend));
}
SoftmaxGradients gradients(const Call& call, const SoftmaxResult& forward, Backend backend) {
  return apply_native_sparse_attention_backward(call.given(), forward, call.d_out,
                                                call.on(backend));
}

/// Calls check(call, tolerance, seed) for random calls that tensor cores can compute, of both
/// dtypes.
template <class F>
void for_even_calls(F&& check) {
  for (std::size_t n = 1; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(40);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      Call call = random_even_call(static_cast<unsigned>(seed), kTypes[n]);
      check(call, kTolerances[n], seed);
    }
    gpu_test::say_ran("blocks_forward, blocks_backward", name(kTypes[n]), calls,
                      cuda::hopper::unavailable().empty() ? "tensor cores" : "plain");
  }
}

}  // namespace

TEST_CASE("gpu: attention over listed blocks equals the CPU's, forward and backward", "[big]") {
  for (std::size_t n = 0; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(40);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      const Call call = random_call(static_cast<unsigned>(seed), kTypes[n]);
      const SoftmaxResult expected = attend(call, Backend::kCpu),
                          seen = attend(call, Backend::kCuda);
      check_close(seen.out, expected.out, kTolerances[n], "out");
      check_close(seen.lse, expected.lse, kTolerances[n], "lse");
      check_gradients(gradients(call, expected, Backend::kCuda),
                      gradients(call, expected, Backend::kCpu), 2 * kTolerances[n]);
    }
    gpu_test::say_ran("blocks_forward, blocks_backward", name(kTypes[n]), calls);
  }
}

TEST_CASE("gpu: attention to listed blocks on tensor cores equals the CPU's", "[tensor cores]") {
  for_even_calls([](const Call& call, double tolerance, int) {
    const SoftmaxResult expected = attend(call, Backend::kCpu), seen = attend(call, Backend::kCuda);
    check_close(seen.out, expected.out, tolerance, "out");
    check_close(seen.lse, expected.lse, tolerance, "lse");
    check_gradients(gradients(call, expected, Backend::kCuda),
                    gradients(call, expected, Backend::kCpu), 2 * tolerance);
  });
}

TEST_CASE("gpu: calls on listed blocks repeat bit by bit, and NaN reaches only rows that see it",
          "[tensor cores][values]") {
  for_even_calls([](Call& call, double, int seed) {
    const SoftmaxResult expected = attend(call, Backend::kCpu), seen = attend(call, Backend::kCuda);
    const SoftmaxGradients differentiated = gradients(call, expected, Backend::kCuda);
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
    const SoftmaxResult with_nan = attend(call, Backend::kCuda);
    const auto before = as_size((tokens - 1) * call.query.extent(2) * call.query.extent(3));
    const auto check_before = [&](const Tensor& x, const Tensor& y) {
      CHECK(std::ranges::equal(x.as<std::uint16_t>().first(before),
                               y.as<std::uint16_t>().first(before)));
    };
    check_before(with_nan.out, seen.out);
    check_before(gradients(call, expected, Backend::kCuda).query, differentiated.query);
  });
}

TEST_CASE("gpu: the GPU chooses the same blocks as the CPU", "[slow]") {
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

TEST_CASE("gpu: blocks chosen on tensor cores follow the definition", "[tensor cores]") {
  for (std::size_t n = 1; n < std::size(kTypes); ++n) {
    const int calls = gpu_test::calls(80);
    std::size_t others = 0, total = 0;
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      RandomTensors r(static_cast<unsigned>(seed));
      Selection selection = random_selection(static_cast<unsigned>(seed), kTypes[n]);
      // In every third call, all means and all queries are multiplied by random powers of two, and
      // the softmax scale is divided by them, so that the scores have their usual size.
      const auto size_of = [&](Index most) {
        return seed % 3 == 0 ? std::exp2(static_cast<float>(r.below(2 * most) - most)) : 1.0f;
      };
      const float size = size_of(40), query_size = size_of(kTypes[n] == DType::kBFloat16 ? 40 : 3);
      BlockMeans means = block_means(selection.problem());
      for (float& x : means.key.as<float>()) x *= size;
      Tensor query = astype(selection.query, DType::kFloat32);
      for (float& x : query.as<float>()) x *= query_size;
      selection.query = astype(query, kTypes[n]);
      selection.options.softmax_scale =
          (r.chance(0.2) ? -4 : 1) / (std::sqrt(static_cast<double>(selection.query.extent(3))) *
                                      static_cast<double>(size) * static_cast<double>(query_size));
      const BlockProblem problem = selection.problem();
      const Index row = problem.d.kv_heads * problem.d.dim;
      const auto rows = means.key.as<float>();
      // In every other call, neighbouring means are often equal, or nearly so.
      for (Index c = 1; c < means.key.extent(1) && seed % 2 == 0; ++c) {
        if (r.chance(0.5)) continue;
        const bool nearly = r.chance(0.5);
        for (Index i = c * row; i < (c + 1) * row; ++i) {
          const float change = nearly ? static_cast<float>(r.below(2049) - 1024) / (1 << 22) : 0.0f;
          rows[as_size(i)] = rows[as_size(i - row)] * (1 + change);
        }
      }
      const Tensor expected = chosen_blocks(problem, problem.query, means, Backend::kReference);
      const Tensor seen = chosen_blocks(problem, problem.query, means, Backend::kCuda);
      Importance importance(problem, means);
      for_each_row(problem, seen, [&](std::size_t sequence, Index t, Index u, const auto& chosen) {
        importance.find(sequence, t, u);
        INFO("sequence " << sequence << " token " << t << " key head " << u);
        REQUIRE(importance.explains(chosen));
      });
      const auto a = seen.as<std::int32_t>(), b = expected.as<std::int32_t>();
      for (std::size_t i = 0; i < a.size(); ++i, ++total) others += a[i] != b[i];
      check_close(chosen_blocks(problem, problem.query, means, Backend::kCuda), seen, 0, "twice");
    }
    INFO(others << " of " << total << " differ");
    CHECK(others <= total / 1000);
    gpu_test::say_ran("select_blocks", name(kTypes[n]), calls, "tensor cores");
  }
}

TEST_CASE("gpu: among blocks of equal importance or NaN, the first are chosen",
          "[tensor cores][values]") {
  const int calls = gpu_test::calls(40);
  for (int seed = 0; seed < calls; ++seed) {
    const DType dtype = kTypes[seed % 2 + 1];
    INFO(name(dtype) << " seed " << seed);
    RandomTensors r(static_cast<unsigned>(seed));
    Selection selection = random_selection(static_cast<unsigned>(seed), dtype);
    const BlockProblem problem = selection.problem();
    BlockMeans means = block_means(problem);
    const Tensor before = chosen_blocks(problem, problem.query, means, Backend::kCuda);

    // With NaN in the mean of a block, all blocks of each token that sees this block have NaN as
    // their importance, except the token's own block, so that they count as equal.
    const auto sequence = as_size(r.below(static_cast<Index>(problem.sequences.size())));
    const Index whole = problem.sequences[sequence].tokens.size() / problem.block_size;
    if (whole > 0) {
      const Index block = r.below(whole), batch = problem.sequences[sequence].batch;
      const Index mean = batch * means.key.extent(1) + means.first[sequence] + block;
      const Index row = problem.d.kv_heads * problem.d.dim;
      for (Index u = 0; u < problem.d.kv_heads; ++u) {
        means.key.as<float>()[as_size(mean * row + u * problem.d.dim + r.below(problem.d.dim))] =
            std::nanf("");
      }
      const Tensor seen = chosen_blocks(problem, problem.query, means, Backend::kCuda);
      const auto* unpoisoned = before.as<std::int32_t>().data();
      for_each_row(problem, seen, [&](std::size_t n, Index t, Index, const auto& chosen) {
        const auto* const old = unpoisoned + (chosen.data() - seen.as<std::int32_t>().data());
        if (n != sequence || (t + 1) / problem.block_size <= block) {
          CHECK(std::ranges::equal(chosen, std::span(old, chosen.size())));
          return;
        }
        const Index own = t / problem.block_size, wanted = std::min(problem.count, own + 1);
        for (Index i = 0; i < wanted; ++i) {
          CHECK(chosen[as_size(i)] == (i == 0 ? own : wanted - 1 - i));
        }
      });
    }

    // Queries of zeros: all complete blocks weigh the same.
    std::ranges::fill(selection.query.as<std::uint16_t>(), std::uint16_t{0});
    const BlockMeans usual = block_means(problem);
    check_close(chosen_blocks(problem, problem.query, usual, Backend::kCuda),
                chosen_blocks(problem, problem.query, usual, Backend::kReference), 0, "ties");
  }
  gpu_test::say_ran("select_blocks with ties and NaN", "float16, bfloat16", calls, "tensor cores");
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
