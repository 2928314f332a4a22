// Compares native sparse attention with its float64 reference; the reference with softmax attention
// under a mask of the listed blocks, values computed by hand and finite differences. Also tests all
// forms of the call, and bad input.
#include "maskctl/attention/operations/native_sparse/native_sparse.h"

#include <array>
#include <limits>

#include "maskctl/attention/operations/native_sparse/checked.h"
#include "maskctl/attention/operations/native_sparse/compression.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/finite_differences.h"
#include "support/tensors.h"

namespace native_sparse_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;
using Catch::Matchers::Contains;

struct Problem {
  Tensor query, key, value, d_out;
  std::optional<Tensor> g_cmp, g_slc, block_indices, block_counts, cu_seqlens;
  NativeSparseOptions options;

  NativeSparseInputs inputs() const {
    const auto at = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
    return {&query,           &key,          &value, at(g_cmp), at(g_slc), at(block_indices),
            at(block_counts), at(cu_seqlens)};
  }
  NativeSparseOptions with(Backend backend) const {
    NativeSparseOptions o = options;
    o.context.backend = backend;
    return o;
  }
};

Problem problem(unsigned seed, bool compressed, DType dtype = DType::kFloat32) {
  RandomTensors r(seed);
  Problem p;
  const bool packed = r.chance(0.3);
  const Index b = packed ? 1 : 1 + r.below(2), u = 1 + r.below(2), h = u * (1 + r.below(5));
  const Index t = 1 + r.below(r.chance(0.3) ? 150 : 30);
  const Index d = 1 + r.below(24), dv = r.chance(0.5) ? d : 1 + r.below(24);
  p.query = r.normal({b, t, h, d}, dtype);
  p.key = r.normal({b, t, u, d}, dtype);
  p.value = r.normal({b, t, u, dv}, dtype);
  p.d_out = r.normal({b, t, h, dv}, dtype);
  p.options.block_size = 1 + r.below(9);
  p.options.block_counts = 1 + r.below(4);
  if (r.chance(0.3)) p.options.softmax_scale = 0.6;
  if (r.chance(0.3)) p.options.duplicate_blocks = DuplicateBlocks::kOnce;
  if (packed) p.cu_seqlens = r.cu_seqlens(1 + r.below(4), t);
  if (compressed) {
    p.g_cmp = r.uniform({b, t, h}, 0, 1);
    if (r.chance(0.5)) p.g_slc = r.uniform({b, t, h}, 0, 1);
    return p;
  }
  const Index blocks = ceil_div(t, p.options.block_size);
  const Index listed = 1 + r.below(5);
  p.block_indices.emplace(DType::kInt32, std::vector<Index>{b, t, u, listed});
  for (auto& n : p.block_indices->as<std::int32_t>()) {
    // Some block numbers are -1 or past the last block.
    n = static_cast<std::int32_t>(r.below(blocks + 3) - 1);
  }
  if (r.chance(0.4)) {
    p.block_counts.emplace(DType::kInt32, std::vector<Index>{b, t, u});
    for (auto& n : p.block_counts->as<std::int32_t>()) n = static_cast<std::int32_t>(r.below(5));
  }
  return p;
}

/// Returns the token range of the sequence that holds token t; an empty range if t is past the last
/// sequence.
Range sequence_of(const Problem& p, Index t) {
  if (!p.cu_seqlens) return {0, p.query.extent(1)};
  const auto ends = p.cu_seqlens->as<std::int32_t>();
  for (std::size_t n = 1; n < ends.size(); ++n) {
    if (t >= ends[n - 1] && t < ends[n]) return {ends[n - 1], ends[n]};
  }
  return {t, t};
}

