// Attention over pages: the fast path against float64, that against softmax attention over the
// gathered tokens and values by hand; every call form; bad input.
#include <array>
#include <cmath>
#include <limits>

#include "maskctl/attention/paged/page_attention.h"
#include "maskctl/attention/paged/ragged_decode_attention.h"
#include "maskctl/attention/paged/ragged_page_attention.h"
#include "maskctl/attention/paged/ragged_page_attention_v3.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/dense.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;
using Catch::Matchers::Contains;

DType any_float(RandomTensors& r) {
  return std::array{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[as_size(r.below(3))];
}

/// Of results in a dtype that are computed in f32 and rounded once.
double tolerance(DType dtype) {
  if (dtype == DType::kFloat32) return 2e-6;
  return dtype == DType::kFloat16 ? 1e-3 : 8e-3;
}

void put(Tensor& array, Index i, float value) {
  if (array.dtype() == DType::kFloat32) {
    array.as<float>()[as_size(i)] = value;
  } else {
    array.as<std::uint16_t>()[as_size(i)] =
        array.dtype() == DType::kFloat16 ? half_from_float(value) : bfloat16_from_float(value);
  }
}

float get(const Tensor& array, Index i) {
  if (array.dtype() == DType::kFloat32) return array.as<float>()[as_size(i)];
  const std::uint16_t bits = array.as<std::uint16_t>()[as_size(i)];
  return array.dtype() == DType::kFloat16 ? float_from_half(bits) : float_from_bfloat16(bits);
}

/// Sequences over pages that are dealt out at random. K and V are kept by token; caches of every
/// layout are filled from them, all other slots with NaN.
struct Batch {
  DType dtype = DType::kFloat32;
  Index q_heads = 0, kv_heads = 0, dim = 0, page_size = 0, pages = 0, width = 0;
  std::vector<std::int32_t> lengths, starts{0}, table;
  std::vector<Tensor> keys, values;  // [length,Hkv,D] of each sequence
  Tensor queries;                    // [T,Hq,D]

  Index count() const { return static_cast<Index>(lengths.size()); }
  Index rows() const { return queries.extent(0); }

  /// f(page, slot, sequence, token).
  template <class F>
  void for_each_token(F&& f) const {
    for (Index n = 0; n < count(); ++n) {
      for (Index p = 0; p < lengths[as_size(n)]; ++p) {
        f(table[as_size(n * width + p / page_size)], p % page_size, n, p);
      }
    }
  }

  /// Element x of head u in a slot goes to place(page, slot, u, x).
  template <class Place>
  Tensor cache(std::vector<Index> shape, const std::vector<Tensor>& tokens, Place&& place) const {
    Tensor out(dtype, std::move(shape));
    for (Index i = 0; i < out.elements(); ++i) put(out, i, std::nanf(""));
    fill(out, tokens, place);
    return out;
  }
  template <class Place>
  void fill(Tensor& out, const std::vector<Tensor>& tokens, Place&& place) const {
    for_each_token([&](Index page, Index slot, Index n, Index p) {
      for (Index u = 0; u < kv_heads; ++u) {
        for (Index x = 0; x < dim; ++x) {
          put(out, place(page, slot, u, x), get(tokens[as_size(n)], (p * kv_heads + u) * dim + x));
        }
      }
    });
  }
  Tensor heads_first(const std::vector<Tensor>& tokens) const {
    return cache({pages, kv_heads, page_size, dim}, tokens,
                 [this](Index page, Index slot, Index u, Index x) {
                   return ((page * kv_heads + u) * page_size + slot) * dim + x;
                 });
  }
  Tensor tokens_first(const std::vector<Tensor>& tokens) const {
    return cache({pages, page_size, kv_heads, dim}, tokens,
                 [this](Index page, Index slot, Index u, Index x) {
                   return ((page * page_size + slot) * kv_heads + u) * dim + x;
                 });
  }
  /// K and V in turn, rows of `lanes` elements.
  Tensor fused(std::vector<Index> shape, Index lanes) const {
    const auto place = [this, lanes](Index v) {
      return [this, lanes, v](Index page, Index slot, Index u, Index x) {
        return ((page * page_size + slot) * 2 * kv_heads + 2 * u + v) * lanes + x;
      };
    };
    Tensor out = cache(std::move(shape), keys, place(0));
    fill(out, values, place(1));
    return out;
  }
  Tensor interleaved() const { return fused({pages, page_size, 2 * kv_heads, dim}, dim); }

  Tensor lens() const { return i32({count()}, lengths); }
  Tensor tables() const { return i32({count(), width}, table); }
  Tensor start_loc() const { return i32({count() + 1}, starts); }
};

/// Sequences of up to `longest` tokens of which up to `most_rows` are queries.
Batch batch(RandomTensors& r, Index longest, Index most_rows) {
  Batch b;
  b.dtype = any_float(r);
  b.kv_heads = 1 + r.below(3), b.q_heads = b.kv_heads * (1 + r.below(5));
  b.dim = 1 + r.below(40), b.page_size = 1 + r.below(20);
  const Index count = 1 + r.below(4);
  for (Index n = 0; n < count; ++n) {
    const Index length = r.chance(0.1) ? 0 : 1 + r.below(longest);
    b.lengths.push_back(static_cast<std::int32_t>(length));
    const Index rows = std::min(r.below(most_rows + 1), length);
    b.starts.push_back(b.starts.back() + static_cast<std::int32_t>(rows));
    b.keys.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
    b.values.push_back(r.normal({length, b.kv_heads, b.dim}, b.dtype));
    b.width = std::max(b.width, ceil_div(length, b.page_size));
  }
  b.width += r.below(2);
  b.pages = 1 + count * b.width;
  std::vector<std::int32_t> free;
  for (Index page = 0; page < b.pages; ++page) free.push_back(static_cast<std::int32_t>(page));
  for (Index n = 0; n < count; ++n) {
    const Index used = ceil_div(b.lengths[as_size(n)], b.page_size);
    for (Index i = 0; i < b.width; ++i) {
      const auto drawn = free.begin() + r.below(static_cast<Index>(free.size()));
      b.table.push_back(i < used ? *drawn : (r.chance(0.5) ? -1 : 1 << 30));
      if (i < used) free.erase(drawn);
    }
  }
  b.queries = r.normal({b.starts.back() + r.below(3), b.q_heads, b.dim}, b.dtype);
  return b;
}

struct Rules {
  std::optional<double> scale, soft_cap;
  std::optional<Index> window;
  std::optional<Tensor> sinks;
};

Rules rules(RandomTensors& r, const Batch& b, bool sinks) {
  Rules rules;
  if (r.chance(0.3)) rules.scale = 0.4;
  if (r.chance(0.3)) rules.soft_cap = 1.5;
  if (r.chance(0.3)) rules.window = 1 + r.below(30);
  if (sinks && r.chance(0.4)) {
    const Index n = 1 + r.below(3);
    rules.sinks =
        r.chance(0.3) ? r.normal({n}) : r.normal({r.chance(0.5) ? b.q_heads : b.kv_heads, n});
  }
  return rules;
}

/// Each sequence by itself: softmax attention in float64 over its tokens.
Tensor gathered_twin(const Batch& b, const Rules& rules) {
  Tensor out(b.dtype, b.queries.shape());
  const Index row = b.q_heads * b.dim, bytes = size_bytes(b.dtype);
  for (Index n = 0; n < b.count(); ++n) {
    const Index begin = b.starts[as_size(n)], rows = b.starts[as_size(n) + 1] - begin;
    const Index length = b.lengths[as_size(n)];
    if (rows == 0) continue;
    Tensor query(b.dtype, {1, rows, b.q_heads, b.dim});
    std::copy_n(b.queries.bytes().begin() + begin * row * bytes, rows * row * bytes,
                query.bytes().begin());
    Tensor key = b.keys[as_size(n)], value = b.values[as_size(n)];
    key.reshape({1, length, b.kv_heads, b.dim});
    value.reshape({1, length, b.kv_heads, b.dim});
    const Index last = length - rows;
    const Mask mask(
        diagonal_band(rows, length, rules.window ? last + 1 - *rules.window : -kUnbounded, last));
    SoftmaxOptions options;
    options.scale = rules.scale, options.soft_cap = rules.soft_cap;
    options.backend = Backend::kReference;
    const SoftmaxResult result = softmax_forward(
        {&query, &key, &value, &mask, nullptr, rules.sinks ? &*rules.sinks : nullptr}, options);
    std::copy(result.out.bytes().begin(), result.out.bytes().end(),
              out.bytes().begin() + begin * row * bytes);
  }
  return out;
}

Tensor ragged(const Batch& b, const Rules& rules, Backend backend) {
  const Tensor pages = b.interleaved(), lens = b.lens(), tables = b.tables(),
               starts = b.start_loc();
  RaggedPageAttentionInputs in{&b.queries, &pages, &lens, &tables, &starts};
  if (rules.sinks) in.softmax_aux = &*rules.sinks;
  return ragged_page_attention(in, {rules.scale, rules.soft_cap, rules.window, backend});
}

TEST_CASE("ragged pages are softmax attention over the gathered tokens") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Batch b = batch(r, r.chance(0.3) ? 700 : 40, 12);
    const Rules with = rules(r, b, true);
    const Tensor expected = gathered_twin(b, with);
    check_close(ragged(b, with, Backend::kReference), expected, tolerance(b.dtype), "reference");
    check_close(ragged(b, with, Backend::kCpu), expected, tolerance(b.dtype), "cpu");
  }
}

