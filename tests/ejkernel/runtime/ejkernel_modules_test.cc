// Tests every example of the documentation of ejkernel.modules, in its order, translated to C++,
// against the mathematics in plain loops.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/base/error.h"
#include "maskctl/ejkernel/calls/call_masks.h"
#include "maskctl/ejkernel/mask_info/mask_info.h"
#include "maskctl/ejkernel/runtime/modules.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace ejkernel_modules_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using maskctl::test::i32;

// The functions *_twin() compute the expected results in float64, element by element.

using Sees = std::function<bool(Index b, Index h, Index i, Index j)>;

double at(const Tensor& t, Index a, Index b, Index c, Index d) {
  return t.as<float>()[as_size(((a * t.extent(1) + b) * t.extent(2) + c) * t.extent(3) + d)];
}

/// Softmax attention of arrays [B,T,H,D] over the keys that a query sees; 0 where it sees none.
Tensor attention_twin(const Tensor& q, const Tensor& k, const Tensor& v, const Sees& sees,
                      const Tensor* bias = nullptr) {
  Tensor out(DType::kFloat32, {q.extent(0), q.extent(1), q.extent(2), v.extent(3)});
  const Index group = q.extent(2) / k.extent(2), dim = q.extent(3);
  for (Index b = 0; b < q.extent(0); ++b) {
    for (Index h = 0; h < q.extent(2); ++h) {
      for (Index i = 0; i < q.extent(1); ++i) {
        std::vector<double> weight(as_size(k.extent(1)));
        double sum = 0;
        for (Index j = 0; j < k.extent(1); ++j) {
          if (!sees(b, h, i, j)) continue;
          double s = 0;
          for (Index d = 0; d < dim; ++d) s += at(q, b, i, h, d) * at(k, b, j, h / group, d);
          s /= std::sqrt(static_cast<double>(dim));
          if (bias) s += at(*bias, b, h, i, j);
          sum += weight[as_size(j)] = std::exp(s);
        }
        for (Index d = 0; d < v.extent(3) && sum > 0; ++d) {
          double o = 0;
          for (Index j = 0; j < k.extent(1); ++j) {
            o += weight[as_size(j)] / sum * at(v, b, j, h / group, d);
          }
          out.as<float>()[as_size(((b * q.extent(1) + i) * q.extent(2) + h) * v.extent(3) + d)] =
              static_cast<float>(o);
        }
      }
    }
  }
  return out;
}

/// The recurrence state = exp(decay) * state + k v^T, out = q state / sqrt(D), where decay(b, t, h,
/// d) is a logarithm.
struct RecurrenceTwin {
  Tensor out, state;  // out [B,T,H,V], state [B,H,K,V]
};
RecurrenceTwin recurrence_twin(const Tensor& q, const Tensor& k, const Tensor& v,
                               const std::function<double(Index, Index, Index, Index)>& decay,
                               const Tensor* start = nullptr) {
  const Index batch = q.extent(0), time = q.extent(1), heads = q.extent(2), dim = q.extent(3),
              width = v.extent(3);
  RecurrenceTwin twin{Tensor(DType::kFloat32, {batch, time, heads, width}),
                      Tensor(DType::kFloat32, {batch, heads, dim, width})};
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index x = 0; x < width; ++x) {
        std::vector<double> state(as_size(dim));
        for (Index d = 0; d < dim && start; ++d) state[as_size(d)] = at(*start, b, h, d, x);
        for (Index t = 0; t < time; ++t) {
          double o = 0;
          for (Index d = 0; d < dim; ++d) {
            double& s = state[as_size(d)];
            s = std::exp(decay(b, t, h, d)) * s + at(k, b, t, h, d) * at(v, b, t, h, x);
            o += at(q, b, t, h, d) * s / std::sqrt(static_cast<double>(dim));
          }
          twin.out.as<float>()[as_size(((b * time + t) * heads + h) * width + x)] =
              static_cast<float>(o);
        }
        for (Index d = 0; d < dim; ++d) {
          twin.state.as<float>()[as_size(((b * heads + h) * dim + d) * width + x)] =
              static_cast<float>(state[as_size(d)]);
        }
      }
    }
  }
  return twin;
}