/// Makes the mask of the listed blocks cell by cell. A block that is listed twice counts once.
Mask mask_of_blocks(const Problem& p) {
  const Index batch = p.query.extent(0), t = p.query.extent(1), heads = p.query.extent(2);
  const Index kv = p.key.extent(2), listed = p.block_indices->extent(3);
  Tensor dense(DType::kBool, {batch, heads, t, t});
  std::size_t cell = 0;
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < t; ++i) {
        const Range s = sequence_of(p, i);
        const std::size_t row = as_size((b * t + i) * kv + h / (heads / kv));
        const Index count =
            p.block_counts ? p.block_counts->as<std::int32_t>()[row] : p.options.block_counts;
        for (Index j = 0; j < t; ++j, ++cell) {
          for (Index n = 0; n < std::min(count, listed); ++n) {
            const Index block =
                p.block_indices->as<std::int32_t>()[row * as_size(listed) + as_size(n)];
            const bool in_block = j >= s.begin && (j - s.begin) / p.options.block_size == block;
            if (in_block && j <= i) dense.as<std::uint8_t>()[cell] = 1;
          }
        }
      }
    }
  }
  return mask_from_dense(dense);
}

void check_gradients(const SoftmaxGradients& seen, const SoftmaxGradients& expected,
                     double tolerance) {
  check_close(seen.query, expected.query, tolerance, "d_query");
  check_close(seen.key, expected.key, tolerance, "d_key");
  check_close(seen.value, expected.value, tolerance, "d_value");
}

TEST_CASE(
    "with duplicate_blocks=once, results equal softmax attention under the mask of the blocks") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    Problem p = problem(seed, false);
    p.options.duplicate_blocks = DuplicateBlocks::kOnce;
    const Mask mask = mask_of_blocks(p);
    SoftmaxOptions softmax;
    softmax.scale = p.options.softmax_scale;
    softmax.context.backend = Backend::kReference;
    const SoftmaxInputs dense{&p.query, &p.key, &p.value, &mask};
    const SoftmaxResult expected = softmax_forward(dense, softmax);
    const SoftmaxGradients gradients = softmax_backward(dense, expected, p.d_out, softmax);
    for (const Backend backend : usable_backends()) {
      const SoftmaxResult seen = apply_native_sparse_attention(p.inputs(), p.with(backend));
      check_close(seen.out, expected.out, 2e-6, "out");
      check_close(seen.lse, expected.lse, 2e-6, "lse");
      check_gradients(
          apply_native_sparse_attention_backward(p.inputs(), seen, p.d_out, p.with(backend)),
          gradients, 5e-6);
    }
  }
}