TEST_CASE("results do not depend on the number of threads") {
  for (unsigned seed = 0; seed < 20; ++seed) {
    RandomTensors r(seed);
    const Batch b = batch(r, 700, 12);
    const Rules with = rules(r, b, true);
    set_threads(1);
    const Tensor one = ragged(b, with, Backend::kCpu);
    set_threads(3);
    const Tensor three = ragged(b, with, Backend::kCpu);
    set_threads(0);
    check_close(three, one, 0, "three threads");
  }
}

TEST_CASE("num_seqs leaves out the later sequences and checks nothing of them") {
  RandomTensors r(3);
  const Tensor queries = r.normal({3, 1, 4}), pages = r.normal({2, 4, 2, 4});
  const Tensor lens = i32({4, -7}), tables = i32({2, 1}, {1, 99}), starts = i32({0, 2, -5});
  const Tensor one = i32({1});
  const Tensor out = ragged_page_attention({&queries, &pages, &lens, &tables, &starts, &one});
  const Tensor first_lens = i32({4}), first_table = i32({1, 1}, {1}), first_starts = i32({0, 2});
  check_close(out,
              ragged_page_attention({&queries, &pages, &first_lens, &first_table, &first_starts}),
              0, "out");
  for (std::size_t x = 8; x < 12; ++x) CHECK(out.as<float>()[x] == 0);
}