void check_close(const Tensor& seen, const Tensor& expected, double tolerance = 2e-5) {
  REQUIRE(seen.shape() == expected.shape());
  double worst = 0;
  for (Index i = 0; i < seen.elements(); ++i) {
    worst = std::max(worst, std::abs(static_cast<double>(seen.as<float>()[as_size(i)]) -
                                     static_cast<double>(expected.as<float>()[as_size(i)])));
  }
  CHECK(worst <= tolerance);
}

// From here on: the examples of the documentation.

struct Qkv {
  Tensor query, key, value;
};
Qkv qkv(Index batch, Index time, Index heads, Index kv_heads, Index dim) {
  return {random_normal({batch, time, heads, dim}, 1),
          random_normal({batch, time, kv_heads, dim}, 2),
          random_normal({batch, time, kv_heads, dim}, 3)};
}

const Sees kAll = [](Index, Index, Index, Index) { return true; };
const Sees kCausal = [](Index, Index, Index i, Index j) { return j <= i; };

/// Returns a runtime that never tunes; the examples about tuning have runtimes of their own.
Runtime& plain() {
  static Runtime runtime([] {
    RuntimeOptions options;
    options.cache_miss = CacheMiss::kHeuristics;
    return options;
  }());
  return runtime;
}

FlashAttentionOptions causal_flash() {
  FlashAttentionOptions options;
  options.mask.causal = true;
  return options;
}

TEST_CASE("ejkernel.modules: the examples of the function and the module API work") {
  const auto [query, key, value] = qkv(2, 12, 4, 2, 8);
  const Tensor expected = attention_twin(query, key, value, kCausal);
  // output = flash_attention(query, key, value, causal=True)
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, causal_flash()).out, expected);
  // executor = Executor(ConfigSelectorChain(cache=ConfigCache()))
  // attn_module = FlashAttention()
  // output = executor(attn_module, query=query, key=key, value=value, causal=True)
  ConfigSelectorChain::Options chain;
  chain.cache = std::make_shared<ConfigCache>();
  chain.policy.cache_miss_fallback = CacheMiss::kHeuristics;
  const Executor executor(std::make_shared<ConfigSelectorChain>(chain));
  const FlashAttention attn_module;
  check_close(executor(attn_module, {&query, &key, &value}, causal_flash()).out, expected);
}

TEST_CASE("ejkernel.modules: the platform is chosen automatically or by name") {
  const auto [query, key, value] = qkv(1, 10, 2, 2, 8);
  // output = flash_attention(query, key, value, platform="xla")
  CallOptions call;
  call.platform = Platform::kXla;
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, {}, call).out,
              attention_twin(query, key, value, kAll));
  // output = flash_attention(query, key, value, platform="triton"), which is a clear error in C++
  call.platform = Platform::kTriton;
  CHECK_THROWS_AS(plain().call<FlashAttentionOp>({&query, &key, &value}, {}, call), Error);
}

TEST_CASE("ejkernel.modules: the first call tunes, the second one uses the stored config") {
  const auto [query, key, value] = qkv(1, 10, 2, 2, 8);
  int tuned = 0;
  RuntimeOptions options;
  options.tuner.warmup = 0;
  options.tuner.iters = 1;
  options.on_event = [&tuned](const SelectionEvent& event) {
    tuned += event.name == "autotune_finish" ? 1 : 0;
  };
  Runtime runtime(options);
  const Tensor expected = attention_twin(query, key, value, kAll);
  check_close(runtime.call<FlashAttentionOp>({&query, &key, &value}).out, expected);
  CHECK(tuned == 1);
  check_close(runtime.call<FlashAttentionOp>({&query, &key, &value}).out, expected);
  CHECK(tuned == 1);
}