TEST_CASE("the selected branch equals float64 loops in every dtype") {
  for (unsigned seed = 0; seed < 90; ++seed) {
    INFO("seed " << seed);
    const DType dtype = std::array{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[seed % 3];
    const double tolerance = std::array{5e-6, 2e-3, 1.6e-2}[seed % 3];
    const Problem p = problem(seed, false, dtype);
    const SoftmaxResult slow =
        apply_native_sparse_attention(p.inputs(), p.with(Backend::kReference));
    const SoftmaxGradients gradients = apply_native_sparse_attention_backward(
        p.inputs(), slow, p.d_out, p.with(Backend::kReference));
    for (const Backend backend : judged_backends()) {
      INFO(name(backend));
      const SoftmaxResult fast = apply_native_sparse_attention(p.inputs(), p.with(backend));
      check_close(fast.out, slow.out, tolerance, "out");
      check_close(fast.lse, slow.lse, 2e-6, "lse");
      check_gradients(
          apply_native_sparse_attention_backward(p.inputs(), fast, p.d_out, p.with(backend)),
          gradients, tolerance);
    }
  }
}

TEST_CASE("the selected branch equals float64 loops for sizes beyond one tile of a kernel") {
  struct Sizes {
    Index tokens, kv_heads, group, dim, value_dim, block_size, listed;
  };
  const Sizes all[] = {{70, 1, 18, 40, 150, 80, 2}, {90, 2, 2, 140, 33, 70, 3},
                       {100, 1, 1, 5, 3, 1, 70},    {140, 1, 33, 33, 128, 65, 2},
                       {0, 1, 2, 8, 8, 4, 2},       {130, 2, 1, 64, 64, 16, 40},
                       {9, 1, 2, 8, 8, 1000, 1},    {30, 1, 2, 4, 4, 4, 0}};
  for (const Sizes& s : all) {
    INFO(s.tokens << " tokens, " << s.group << " heads of a key head, D " << s.dim);
    RandomTensors r(5);
    Problem p;
    const Index batch = 2, t = s.tokens, u = s.kv_heads, h = u * s.group;
    p.query = r.normal({batch, t, h, s.dim}), p.key = r.normal({batch, t, u, s.dim});
    p.value = r.normal({batch, t, u, s.value_dim}), p.d_out = r.normal({batch, t, h, s.value_dim});
    p.options.block_size = s.block_size, p.options.block_counts = 64;
    p.block_indices.emplace(DType::kInt32, std::vector<Index>{batch, t, u, s.listed});
    for (auto& n : p.block_indices->as<std::int32_t>()) {
      n = static_cast<std::int32_t>(r.below(ceil_div(t, s.block_size)));
    }
    const SoftmaxResult slow =
        apply_native_sparse_attention(p.inputs(), p.with(Backend::kReference));
    const SoftmaxGradients gradients = apply_native_sparse_attention_backward(
        p.inputs(), slow, p.d_out, p.with(Backend::kReference));
    for (const Backend backend : judged_backends()) {
      INFO(name(backend));
      const SoftmaxResult fast = apply_native_sparse_attention(p.inputs(), p.with(backend));
      check_close(fast.out, slow.out, 5e-6, "out");
      check_close(fast.lse, slow.lse, 2e-6, "lse");
      check_gradients(
          apply_native_sparse_attention_backward(p.inputs(), fast, p.d_out, p.with(backend)),
          gradients, 5e-6);
    }
  }
}

TEST_CASE("a block that is listed twice counts twice, or once if asked") {
  // Blocks of one token: key 0 has value 1, and key 1, token 1 itself, has value 3. All logits are
  // equal.
  const Tensor query = f32({1, 2, 1, 1}, {0, 0}), value = f32({1, 2, 1, 1}, {1, 3});
  Tensor blocks = i32({0, 0, 0, 0, 1, 0});
  blocks.reshape({1, 2, 1, 3});
  NativeSparseOptions options;
  options.block_size = 1;
  for (const Backend backend : usable_backends()) {
    options.context.backend = backend;
    const NativeSparseInputs in{&query, &query, &value, nullptr, nullptr, &blocks};
    options.duplicate_blocks = DuplicateBlocks::kCount;
    CHECK(apply_native_sparse_attention(in, options).out.as<float>()[1] == Catch::Approx(5.0 / 3));
    options.duplicate_blocks = DuplicateBlocks::kOnce;
    CHECK(apply_native_sparse_attention(in, options).out.as<float>()[1] == Catch::Approx(2));
    options.block_counts = 1;
    CHECK(apply_native_sparse_attention(in, options).out.as<float>()[1] == Catch::Approx(1));
    options.block_counts = 16;
  }
}

TEST_CASE("lists for blocks of queries give the result of the same lists for each token") {
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    Problem p = problem(seed, false);
    RandomTensors r(seed);
    if (p.cu_seqlens)
      p.cu_seqlens->as<std::int32_t>().back() = static_cast<std::int32_t>(p.query.extent(1));
    const Index batch = p.query.extent(0), t = p.query.extent(1), u = p.key.extent(2);
    const Index size = p.options.block_size, listed = 3;
    std::vector<Index> row_of(as_size(t));  // for each token its query block
    Index rows = 0;
    for (Index i = 0; i < t; ++i) {
      const Range s = sequence_of(p, i);
      if ((i - s.begin) % size == 0) ++rows;
      row_of[as_size(i)] = rows - 1;
    }
    Tensor by_block(DType::kInt64, {batch, rows, u, listed}),
        counts(DType::kInt32, {batch, rows, u});
    for (auto& n : by_block.as<std::int64_t>()) n = r.below(ceil_div(t, size));
    for (auto& n : counts.as<std::int32_t>()) n = static_cast<std::int32_t>(r.below(4));
    p.block_indices.emplace(DType::kInt64, std::vector<Index>{batch, t, u, listed});
    p.block_counts.emplace(DType::kInt32, std::vector<Index>{batch, t, u});
    for (Index b = 0; b < batch; ++b) {
      for (Index i = 0; i < t; ++i) {
        for (Index h = 0; h < u; ++h) {
          const Index from = (b * rows + row_of[as_size(i)]) * u + h, to = (b * t + i) * u + h;
          p.block_counts->as<std::int32_t>()[as_size(to)] =
              counts.as<std::int32_t>()[as_size(from)];
          for (Index n = 0; n < listed; ++n) {
            p.block_indices->as<std::int64_t>()[as_size(to * listed + n)] =
                by_block.as<std::int64_t>()[as_size(from * listed + n)];
          }
        }
      }
    }
    const Tensor expected = apply_native_sparse_attention(p.inputs(), p.options).out;
    p.block_indices = by_block;
    check_close(apply_native_sparse_attention(p.inputs(), p.options).out, expected, 0, "indices");
    p.block_counts = counts;
    check_close(apply_native_sparse_attention(p.inputs(), p.options).out, expected, 0, "counts");
  }
}