TEST_CASE("page attention is ragged attention of one row each, in both layouts and ranks") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    Batch b = batch(r, r.chance(0.3) ? 700 : 40, 0);
    Rules with = rules(r, b, false);
    with.window.reset();
    b.queries = r.normal({b.count(), b.q_heads, b.dim}, b.dtype);
    const Tensor lens = b.lens(), tables = b.tables();
    for (Index n = 0; n < b.count(); ++n) {
      b.starts[as_size(n) + 1] = static_cast<std::int32_t>(n + 1);
    }
    // Empty sequences have no row in the twin: their rows stay 0.
    Tensor expected(b.dtype, b.queries.shape());
    for (Index n = 0; n < b.count(); ++n) {
      if (b.lengths[as_size(n)] == 0) continue;
      Batch one = b;
      one.starts.assign(b.starts.size(), 0);
      for (Index later = n + 1; later <= b.count(); ++later) one.starts[as_size(later)] = 1;
      const Index bytes = b.q_heads * b.dim * size_bytes(b.dtype);
      one.queries = Tensor(b.dtype, {1, b.q_heads, b.dim});
      std::copy_n(b.queries.bytes().begin() + n * bytes, bytes, one.queries.bytes().begin());
      const Tensor row = gathered_twin(one, with);
      std::copy_n(row.bytes().begin(), bytes, expected.bytes().begin() + n * bytes);
    }
    for (const bool heads_first : {true, false}) {
      const Tensor keys = heads_first ? b.heads_first(b.keys) : b.tokens_first(b.keys);
      const Tensor values = heads_first ? b.heads_first(b.values) : b.tokens_first(b.values);
      Tensor query = b.queries, wanted = expected;
      if (r.chance(0.5)) {
        query.reshape({b.count(), 1, b.q_heads, b.dim});
        wanted.reshape({b.count(), 1, b.q_heads, b.dim});
      }
      PageAttentionOptions options;
      options.attn_scale = with.scale, options.attn_logits_soft_cap = with.soft_cap;
      options.kv_layout = heads_first ? KvLayout::kHeadsFirst : KvLayout::kTokensFirst;
      for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
        options.backend = backend;
        check_close(page_attention({&query, &keys, &values, &lens, &tables}, options), wanted,
                    tolerance(b.dtype), heads_first ? "heads first" : "tokens first");
      }
    }
  }
}