TEST_CASE("ejkernel.modules: the example of flash_attention works") {
  const auto [query, key, value] = qkv(1, 300, 2, 1, 8);
  const auto call = [&](const FlashAttentionOptions& options) {
    return plain().call<FlashAttentionOp>({&query, &key, &value}, options).out;
  };
  // output = flash_attention(query, key, value)
  check_close(call({}), attention_twin(query, key, value, kAll));
  // output = flash_attention(query, key, value, causal=True)
  check_close(call(causal_flash()), attention_twin(query, key, value, kCausal));
  // output = flash_attention(query, key, value, sliding_window=256)
  FlashAttentionOptions window;
  window.mask.window = 256;
  check_close(call(window), attention_twin(query, key, value, [](Index, Index, Index i, Index j) {
                return i - 256 <= j && j <= i + 256;
              }));
  // output = flash_attention(query, key, value, bias=attention_bias)
  const Tensor attention_bias = random_normal({1, 2, 300, 300}, 4);
  FlashAttentionOptions biased;
  biased.bias = &attention_bias;
  check_close(call(biased), attention_twin(query, key, value, kAll, &attention_bias));
}

TEST_CASE("ejkernel.modules: the example of flash_attention with variable lengths works") {
  const auto [query, key, value] = qkv(1, 512, 2, 2, 4);
  const Tensor cu_seqlens = i32({0, 128, 300, 512});
  // output = flash_attention(query, key, value, cum_seqlens_q=[0, 128, 300, 512],
  // cum_seqlens_k=...)
  FlashAttentionOptions options;
  options.mask.cum_seqlens_q = &cu_seqlens;
  options.mask.cum_seqlens_k = &cu_seqlens;
  const auto sequence = [](Index i) { return i < 128 ? 0 : i < 300 ? 1 : 2; };
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, options).out,
              attention_twin(query, key, value, [&](Index, Index, Index i, Index j) {
                return sequence(i) == sequence(j);
              }));
}

TEST_CASE("ejkernel.modules: the example of flash_attention with a MaskInfo works") {
  const auto [query, key, value] = qkv(2, 6, 2, 2, 8);
  const Tensor segment_ids = i32({2, 6}, {0, 0, 1, 1, 1, -1, 3, 3, 3, 4, 4, 4});
  // mask_info = MaskInfo.from_segments(segment_ids)
  const MaskInfo mask_info = MaskInfo::from_segments(segment_ids);
  // output = flash_attention(query, key, value, mask_info=mask_info)
  FlashAttentionOptions options;
  CallMask mask(mask_info);
  mask.give(options);
  const auto id = [&](Index b, Index i) {
    return segment_ids.as<std::int32_t>()[as_size(b * 6 + i)];
  };
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, options).out,
              attention_twin(query, key, value, [&](Index b, Index, Index i, Index j) {
                return id(b, i) == id(b, j) && id(b, i) >= 0;
              }));
}

PartitionSpec spec(std::vector<std::string> axes) {
  PartitionSpec out;
  for (const std::string& axis : axes) {
    out.axes.push_back(axis.empty() ? AxisName() : AxisName(axis));
  }
  return out;
}

TEST_CASE("ejkernel.modules: the example of ring_attention works") {
  const auto [query, key, value] = qkv(1, 16, 2, 2, 8);
  // mesh = jax.sharding.Mesh(devices, axis_names=('sp',))
  // with mesh: output = ring_attention(query, key, value, axis_name='sp', causal=True)
  RingAttentionOptions options;
  options.axis_name = "sp";
  options.mask.causal = true;
  CallOptions call;
  call.mesh = Mesh{{"sp"}, {4}};
  const PartitionSpec sequence = spec({"", "sp", "", ""});
  call.in_specs = {sequence, sequence, sequence};
  call.out_specs = {sequence};
  const Tensor expected = attention_twin(query, key, value, kCausal);
  check_close(plain().call<RingAttentionOp>({&query, &key, &value}, options, call).out, expected);
  options.ring_size = 4;  // ranks in this process, without a mesh
  check_close(plain().call<RingAttentionOp>({&query, &key, &value}, options).out, expected);
  // The documentation also lists the parameter chunk_size.
  options.mask.chunk_size = 5;
  check_close(plain().call<RingAttentionOp>({&query, &key, &value}, options).out,
              attention_twin(query, key, value, [](Index, Index, Index i, Index j) {
                return i / 5 == j / 5 && j <= i;
              }));
}