TEST_CASE("the compressed branch gives values computed by hand for 6 tokens in blocks of 2") {
  const Tensor query = f32({1, 6, 1, 1}, {0.5f, 1, -1, 2, 1.5f, -0.5f});
  const Tensor key = f32({1, 6, 1, 1}, {1, 0, -1, 2, 0.5f, 0.5f});
  const Tensor value = f32({1, 6, 1, 1}, {1, 2, 3, 4, 5, 6});
  const Tensor gate = f32({1, 6, 1}, {1, 1, 1, 1, 1, 1});
  NativeSparseOptions options;
  options.block_size = 2, options.block_counts = 2, options.softmax_scale = 1;
  for (const Backend backend : usable_backends()) {
    options.context.backend = backend;
    const NativeSparseResult seen = native_sparse_attention({&query, &key, &value, &gate}, options);
    check_close(seen.compressed->out, f32({1, 6, 1, 1}, {0, 1.5f, 1.5f, 2.5f, 2.5f, 3.5f}), 1e-6,
                "compressed");
    const float none = -std::numeric_limits<float>::infinity();
    check_close(seen.compressed->lse,
                f32({1, 1, 6}, {none, 0.5f, -0.5f, 1.693147f, 1.443147f, 0.848612f}), 1e-6, "lse");
    check_close(seen.selected.out,
                f32({1, 6, 1, 1}, {1, 1.268941f, 2.575210f, 3.614995f, 2.246004f, 3.531249f}), 1e-6,
                "selected");
    Tensor ids = i32({0, -1, 0, -1, 1, 0, 1, 0, 2, 0, 2, 0});
    ids.reshape({1, 6, 1, 2});
    check_close(*seen.selected_block_indices, ids, 0, "ids");
    Tensor sum = seen.selected.out;
    for (std::size_t i = 0; i < 6; ++i) sum.as<float>()[i] += seen.compressed->out.as<float>()[i];
    check_close(seen.out, sum, 0, "out");
  }
}

TEST_CASE(
    "of blocks with equal importance the first is chosen, even before the token's own block") {
  // While a token sees only one whole block, that block has all the weight of each query head. This
  // is as much importance as the token's own block gets.
  RandomTensors r(4);
  const Tensor query = r.normal({1, 7, 3, 5}), key = r.normal({1, 7, 1, 5});
  const Tensor gate = r.uniform({1, 7, 3}, 0, 1);
  NativeSparseOptions options;
  options.block_size = 4, options.block_counts = 1;
  for (const Backend backend : usable_backends()) {
    options.context.backend = backend;
    const auto seen = native_sparse_attention({&query, &key, &key, &gate}, options);
    for (const std::int32_t id : seen.selected_block_indices->as<std::int32_t>()) CHECK(id == 0);
  }
}