TEST_CASE("pages by hand: only the slots of the context are read") {
  // page_size 2, table [3, 0, -1], 3 tokens: (3, 0), (3, 1), (0, 0).
  const float nan = std::nanf("");
  Tensor keys = f32({4, 1, 2, 1}, {2, nan, nan, nan, nan, nan, 0, 1});
  Tensor values = f32({4, 1, 2, 1}, {9, nan, nan, nan, nan, nan, 3, 5});
  const Tensor query = f32({1, 1, 1}, {1}), lens = i32({3}), table = i32({1, 3}, {3, 0, -1});
  const double e = std::exp(1.0), expected = (3 + 5 * e + 9 * e * e) / (1 + e + e * e);
  for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
    PageAttentionOptions options;
    options.backend = backend;
    const Tensor out = page_attention({&query, &keys, &values, &lens, &table}, options);
    CHECK(static_cast<double>(out.as<float>()[0]) == Catch::Approx(expected).epsilon(1e-6));
  }
}

TEST_CASE("rows of a ragged sequence sit at its end: context 5, 2 rows, window 2") {
  // Positions 3 and 4 see the keys {2, 3} and {3, 4}; all logits are 0.
  const Tensor queries = f32({2, 1, 1}, {0, 0});
  const Tensor pages = f32({1, 5, 2, 1}, {0, 1, 0, 2, 0, 4, 0, 8, 0, 16});
  const Tensor lens = i32({5}), table = i32({1, 1}, {0}), starts = i32({0, 2});
  RaggedPageAttentionOptions options;
  options.sliding_window = 2;
  for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
    options.backend = backend;
    const Tensor out = ragged_page_attention({&queries, &pages, &lens, &table, &starts}, options);
    CHECK(out.as<float>()[0] == Catch::Approx(6));
    CHECK(out.as<float>()[1] == Catch::Approx(12));
  }
}

// Version 3.

struct V3 {
  Batch b;
  Tensor keys, values;  // of the new tokens
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
          // What is overwritten may hold anything.
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

TEST_CASE("version 3 writes the new rows, then attends; nothing else of the cache changes") {
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
    for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
      options.backend = backend;
      Tensor cache = v.before;
      check_close(ragged_page_attention_v3(v.inputs(lens, starts), cache, options), expected,
                  2 * tolerance(v.b.dtype), "out");
      CHECK(same_bytes(cache, v.after));
    }
  }
}