TEST_CASE("ejkernel.modules: the example of native_sparse_attention works") {
  const auto [query, key, value] = qkv(1, 256, 4, 2, 8);
  Tensor block_indices(DType::kInt32, {1, 256, 2, 3});
  for (Index n = 0; n < block_indices.elements(); ++n) {
    const Index t = n / 6, head = n / 3 % 2, slot = n % 3;
    block_indices.as<std::int32_t>()[as_size(n)] =
        static_cast<std::int32_t>((t / 64 + slot * (1 + head)) % 4);
  }
  // output = native_sparse_attention(query, key, value, block_indices=..., block_counts=16)
  NativeSparseInputs inputs;
  inputs.query = &query;
  inputs.key = &key;
  inputs.value = &value;
  inputs.block_indices = &block_indices;
  NativeSparseOptions options;
  options.block_counts = 16;
  options.duplicate_blocks = DuplicateBlocks::kOnce;
  const auto listed = [&](Index t, Index head, Index block) {
    const auto* ids = &block_indices.as<std::int32_t>()[as_size((t * 2 + head) * 3)];
    return std::count(ids, ids + 3, static_cast<std::int32_t>(block)) > 0;
  };
  check_close(plain().call<NativeSparseAttentionOp>(inputs, options).out,
              attention_twin(query, key, value, [&](Index, Index h, Index i, Index j) {
                return j <= i && listed(i, h / 2, j / 64);
              }));
  // output = native_sparse_attention(query, key, value, cu_seqlens=..., block_indices=...)
  const Tensor cu_seqlens = i32({0, 100, 256});
  inputs.cu_seqlens = &cu_seqlens;
  const auto start = [](Index i) { return i < 100 ? Index{0} : Index{100}; };
  check_close(plain().call<NativeSparseAttentionOp>(inputs, options).out,
              attention_twin(query, key, value, [&](Index, Index h, Index i, Index j) {
                return start(i) == start(j) && j <= i && listed(i, h / 2, (j - start(j)) / 64);
              }));
}

/// Copies the tokens of each sequence from a cache [pages, page_size, heads, D] to an array [N,
/// tokens, heads, D].
Tensor gathered(const Tensor& pages, const Tensor& tables, Index tokens) {
  const Index size = pages.extent(1), row = pages.extent(2) * pages.extent(3);
  Tensor out(DType::kFloat32, {tables.extent(0), tokens, pages.extent(2), pages.extent(3)});
  for (Index n = 0; n < tables.extent(0); ++n) {
    for (Index p = 0; p < tokens; ++p) {
      const Index page = tables.as<std::int32_t>()[as_size(n * tables.extent(1) + p / size)];
      if (page < 0) continue;
      std::copy_n(pages.as<float>().begin() + (page * size + p % size) * row, row,
                  out.as<float>().begin() + (n * tokens + p) * row);
    }
  }
  return out;
}

TEST_CASE("ejkernel.modules: the example of page_attention works") {
  const Tensor query = random_normal({2, 1, 4, 8}, 1);
  const Tensor key_cache = random_normal({5, 4, 2, 8}, 2),
               value_cache = random_normal({5, 4, 2, 8}, 3);
  const Tensor context_lens = i32({7, 3}), block_tables = i32({2, 2}, {3, 1, 4, -1});
  // output = page_attention(query, key_cache, value_cache, context_lens, block_tables)
  PageAttentionOptions options;
  options.kv_layout = KvLayout::kTokensFirst;  // [num_blocks, block_size, num_kv_heads, head_dim]
  const Tensor out = plain().call<PageAttentionOp>(
      {&query, &key_cache, &value_cache, &context_lens, &block_tables}, options);
  check_close(out,
              attention_twin(query, gathered(key_cache, block_tables, 8),
                             gathered(value_cache, block_tables, 8),
                             [](Index b, Index, Index, Index j) { return j < (b == 0 ? 7 : 3); }));
}