/// Returns the blocks that a backend chooses for each query; the compressed branch does not run.
Tensor chosen_blocks(const Problem& p, Backend backend) {
  const BlockProblem blocks = checked_block_problem(p.inputs(), p.options);
  const BlockMeans means = block_means(blocks);
  Tensor chosen(DType::kInt32, {blocks.d.batch, blocks.d.queries, blocks.d.kv_heads, blocks.count});
  run_kernel(Context{backend}, "select_blocks", &Kernels::select_blocks,
             SelectionProblem{&blocks, blocks.query, means.key, &means.first}, chosen);
  return chosen;
}

TEST_CASE("every backend chooses the blocks that the definition chooses") {
  std::size_t others = 0, total = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    Problem p = problem(seed, true);
    if (seed % 4 == 0) p.options.block_counts = 1 + seed;
    // More heads and more blocks than fit a tile of the kernels.
    if (seed % 10 == 0) {
      RandomTensors r(seed);
      p.query = r.normal({1, 80, 40, 6}), p.key = r.normal({1, 80, 2, 6});
      p.value = p.key, p.cu_seqlens.reset();
      p.options.block_size = 1, p.options.block_counts = 7;
    }
    const Tensor expected = chosen_blocks(p, Backend::kReference);
    for (const Backend backend : judged_backends()) {
      INFO("seed " << seed << " on " << name(backend));
      const Tensor seen = chosen_blocks(p, backend);
      // Blocks whose weights differ by rounding alone may be ranked either way.
      for (std::size_t i = 0; i < as_size(seen.elements()); ++i, ++total) {
        others += seen.as<std::int32_t>()[i] != expected.as<std::int32_t>()[i];
      }
    }
  }
  INFO(others << " of " << total << " differ");
  CHECK(others <= total / 10000);
}

TEST_CASE("the gated form equals float64 loops, forward and backward") {
  Index other_choices = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    INFO("seed " << seed);
    const DType dtype = std::array{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[seed % 3];
    const double tolerance = std::array{5e-6, 2e-3, 1.6e-2}[seed % 3];
    Problem p = problem(seed, seed % 4 != 0, dtype);
    RandomTensors r(seed);
    if (!p.g_cmp)
      p.g_slc = r.uniform({p.query.extent(0), p.query.extent(1), p.query.extent(2)}, 0, 1);
    const NativeSparseResult slow =
        native_sparse_attention(p.inputs(), p.with(Backend::kReference));
    const auto b =
        native_sparse_attention_backward(p.inputs(), slow, p.d_out, p.with(Backend::kReference));
    for (const Backend backend : judged_backends()) {
      INFO(name(backend));
      const NativeSparseResult fast = native_sparse_attention(p.inputs(), p.with(backend));
      REQUIRE(fast.selected_block_indices.has_value() == p.g_cmp.has_value());
      // Blocks whose weights differ by rounding alone may be ranked either way.
      if (p.g_cmp && !std::ranges::equal(fast.selected_block_indices->as<std::int32_t>(),
                                         slow.selected_block_indices->as<std::int32_t>())) {
        ++other_choices;
        continue;
      }
      check_close(fast.out, slow.out, tolerance, "out");
      const auto a = native_sparse_attention_backward(p.inputs(), fast, p.d_out, p.with(backend));
      check_close(a.query, b.query, tolerance, "d_query");
      check_close(a.key, b.key, tolerance, "d_key");
      check_close(a.value, b.value, tolerance, "d_value");
      REQUIRE(a.g_cmp.has_value() == p.g_cmp.has_value());
      REQUIRE(a.g_slc.has_value() == p.g_slc.has_value());
      if (a.g_cmp) check_close(*a.g_cmp, *b.g_cmp, 5e-6, "d_g_cmp");
      if (a.g_slc) check_close(*a.g_slc, *b.g_slc, 5e-6, "d_g_slc");
    }
  }
  CHECK(other_choices <= 2 * static_cast<Index>(judged_backends().size()));
}