TEST_CASE("version 3 multiplies logits by k_scale and the output by v_scale; q_scale cancels") {
  RandomTensors r(5);
  V3 v = v3_batch(r);
  while (v.b.dtype != DType::kFloat32 || v.b.rows() == 0) v = v3_batch(r);
  const Tensor lens = v.b.lens(), starts = v.b.start_loc();
  RaggedPageAttentionV3Options plain, scaled;
  plain.softmax_scale = 0.2;
  scaled.softmax_scale = 0.4, scaled.q_scale = 4, scaled.k_scale = 0.5, scaled.v_scale = 3;
  for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
    plain.backend = scaled.backend = backend;
    Tensor cache = v.before, other = v.before;
    Tensor expected = ragged_page_attention_v3(v.inputs(lens, starts), cache, plain);
    for (float& x : expected.as<float>()) x *= 3;
    check_close(ragged_page_attention_v3(v.inputs(lens, starts), other, scaled), expected, 2e-6,
                "out");
    CHECK(same_bytes(cache, other));
  }
}

TEST_CASE("a half query is clipped to what a half holds after division by q_scale") {
  const Tensor query = astype(f32({1, 1, 1}, {60000}), DType::kFloat16);
  const Tensor key = astype(f32({1, 1, 1}, {1}), DType::kFloat16);
  Tensor cache(DType::kFloat16, {1, 2, 1, 2, 128});
  cache.as<std::uint16_t>()[128] = half_from_float(1);  // V of token 0; its K is 0
  const Tensor lens = i32({2}), table = i32({0}), starts = i32({0, 1}), count = i32({0, 0, 1});
  const Tensor value = astype(f32({1, 1, 1}, {3}), DType::kFloat16);
  RaggedPageAttentionV3Options options;
  options.q_scale = 0.5;         // 120000 becomes 65504
  options.softmax_scale = 1e-4;  // logits 65504 * 0.5 * 1e-4 and 0
  const Tensor out = ragged_page_attention_v3(
      {&query, &key, &value, &lens, &table, &starts, &count}, cache, options);
  const double e = std::exp(65504 * 0.5 * 1e-4);
  CHECK(static_cast<double>(get(out, 0)) == Catch::Approx((1 + 3 * e) / (1 + e)).epsilon(1e-3));
}

TEST_CASE("seed 003's call of version 3 is ragged attention with 1 / sqrt(D)") {
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
    RaggedPageAttentionV3PagesOptions options{with.scale, with.window, with.soft_cap};
    for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
      options.backend = backend;
      check_close(
          ragged_page_attention_v3(
              {&b.queries, &keys, &values, &cu_q, &cu_k, &pages, sink ? &*sink : nullptr}, options),
          gathered_twin(b, with), tolerance(b.dtype), "out");
    }
  }
}

// Ragged decoding.