TEST_CASE("ejkernel.modules: the example of ragged_page_attention_v3 works") {
  const Tensor query = random_normal({5, 4, 8}, 1);
  const Tensor key_pages = random_normal({5, 4, 2, 8}, 2),
               value_pages = random_normal({5, 4, 2, 8}, 3);
  const Tensor cu_q = i32({0, 2, 5}), cu_k = i32({0, 6, 9});
  const Tensor page_indices = i32({2, 2}, {3, 1, 4, -1});
  // output = ragged_page_attention_v3(query, key_pages, value_pages, cu_seqlens_q=cu_q,
  //                                   cu_seqlens_k=cu_k, page_indices=page_indices)
  const Tensor out = plain().call<RaggedPageAttentionv3PagesOp>(RaggedPageAttentionV3PagesInputs{
      &query, &key_pages, &value_pages, &cu_q, &cu_k, &page_indices, nullptr});
  // Each query becomes a batch of its own: queries 0 and 1 are tokens 4 and 5 of sequence 0,
  // queries 2 to 4 tokens 0 to 2 of sequence 1.
  Tensor rows = query, tables = i32({5, 2}, {3, 1, 3, 1, 4, -1, 4, -1, 4, -1});
  rows.reshape({5, 1, 4, 8});
  Tensor expected =
      attention_twin(rows, gathered(key_pages, tables, 8), gathered(value_pages, tables, 8),
                     [](Index b, Index, Index, Index j) { return j <= (b < 2 ? 4 + b : b - 2); });
  expected.reshape({5, 4, 8});
  check_close(out, expected);
}

TEST_CASE("ejkernel.modules: the example of scaled_dot_product_attention works") {
  const auto [query, key, value] = qkv(2, 9, 4, 4, 8);
  Tensor mask(DType::kBool, {2, 1, 9, 9});
  for (Index i = 0; i < mask.elements(); ++i) mask.as<std::uint8_t>()[as_size(i)] = i % 3 != 1;
  // output = scaled_dot_product_attention(query, key, value, attention_mask=mask, causal=True)
  ScaledDotProductAttentionOptions options;
  options.mask.attention_mask = &mask;
  options.mask.causal = true;
  check_close(plain().call<ScaledDotProductAttentionOp>({&query, &key, &value}, options).out,
              attention_twin(query, key, value, [&](Index b, Index, Index i, Index j) {
                return j <= i && mask.as<std::uint8_t>()[as_size((b * 9 + i) * 9 + j)] != 0;
              }));
}

/// Swaps the axes of time and heads: [B,T,H,D] gives [B,H,T,D], and [B,H,T,D] gives [B,T,H,D].
Tensor swapped(const Tensor& t) {
  Tensor out(DType::kFloat32, {t.extent(0), t.extent(2), t.extent(1), t.extent(3)});
  for (Index n = 0; n < out.elements(); ++n) {
    const Index d = n % t.extent(3), i = n / t.extent(3) % t.extent(1);
    const Index h = n / (t.extent(3) * t.extent(1)) % t.extent(2),
                b = n / (t.elements() / t.extent(0));
    out.as<float>()[as_size(n)] = static_cast<float>(at(t, b, i, h, d));
  }
  return out;
}

TEST_CASE("ejkernel.modules: the example of blocksparse_attention works") {
  const auto [query, key, value] = qkv(1, 150, 2, 2, 8);
  Tensor block_mask(DType::kBool, {3, 3});
  for (const std::size_t open : {0, 4, 6, 8}) block_mask.as<std::uint8_t>()[open] = 1;
  // output = blocksparse_attention(query, key, value, block_mask=block_mask, block_size=64)
  BlocksparseAttentionOptions options;
  options.mask.block_mask = &block_mask;
  options.mask.block_size = 64;
  const Tensor q = swapped(query), k = swapped(key), v = swapped(value);
  const Tensor out = plain().call<BlockSparseAttentionOp>({&q, &k, &v}, options).out;
  check_close(swapped(out), attention_twin(query, key, value, [&](Index, Index, Index i, Index j) {
                return j <= i && block_mask.as<std::uint8_t>()[as_size(i / 64 * 3 + j / 64)] != 0;
              }));
}