double loss(const Problem& p) {
  return dot(native_sparse_attention(p.inputs(), p.with(Backend::kReference)).out, p.d_out);
}

TEST_CASE("gradients of the gated form agree with differences along random directions") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    INFO("seed " << seed);
    Problem p = problem(seed, true);
    const float step = 1e-2f;
    // All blocks are chosen, so that a small step of the inputs cannot change the choice.
    p.options.block_counts = p.query.extent(1);
    const NativeSparseResult all = native_sparse_attention(p.inputs(), p.with(Backend::kReference));
    const auto gradients =
        native_sparse_attention_backward(p.inputs(), all, p.d_out, p.with(Backend::kReference));
    RandomTensors r(seed);
    const auto check = [&](Tensor& array, const Tensor& gradient, const char* what) {
      const Tensor before = array, direction = r.normal(array.shape());
      const double expected = dot(gradient, direction);
      const auto move = [&](float by) {
        for (std::size_t i = 0; i < as_size(array.elements()); ++i) {
          array.as<float>()[i] = before.as<float>()[i] + by * direction.as<float>()[i];
        }
        return loss(p);
      };
      const double seen = (move(step) - move(-step)) / (2 * static_cast<double>(step));
      array = before;
      INFO(what);
      CHECK(seen == Catch::Approx(expected).epsilon(2e-2).margin(2e-2));
    };
    check(p.query, gradients.query, "query");
    check(p.key, gradients.key, "key");
    check(p.value, gradients.value, "value");
    check(*p.g_cmp, *gradients.g_cmp, "g_cmp");
    if (p.g_slc) check(*p.g_slc, *gradients.g_slc, "g_slc");
  }
}

TEST_CASE("each sequence of a packed call gives the result of a call of its own") {
  RandomTensors r(9);
  const Index lengths[] = {7, 0, 13}, total = 20;
  Problem p;
  p.query = r.normal({1, total, 4, 6}), p.key = r.normal({1, total, 2, 6});
  p.value = r.normal({1, total, 2, 6}), p.d_out = r.normal({1, total, 4, 6});
  p.g_cmp = r.uniform({1, total, 4}, 0, 1);
  p.cu_seqlens = i32({0, 7, 7, 20});
  p.options.block_size = 4, p.options.block_counts = 2;
  const Tensor packed = native_sparse_attention(p.inputs(), p.options).out;
  Index begin = 0;
  for (const Index n : lengths) {
    const auto part = [&](const Tensor& array) {
      std::vector<Index> shape = array.shape();
      shape[1] = n;
      Tensor out(array.dtype(), shape);
      const Index row = array.elements() / total;
      std::copy_n(array.as<float>().begin() + begin * row, n * row, out.as<float>().begin());
      return out;
    };
    const Tensor q = part(p.query), k = part(p.key), v = part(p.value), g = part(*p.g_cmp);
    check_close(native_sparse_attention({&q, &k, &v, &g}, p.options).out, part(packed), 2e-6,
                "sequence");
    begin += n;
  }
}

TEST_CASE("NaN in a key that no token sees has no effect") {
  Problem p;
  p.options.block_size = 2;
  const Index t = 9;
  RandomTensors r(1);
  p.query = r.normal({1, t, 2, 8}), p.key = r.normal({1, t, 1, 8}),
  p.value = r.normal({1, t, 1, 8});
  // All tokens list block 0 alone.
  p.block_indices.emplace(DType::kInt32, std::vector<Index>{1, t, 1, 1});
  const Tensor clean = apply_native_sparse_attention(p.inputs(), p.options).out;
  for (Index i = 2 * 8; i < t * 8; ++i) {
    p.key.as<float>()[as_size(i)] = p.value.as<float>()[as_size(i)] = std::nanf("");
  }
  for (const Backend backend : usable_backends()) {
    check_close(apply_native_sparse_attention(p.inputs(), p.with(backend)).out, clean, 2e-6, "out");
  }
}