TEST_CASE("ragged decoding is softmax attention of one row over its range") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const DType dtype = any_float(r);
    const Index batch = 1 + r.below(4), kv = 1 + r.below(3), heads = kv * (1 + r.below(5));
    const Index dim = 1 + r.below(40), keys = 1 + r.below(r.chance(0.3) ? 600 : 30);
    Tensor query = r.normal({batch, 1, heads, dim}, dtype);
    const Tensor key = r.normal({batch, keys, kv, dim}, dtype);
    const Tensor value = r.normal({batch, keys, kv, dim}, dtype);
    Tensor start(DType::kInt32, {batch}), end(DType::kInt32, {batch});
    RaggedDecodeAttentionOptions options;
    if (r.chance(0.5)) options.sliding_window.emplace();
    if (options.sliding_window && r.chance(0.8)) options.sliding_window->left = r.below(9);
    if (options.sliding_window && r.chance(0.5)) options.sliding_window->right = r.below(3);
    if (r.chance(0.3)) options.logits_soft_cap = 2;
    if (r.chance(0.3)) options.softmax_scale = 0.3;
    std::optional<Tensor> sinks;
    if (r.chance(0.4)) sinks = r.chance(0.5) ? r.normal({2}) : r.normal({kv, 2});
    Tensor dense(DType::kBool, {batch, 1, 1, keys});
    for (Index b = 0; b < batch; ++b) {
      Index first = r.below(keys + 1), last = r.below(keys + 1);
      if (first > last) std::swap(first, last);
      start.as<std::int32_t>()[as_size(b)] = static_cast<std::int32_t>(first);
      end.as<std::int32_t>()[as_size(b)] = static_cast<std::int32_t>(last);
      for (Index j = first; j < last; ++j) {
        const bool near = !options.sliding_window || !options.sliding_window->left ||
                          j >= last - 1 - *options.sliding_window->left;
        dense.as<std::uint8_t>()[as_size(b * keys + j)] = near;
      }
    }
    const Mask mask = mask_from_dense(dense);
    SoftmaxOptions softmax;
    softmax.scale = options.softmax_scale, softmax.soft_cap = options.logits_soft_cap;
    softmax.backend = Backend::kReference;
    const Tensor* aux = sinks ? &*sinks : nullptr;
    Tensor expected = softmax_forward({&query, &key, &value, &mask, nullptr, aux}, softmax).out;
    if (r.chance(0.5)) {
      query.reshape({batch, heads, dim});
      expected.reshape({batch, heads, dim});
    }
    for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
      options.backend = backend;
      check_close(ragged_decode_attention({&query, &key, &value, &start, &end, aux}, options),
                  expected, tolerance(dtype), "out");
    }
  }
}

// Bad input.

TEST_CASE("bad pages are one error before any work") {
  RandomTensors r(1);
  const Tensor query = r.normal({2, 4, 8}), cache = r.normal({3, 2, 4, 8});
  const Tensor lens = i32({5, 2}), tables = i32({2, 2}, {0, 2, 1, -1});
  const auto error = [&](PageAttentionInputs in, PageAttentionOptions options = {}) {
    return error_of([&] { page_attention(in, options); });
  };
  const PageAttentionInputs good{&query, &cache, &cache, &lens, &tables};
  CHECK(error(good) == "no error");
  PageAttentionInputs in = good;
  in.block_tables = nullptr;
  CHECK(error(in) == "block_tables is missing");
  const Tensor outside = i32({2, 2}, {0, 3, 1, -1});
  in.block_tables = &outside;
  CHECK(error(in) == "block_tables: page 1 of sequence 0 is 3, outside the 3 pages of the cache");
  const Tensor unused = i32({2, 2}, {0, -1, 1, -1});
  in.block_tables = &unused;
  CHECK_THAT(error(in), Contains("page 1 of sequence 0 is -1"));
  in = good;
  const Tensor long_lens = i32({9, 2}), negative = i32({5, -2});
  in.context_lens = &long_lens;
  CHECK(error(in) == "context_lens[0] is 9, outside 0 to 8: 2 pages of 4");
  in.context_lens = &negative;
  CHECK_THAT(error(in), Contains("context_lens[1] is -2"));
  in = good;
  const Tensor halves = astype(cache, DType::kFloat16), odd = r.normal({3, 3, 4, 8});
  in.value_cache = &halves;
  CHECK(error(in) == "query is float32 and value_cache is float16; convert one");
  in.key_cache = in.value_cache = &odd;
  CHECK(error(in) == "4 query heads do not divide into groups of 3 key heads");
  PageAttentionOptions options;
  options.attn_logits_soft_cap = 0;
  CHECK_THAT(error(good, options), Contains("soft cap 0 is not above 0"));
  options = {};
  options.max_context_len = 4;
  CHECK(error(good, options) == "context_lens holds 5, above max_context_len 4");
  options = {};
  options.num_splits = -1;
  CHECK_THAT(error(good, options), Contains("num_splits -1"));
}