TEST_CASE("ejkernel.modules: the example of gla_attention works") {
  const auto [query, key, value] = qkv(2, 20, 2, 2, 4);
  Tensor gate_values = random_normal({2, 20, 2, 4}, 5);
  for (float& g : gate_values.as<float>()) g = -std::abs(g);  // logarithms of decays are negative
  // output = gla_attention(query, key, value, gate=gate_values)
  GlaAttentionInputs inputs;
  inputs.query = &query;
  inputs.key = &key;
  inputs.value = &value;
  inputs.gate = &gate_values;
  const auto twin = recurrence_twin(query, key, value, [&](Index b, Index t, Index h, Index d) {
    return at(gate_values, b, t, h, d);
  });
  check_close(plain().call<GLAttentionOp>(inputs).out, twin.out, 1e-4);
}

TEST_CASE("ejkernel.modules: the example of lightning_attention works") {
  const auto [query, key, value] = qkv(1, 20, 4, 4, 4);
  Tensor decay_factor(DType::kFloat32, {4});
  std::ranges::copy(std::vector<float>{0, -0.5F, -1, -2}, decay_factor.as<float>().begin());
  // output = lightning_attention(query, key, value, decay=decay_factor)
  LightningAttentionInputs inputs;
  inputs.query = &query;
  inputs.key = &key;
  inputs.value = &value;
  inputs.decay = &decay_factor;
  const auto twin = recurrence_twin(query, key, value, [&](Index, Index, Index h, Index) {
    return static_cast<double>(decay_factor.as<float>()[as_size(h)]);
  });
  check_close(plain().call<LightningAttentionOp>(inputs).out, twin.out, 1e-4);
}

TEST_CASE("ejkernel.modules: the example of recurrent_attention works") {
  const auto [query, key, value] = qkv(2, 6, 2, 2, 4);
  const Tensor previous_state = random_normal({2, 2, 4, 4}, 6);
  // output, new_state = recurrent_attention(query, key, value, state=previous_state)
  RecurrentAttentionInputs inputs;
  inputs.query = &query;
  inputs.key = &key;
  inputs.value = &value;
  inputs.state = &previous_state;
  const auto [output, new_state] = plain().call<RecurrentAttentionOp>(inputs);
  const auto twin = recurrence_twin(
      query, key, value, [](Index, Index, Index, Index) { return 0.0; }, &previous_state);
  check_close(output, twin.out, 1e-4);
  REQUIRE(new_state);
  check_close(*new_state, twin.state, 1e-4);
}

TEST_CASE("ejkernel.modules: the example of grouped_matmul works") {
  const Tensor inputs = random_normal({7, 5}, 1), weights = random_normal({3, 5, 4}, 2);
  const Tensor group_ids = i32({2, 0, 1, 2, 2, 0, 1});
  // output = grouped_matmul(inputs, weights, group_ids)
  GroupedMatmulInputs in;
  in.lhs = &inputs;
  in.rhs = &weights;
  in.group_ids = &group_ids;
  Tensor expected(DType::kFloat32, {7, 4});
  for (Index row = 0; row < 7; ++row) {
    for (Index n = 0; n < 4; ++n) {
      double sum = 0;
      for (Index k = 0; k < 5; ++k) {
        const Index group = group_ids.as<std::int32_t>()[as_size(row)];
        sum += static_cast<double>(inputs.as<float>()[as_size(row * 5 + k)]) *
               static_cast<double>(weights.as<float>()[as_size((group * 5 + k) * 4 + n)]);
      }
      expected.as<float>()[as_size(row * 4 + n)] = static_cast<float>(sum);
    }
  }
  check_close(plain().call<GroupedMatmulOp>(in), expected);
}

