// Tests version 3 of ragged page attention, which writes new tokens into the cache: compares it
// with version 2 over the updated cache. Also tests bad input.
#include <cmath>

#include "attention/paged_batches.h"
#include "maskctl/attention/operations/paged/ragged_page_attention.h"
#include "support/error_of.h"

namespace maskctl::attention::paging {
namespace {

struct V3 {
  Batch b;
  // Keys and values of the new tokens.
  Tensor keys, values;
  Tensor before, after;
  Tensor tables, distribution;
  std::optional<Tensor> sink;

  RaggedPageAttentionV3Inputs inputs(const Tensor& lens, const Tensor& starts) const {
    return {&b.queries, &keys,   &values,       &lens,
            &tables,    &starts, &distribution, sink ? &*sink : nullptr};
  }
};

V3 v3_batch(RandomTensors& r) {
  V3 v;
  v.b = batch(r, r.chance(0.3) ? 600 : 40, 12);
  Batch& b = v.b;
  const Index packing = 4 / size_bytes(b.dtype);
  v.after = b.fused({b.pages, b.page_size, 2 * b.kv_heads / packing, packing, 128}, 128);
  v.before = v.after;
  v.keys = r.normal({b.rows(), b.kv_heads, b.dim}, b.dtype);
  v.values = r.normal({b.rows(), b.kv_heads, b.dim}, b.dtype);
  for (Index n = 0; n < b.count(); ++n) {
    const Index begin = b.starts[as_size(n)], rows = b.starts[as_size(n) + 1] - begin;
    for (Index i = 0; i < rows; ++i) {
      const Index p = b.lengths[as_size(n)] - rows + i;
      const Index page = b.table[as_size(n * b.width + p / b.page_size)];
      for (Index u = 0; u < b.kv_heads; ++u) {
        const Index at = ((page * b.page_size + p % b.page_size) * 2 * b.kv_heads + 2 * u) * 128;
        const Index token = (p * b.kv_heads + u) * b.dim,
                    row = ((begin + i) * b.kv_heads + u) * b.dim;
        for (Index x = 0; x < 128; ++x) {
          // The slots of new tokens may hold anything before the call.
          put(v.before, at + x, std::nanf(""));
          put(v.before, at + 128 + x, std::nanf(""));
          put(v.after, at + x, x < b.dim ? get(b.keys[as_size(n)], token + x) : 0.0f);
          put(v.after, at + 128 + x, x < b.dim ? get(b.values[as_size(n)], token + x) : 0.0f);
          if (x >= b.dim) continue;
          put(v.keys, row + x, get(b.keys[as_size(n)], token + x));
          put(v.values, row + x, get(b.values[as_size(n)], token + x));
        }
      }
    }
  }
  v.tables = b.tables();
  v.tables.reshape({b.count() * b.width});
  v.distribution = i32({0, 0, static_cast<std::int32_t>(b.count())});
  return v;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

TEST_CASE("version 3 writes the new tokens to the cache, then attends, and changes no other slot") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    V3 v = v3_batch(r);
    Rules with = rules(r, v.b, false);
    if (r.chance(0.4)) v.sink = r.normal({v.b.q_heads});
    RaggedPageAttentionV3Options options;
    options.softmax_scale = with.scale.value_or(1.0), with.scale = options.softmax_scale;
    options.sliding_window = with.window, options.logits_soft_cap = with.soft_cap;
    if (v.sink) {
      with.sinks = *v.sink;
      with.sinks->reshape({v.b.q_heads, 1});
    }
    const Tensor expected = gathered_twin(v.b, with), lens = v.b.lens(), starts = v.b.start_loc();
    for (const Backend backend : usable_backends()) {
      options.context.backend = backend;
      Tensor cache = v.before;
      check_close(ragged_page_attention_v3(v.inputs(lens, starts), cache, options), expected,
                  2 * tolerance(v.b.dtype), "out");
      CHECK(same_bytes(cache, v.after));
    }
  }
}

TEST_CASE(
    "version 3 multiplies logits by k_scale and the output by v_scale; q_scale has no effect") {
  RandomTensors r(5);
  V3 v = v3_batch(r);
  while (v.b.dtype != DType::kFloat32 || v.b.rows() == 0) v = v3_batch(r);
  const Tensor lens = v.b.lens(), starts = v.b.start_loc();
  RaggedPageAttentionV3Options plain, scaled;
  plain.softmax_scale = 0.2;
  scaled.softmax_scale = 0.4, scaled.q_scale = 4, scaled.k_scale = 0.5, scaled.v_scale = 3;
  for (const Backend backend : usable_backends()) {
    plain.context.backend = scaled.context.backend = backend;
    Tensor cache = v.before, other = v.before;
    Tensor expected = ragged_page_attention_v3(v.inputs(lens, starts), cache, plain);
    for (float& x : expected.as<float>()) x *= 3;
    check_close(ragged_page_attention_v3(v.inputs(lens, starts), other, scaled), expected, 2e-6,
                "out");
    CHECK(same_bytes(cache, other));
  }
}

TEST_CASE("a float16 query is clipped to the range of float16 after the division by q_scale") {
  const Tensor query = astype(f32({1, 1, 1}, {60000}), DType::kFloat16);
  const Tensor key = astype(f32({1, 1, 1}, {1}), DType::kFloat16);
  Tensor cache(DType::kFloat16, {1, 2, 1, 2, 128});
  cache.as<std::uint16_t>()[128] = half_from_float(1);  // the value of token 0, whose key is 0
  const Tensor lens = i32({2}), table = i32({0}), starts = i32({0, 1}), count = i32({0, 0, 1});
  const Tensor value = astype(f32({1, 1, 1}, {3}), DType::kFloat16);
  RaggedPageAttentionV3Options options;
  options.q_scale = 0.5;         // 60000 / 0.5 is clipped to 65504
  options.softmax_scale = 1e-4;  // the logits are 65504 * 0.5 * 1e-4 and 0
  const Tensor out = ragged_page_attention_v3(
      {&query, &key, &value, &lens, &table, &starts, &count}, cache, options);
  const double e = std::exp(65504 * 0.5 * 1e-4);
  CHECK(static_cast<double>(get(out, 0)) == Catch::Approx((1 + 3 * e) / (1 + e)).epsilon(1e-3));
}

TEST_CASE("ejkernel's form of version 3 equals ragged page attention with scale 1 / sqrt(D)") {
  for (unsigned seed = 0; seed < 50; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Batch b = batch(r, 60, 12);
    Rules with = rules(r, b, false);
    std::optional<Tensor> sink;
    if (r.chance(0.4)) {
      sink = r.normal({b.q_heads});
      with.sinks = *sink;
      with.sinks->reshape({b.q_heads, 1});
    }
    std::vector<std::int32_t> ends{0};
    for (const std::int32_t length : b.lengths) ends.push_back(ends.back() + length);
    const Tensor keys = b.tokens_first(b.keys), values = b.tokens_first(b.values),
                 cu_q = b.start_loc(), cu_k = i32({b.count() + 1}, ends), pages = b.tables();
    RaggedPageAttentionOptions options{with.scale, with.soft_cap, with.window};
    for (const Backend backend : usable_backends()) {
      options.context.backend = backend;
      check_close(
          ragged_page_attention_v3(
              {&b.queries, &keys, &values, &cu_q, &cu_k, &pages, sink ? &*sink : nullptr}, options),
          gathered_twin(b, with), tolerance(b.dtype), "out");
    }
  }
}

TEST_CASE("a bad call of version 3 leaves the cache as it was") {
  RandomTensors r(2);
  V3 v = v3_batch(r);
  while (v.b.rows() == 0 || v.b.lengths[0] == 0 || v.b.starts[1] == 0) v = v3_batch(r);
  Tensor cache = v.before;
  const Tensor starts = v.b.start_loc();
  const Tensor lens = v.b.lens();
  const auto error = [&](const RaggedPageAttentionV3Inputs& in,
                         const RaggedPageAttentionV3Options& options = {}) {
    const std::string message = error_of([&] { ragged_page_attention_v3(in, cache, options); });
    CHECK(same_bytes(cache, v.before));
    return message;
  };
  RaggedPageAttentionV3Inputs in = v.inputs(lens, starts);
  const Tensor falling = i32({2, 1, static_cast<std::int32_t>(v.b.count())});
  in.distribution = &falling;
  CHECK_THAT(error(in), Contains("distribution is 2, 1"));
  in = v.inputs(lens, starts);
  Tensor outside = v.tables;
  outside.as<std::int32_t>()[as_size((v.b.lengths[0] - 1) / v.b.page_size)] = 1 << 20;
  in.block_tables = &outside;
  CHECK_THAT(error(in), Contains("outside the"));
  in = v.inputs(lens, starts);
  const Tensor shared = r.normal({v.b.q_heads, 1});
  in.attention_sink = &shared;
  CHECK_THAT(error(in), Contains("attention_sink is"));
  RaggedPageAttentionV3Options options;
  options.q_scale = 0;
  CHECK_THAT(error(v.inputs(lens, starts), options), Contains("q_scale is 0"));
}

}  // namespace
}  // namespace maskctl::attention::paging