TEST_CASE("if tasks share a head, gradients equal the twin's, with the same bits for any threads") {
  RandomTensors r(9);
  for (const Index t : {1, 64, 65, 400}) {
    Problem p;
    p.options.block_size = 16;
    p.query = r.normal({1, t, 4, 24}), p.key = r.normal({1, t, 1, 24});
    p.value = r.normal({1, t, 1, 24}), p.d_out = r.normal({1, t, 4, 24});
    p.block_indices.emplace(DType::kInt32, std::vector<Index>{1, t, 1, 3});
    for (auto& n : p.block_indices->as<std::int32_t>()) {
      n = static_cast<std::int32_t>(r.below(ceil_div(t, 16)));
    }
    const SoftmaxResult forward = apply_native_sparse_attention(p.inputs(), p.options);
    const auto gradients = [&](Backend backend, int count) {
      set_threads(count);
      auto found =
          apply_native_sparse_attention_backward(p.inputs(), forward, p.d_out, p.with(backend));
      set_threads(0);
      return found;
    };
    const SoftmaxGradients one = gradients(Backend::kCpu, 1);
    check_gradients(one, gradients(Backend::kReference, 1), 5e-6);
    for (const int count : {2, 3, 8}) check_gradients(gradients(Backend::kCpu, count), one, 0);
  }
}

TEST_CASE("native sparse attention refuses a bad call with one error before any work") {
  RandomTensors r(1);
  const Tensor query = r.normal({2, 6, 4, 8}), key = r.normal({2, 6, 2, 8});
  const Tensor gate = r.normal({2, 6, 4});
  const Tensor blocks(DType::kInt32, {2, 6, 2, 3});
  const auto error = [&](NativeSparseInputs in, NativeSparseOptions options = {}) {
    return error_of([&] { native_sparse_attention(in, options); });
  };
  const NativeSparseInputs good{&query, &key, &key, nullptr, nullptr, &blocks};
  CHECK(error(good) == "no error");
  NativeSparseInputs in = good;
  in.block_indices = nullptr;
  CHECK(error(in) == "neither block_indices nor g_cmp; one of them says which blocks a token sees");
  const Tensor rows(DType::kInt32, {2, 5, 2, 3}), floats(DType::kFloat32, {2, 6, 2, 3});
  in.block_indices = &rows;
  CHECK(error(in) == "block_indices is (2, 5, 2, 3), expected (2, 6, 2, 3)");
  in.block_indices = &floats;
  CHECK(error(in) == "block_indices is float32, expected integers");
  in = good;
  Tensor counts(DType::kInt32, {2, 6, 2});
  counts.as<std::int32_t>()[3] = -1;
  in.block_counts = &counts;
  CHECK(error(in) == "block_counts holds -1, expected 0 or more");
  in = good;
  const Tensor cu = i32({0, 6});
  in.cu_seqlens = &cu;
  CHECK(error(in) == "cu_seqlens needs a batch of 1, the batch is 2; pack the rows");
  in = good;
  const Tensor short_gate = r.normal({2, 6, 2}), other = r.normal({2, 5, 2, 8});
  in.g_slc = &short_gate;
  CHECK(error(in) == "g_slc is (2, 6, 2), expected (2, 6, 4)");
  in = good;
  in.key = in.value = &other;
  CHECK(error(in) == "6 queries and 5 keys, expected as many");
  NativeSparseOptions options;
  options.block_size = 0;
  CHECK(error(good, options) == "block_size is 0, expected 1 or more");
  options = {};
  options.block_counts = 0;
  CHECK(error(good, options) == "block_counts is 0, expected 1 or more");
  in = good;
  in.g_slc = &gate;
  CHECK_THAT(error_of([&] { apply_native_sparse_attention(in); }), Contains("gates"));
}

}  // namespace

}  // namespace native_sparse_cases