TEST_CASE("ejkernel.modules: the example of mean_pooling works") {
  Tensor hidden_states(DType::kFloat32, {2, 3, 2}), expected(DType::kFloat32, {2, 2});
  std::ranges::copy(std::vector<float>{1, 2, 3, 4, 100, 100, 5, 6, 7, 8, 9, 10},
                    hidden_states.as<float>().begin());
  std::ranges::copy(std::vector<float>{2, 3, 7, 8}, expected.as<float>().begin());
  const Tensor attention_mask = i32({2, 3}, {1, 1, 0, 1, 1, 1});
  // pooled = mean_pooling(hidden_states, attention_mask)
  MeanPoolingInputs in;
  in.x = &hidden_states;
  in.attention_mask = &attention_mask;
  check_close(plain().call<MeanPoolingOp>(in), expected, 1e-6);
}

TEST_CASE("ejkernel.modules: the examples of distributed execution work") {
  const auto [query, key, value] = qkv(4, 10, 8, 4, 8);
  // mesh = Mesh(devices.reshape(2, 4), axis_names=('dp', 'tp'))
  CallOptions call;
  call.mesh = Mesh{{"dp", "tp"}, {2, 4}};
  // output = flash_attention(query, key, value, mesh=mesh,
  //     in_specs=(P('dp', None, 'tp', None), ...), out_specs=P('dp', None, 'tp', None))
  const PartitionSpec split = spec({"dp", "", "tp", ""});
  call.in_specs = {split, split, split};
  call.out_specs = {split};
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, {}, call).out,
              attention_twin(query, key, value, kAll));
}

TEST_CASE("ejkernel.modules: the examples of configuration classes work") {
  const auto [query, key, value] = qkv(1, 40, 2, 2, 8);
  // config = FlashAttentionConfig(fwd_params=FwdParams(q_blocksize=128, kv_blocksize=256,
  //     num_warps=4, num_stages=2), bwd_params=BwdParams(q_blocksize=64, kv_blocksize=128),
  //     platform="triton", backend="gpu")
  FlashAttentionConfig config;
  config.fwd_params = FwdParams{};
  config.fwd_params->q_blocksize = 128;
  config.fwd_params->kv_blocksize = 256;
  config.fwd_params->num_warps = 4;
  config.fwd_params->num_stages = 2;
  config.bwd_params = BwdParams{};
  config.bwd_params->q_blocksize = 64;
  config.bwd_params->kv_blocksize = 128;
  config.platform = Platform::kTriton;
  config.backend = DeviceKind::kGpu;
  // output = flash_attention(query, key, value, cfg=config), an error in C++, which has no Triton
  // kernel
  CallOptions call;
  call.cfg = config;
  CHECK_THROWS_AS(plain().call<FlashAttentionOp>({&query, &key, &value}, {}, call), Error);
  config.platform = Platform::kAuto;
  config.backend = DeviceKind::kAny;
  call.cfg = config;
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, {}, call).out,
              attention_twin(query, key, value, kAll));
}

TEST_CASE("ejkernel.modules: the examples of MaskInfo for complex masks work") {
  const auto [query, key, value] = qkv(1, 6, 2, 2, 8);
  // mask_info = MaskInfo.from_segments(segment_ids)
  const Tensor segment_ids = i32({1, 6}, {0, 0, 0, 1, 1, 1});
  FlashAttentionOptions options;
  const MaskInfo segments = MaskInfo::from_segments(segment_ids);
  CallMask by_segments(segments);
  by_segments.give(options);
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, options).out,
              attention_twin(query, key, value,
                             [](Index, Index, Index i, Index j) { return i / 3 == j / 3; }));
  // mask_info = MaskInfo.from_attention_mask(attention_mask)
  Tensor attention_mask(DType::kBool, {1, 1, 6, 6});
  for (Index n = 0; n < 36; ++n) {
    attention_mask.as<std::uint8_t>()[as_size(n)] = n % 6 <= n / 6 && n != 12;
  }
  const MaskInfo dense = MaskInfo::from_attention_mask(MaskArray(attention_mask));
  CallMask by_mask(dense);
  options = {};
  by_mask.give(options);
  // output = flash_attention(query, key, value, mask_info=mask_info)
  check_close(plain().call<FlashAttentionOp>({&query, &key, &value}, options).out,
              attention_twin(query, key, value, [](Index, Index, Index i, Index j) {
                return j <= i && i * 6 + j != 12;
              }));
}

}  // namespace

}  // namespace ejkernel_modules_cases