TEST_CASE("bad ragged batches are one error before any work") {
  RandomTensors r(1);
  const Tensor queries = r.normal({4, 2, 8}), pages = r.normal({3, 4, 2, 8});
  const Tensor lens = i32({5, 2}), tables = i32({2, 2}, {0, 2, 1, -1}), starts = i32({0, 3, 4});
  const auto error = [&](RaggedPageAttentionInputs in, RaggedPageAttentionOptions options = {}) {
    return error_of([&] { ragged_page_attention(in, options); });
  };
  const RaggedPageAttentionInputs good{&queries, &pages, &lens, &tables, &starts};
  CHECK(error(good) == "no error");
  RaggedPageAttentionInputs in = good;
  const Tensor falls = i32({0, 3, 2}), past = i32({0, 3, 5}), late = i32({1, 3, 4});
  in.query_start_loc = &falls;
  CHECK_THAT(error(in), Contains("query_start_loc falls from 3 to 2"));
  in.query_start_loc = &past;
  CHECK_THAT(error(in), Contains("query_start_loc ends at 5, past the 4"));
  in.query_start_loc = &late;
  CHECK_THAT(error(in), Contains("query_start_loc starts with 1"));
  in = good;
  const Tensor short_lens = i32({2, 2});
  in.context_lens = &short_lens;
  CHECK(error(in) == "context_lens[0] is 2, below the 3 rows of the sequence, which it includes");
  in = good;
  const Tensor three = i32({3}), two = i32({1, 1});
  in.num_seqs = &three;
  CHECK_THAT(error(in), Contains("3 sequences, expected 0 to 2"));
  in.num_seqs = &two;
  CHECK_THAT(error(in), Contains("num_seqs is (2,)"));
  in = good;
  const Tensor odd = r.normal({3, 4, 3, 8}), aux = r.normal({3, 1});
  in.kv_pages = &odd;
  CHECK_THAT(error(in), Contains("kv_pages is (3, 4, 3, 8)"));
  in = good;
  in.softmax_aux = &aux;
  CHECK_THAT(error(in), Contains("sinks are (3, 1)"));
  RaggedPageAttentionOptions options;
  options.sliding_window = 0;
  CHECK_THAT(error(good, options), Contains("sliding_window 0"));
  // With a window the first page of sequence 0 is not read.
  const Tensor hole = i32({2, 2}, {-1, 2, 1, -1});
  const Tensor long_lens = i32({8, 2});
  in = good;
  in.block_tables = &hole, in.context_lens = &long_lens;
  options.sliding_window = 2;
  CHECK(error(in, options) == "no error");
  options.sliding_window = 3;
  CHECK_THAT(error(in, options), Contains("page 0 of sequence 0 is -1"));
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

TEST_CASE("bad ranges of ragged decoding are one error before any work") {
  RandomTensors r(1);
  const Tensor query = r.normal({2, 2, 8}), key = r.normal({2, 5, 1, 8});
  const auto error = [&](const Tensor& start, const Tensor& end,
                         RaggedDecodeAttentionOptions options = {}) {
    return error_of([&] { ragged_decode_attention({&query, &key, &key, &start, &end}, options); });
  };
  CHECK(error(i32({0, 5}), i32({5, 5})) == "no error");
  CHECK(error(i32({0, 4}), i32({5, 3})) == "sequence 1 is 4 to 3, expected 0 <= start <= end <= 5");
  CHECK_THAT(error(i32({-1, 0}), i32({5, 3})), Contains("sequence 0 is -1 to 5"));
  CHECK_THAT(error(i32({0, 0}), i32({5, 6})), Contains("sequence 1 is 0 to 6"));
  CHECK_THAT(error(i32({0}), i32({5, 5})), Contains("sequence_start is (1,)"));
  CHECK_THAT(error(f32({2}, {0, 0}), i32({5, 5})), Contains("expected integers"));
  RaggedDecodeAttentionOptions options;
  options.sliding_window = DecodeWindow{-1, 0};
  CHECK_THAT(error(i32({0, 0}), i32({5, 5}), options), Contains("sliding_window holds -1"));
}

}  // namespace
