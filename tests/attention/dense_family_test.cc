// Compares sdpa, attention, flash and block-sparse attention with the float64 reference under a
// mask made cell by cell.
#include <cmath>

#include "attention/arrays.h"
#include "maskctl/attention/operations/attention/attention.h"
#include "maskctl/attention/operations/blocksparse/blocksparse.h"
#include "maskctl/attention/operations/flash/flash.h"
#include "maskctl/attention/operations/sdpa/sdpa.h"
#include "maskctl/attention/softmax/head_groups.h"
#include "support/backends.h"
#include "support/error_of.h"

namespace dense_family_cases {

namespace {

using namespace maskctl::attention_test;

/// The arrays of a random call, and a comparison of its results with the float64 reference.
struct Arrays {
  Arrays(unsigned seed, Index tokens_q = 13, Index tokens_k = 17, Index value_dim = 6)
      : random(seed),
        query(random.normal({2, tokens_q, 4, 5})),
        key(random.normal({2, tokens_k, 2, 5})),
        value(random.normal({2, tokens_k, 2, value_dim})),
        d_out(random.normal({2, tokens_q, 4, value_dim})) {}

  /// Compares forward(backend) and backward(backend, result) of every backend with the reference.
  template <class Forward, class Backward>
  void check(const Mask& mask, SoftmaxOptions options, const Tensor* bias, const Tensor* sinks,
             Forward&& forward, Backward&& backward) const {
    const SoftmaxInputs inputs{&query, &key, &value, &mask, bias, sinks};
    options.context.backend = Backend::kReference;
    const SoftmaxResult expected = softmax_forward(inputs, options);
    const SoftmaxGradients gradients = softmax_backward(inputs, expected, d_out, options);
    for (const Backend backend : test::usable_backends()) {
      const SoftmaxResult seen = forward(backend);
      check_close(seen.out, expected.out, 1e-5, "out");
      check_close(seen.lse, expected.lse, 1e-5, "lse");
      check_gradients(backward(backend, seen), gradients, 3e-5);
    }
  }

  Random random;
  Tensor query, key, value, d_out;
};

bool in_window(Index i, Index j, Index left, Index right) {
  return j - i >= -left && j - i <= right;
}

}  // namespace

TEST_CASE("sdpa equals softmax attention for causal, window, mask, lengths and bias") {
  for (unsigned seed = 0; seed < 8; ++seed) {
    Arrays a(seed);
    const Tensor bias = a.random.normal({1, 4, 13, 1});
    const Tensor keys = a.random.flags({2, 17}, 0.8);
    const Tensor lengths = i32({17, 9});
    const bool causal = seed % 2 == 0, made = seed % 3 == 0;
    ScaledDotProductAttentionOptions o;
    o.mask.attention_mask = &keys, o.mask.key_lengths = &lengths, o.mask.causal = causal;
    o.mask.window = {6, 3}, o.softmax.scale = 0.3;
    if (made)
      o.init_bias = [&bias] { return bias; };
    else
      o.bias = &bias;
    const Mask mask = mask_of_rule(2, 1, 13, 17, [&](Index b, Index, Index i, Index j) {
      return keys.as<std::uint8_t>()[as_size(b * 17 + j)] != 0 && (!causal || j <= i) &&
             in_window(i, j, 6, 3) && j < (b == 0 ? 17 : 9);
    });
    SoftmaxOptions core;
    core.scale = 0.3;
    a.check(
        mask, core, &bias, nullptr,
        [&](Backend backend) {
          o.softmax.context.backend = backend;
          return scaled_dot_product_attention(a.query, a.key, a.value, o);
        },
        [&](Backend, const SoftmaxResult& r) {
          return scaled_dot_product_attention_backward(a.query, a.key, a.value, r, a.d_out, o);
        });
  }
}

TEST_CASE("sdpa gives 0 and no gradient past query_lengths, whatever empty_row says") {
  Arrays a(1);
  const Tensor lengths = i32({13, 4}), keys = i32({17, 0});
  for (const Backend backend : test::usable_backends()) {
    for (const EmptyRow policy : {EmptyRow::kMean, EmptyRow::kNan}) {
      ScaledDotProductAttentionOptions o;
      o.mask.query_lengths = &lengths, o.mask.key_lengths = &keys;
      o.softmax.empty_row = policy, o.softmax.context.backend = backend;
      const SoftmaxResult r = scaled_dot_product_attention(a.query, a.key, a.value, o);
      const auto row = [&](const Tensor& x, Index i) {
        return x.as<float>()[as_size((13 + i) * 24)];
      };
      CHECK(row(r.out, 4) == 0);
      CHECK(row(r.out, 12) == 0);
      if (policy == EmptyRow::kNan)
        CHECK(std::isnan(row(r.out, 3)));
      else
        CHECK(row(r.out, 3) != 0);
      if (policy == EmptyRow::kNan) continue;
      // Output gradients of rows without a key have no effect.
      Tensor bent = a.d_out;
      for (Index n = (13 + 4) * 24; n < bent.elements(); ++n) bent.as<float>()[as_size(n)] = 1e6f;
      const auto gradients = [&](const Tensor& d_out) {
        return scaled_dot_product_attention_backward(a.query, a.key, a.value, r, d_out, o);
      };
      check_gradients(gradients(bent), gradients(a.d_out), 0);
    }
  }
}

TEST_CASE("attention adds the bias after the cap, and returns weights that give its output") {
  for (const Index heads : {1, 2, 4}) {
    Arrays a(static_cast<unsigned>(heads));
    const Tensor bias = a.random.normal({2, heads, 13, 17}), sinks = a.random.normal({2, 3});
    const Tensor flags = a.random.flags({2, 2, 13, 17}, 0.7);
    const Tensor whole = repeat_heads(bias, 4 / heads);
    for (const MaskWithBias rule : {MaskWithBias::kAnd, MaskWithBias::kIgnore}) {
      AttentionOptions o;
      o.bias = &bias, o.softmax_aux = &sinks, o.mask.attention_mask = &flags,
      o.mask_with_bias = rule;
      o.softmax.soft_cap = 2.0, o.mask.window = 5, o.mask.causal = true;
      const Mask mask = mask_of_rule(2, 4, 13, 17, [&](Index b, Index h, Index i, Index j) {
        const bool flag = flags.as<std::uint8_t>()[as_size(((b * 2 + h / 2) * 13 + i) * 17 + j)];
        return (flag || rule == MaskWithBias::kIgnore) && j <= i && i - j <= 5;
      });
      SoftmaxOptions core;
      core.soft_cap = 2.0, core.bias_order = BiasOrder::kAfterCap,
      core.context.backend = Backend::kReference;
      const SoftmaxInputs inputs{&a.query, &a.key, &a.value, &mask, &whole, &sinks};
      const SoftmaxResult expected = softmax_forward(inputs, core);
      SoftmaxGradients gradients = softmax_backward(inputs, expected, a.d_out, core);
      gradients.bias = sum_head_groups(*gradients.bias, heads);
      for (const Backend backend : test::usable_backends()) {
        o.softmax.context.backend = backend;
        const AttentionResult seen = maskctl::attention::attention(a.query, a.key, a.value, o);
        check_close(seen.out, expected.out, 1e-5, "out");
        // The returned weights times the values must give the output.
        Tensor product(DType::kFloat32, seen.out.shape());
        for (Index n = 0; n < 2 * 4 * 13 * 17; ++n) {
          const Index j = n % 17, i = n / 17 % 13, h = n / 17 / 13 % 4, b = n / 17 / 13 / 4;
          for (Index x = 0; x < 6; ++x) {
            product.as<float>()[as_size(((b * 13 + i) * 4 + h) * 6 + x)] +=
                seen.weights.as<float>()[as_size(n)] *
                a.value.as<float>()[as_size(((b * 17 + j) * 2 + h / 2) * 6 + x)];
          }
        }
        check_close(product, expected.out, 1e-5, "weights times values");
        SoftmaxGradients g = attention_backward(a.query, a.key, a.value, seen, a.d_out, o);
        if (heads == 1) g.bias = sum_head_groups(*g.bias, 1);
        check_gradients(g, gradients, 3e-5);
      }
    }
  }
}

TEST_CASE("attention drops weights only with deterministic=false") {
  Arrays a(5);
  AttentionOptions o;
  o.softmax.dropout = 0.5, o.softmax.dropout_seed = 3;
  const Tensor plain = maskctl::attention::attention(a.query, a.key, a.value, {}).out;
  check_close(maskctl::attention::attention(a.query, a.key, a.value, o).out, plain, 0, "out");
  o.deterministic = false;
  const Tensor dropped = maskctl::attention::attention(a.query, a.key, a.value, o).out;
  CHECK_FALSE(std::ranges::equal(dropped.as<float>(), plain.as<float>()));
}

TEST_CASE("flash attention equals softmax attention with bias, sinks, segments and masks") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    Arrays a(seed);
    const Tensor bias = a.random.normal({1, 4, 13, 17}), sinks = a.random.normal({4, 2});
    const Tensor q_ids = a.random.integers({2, 13}, 3), kv_ids = a.random.integers({2, 17}, 3);
    const Mask lazy = a.random.mask(2, 4, 13, 17, 0.9);
    FlashAttentionOptions o;
    o.bias = &bias, o.softmax_aux = &sinks, o.mask.q_segment_ids = &q_ids,
    o.mask.kv_segment_ids = &kv_ids;
    o.mask.mask = &lazy, o.softmax.soft_cap = 3.0, o.mask.causal = true;
    o.mask.align = seed % 2 ? Align::kBottomRight : Align::kUnset;
    o.softmax.dropout = seed % 3 == 0 ? 0.2 : 0, o.softmax.dropout_seed = seed;
    const Index shift = seed % 2 ? 4 : 0;
    const Mask mask = mask_of_rule(2, 4, 13, 17, [&](Index b, Index h, Index i, Index j) {
      return j <= i + shift &&
             q_ids.as<std::int32_t>()[as_size(b * 13 + i)] ==
                 kv_ids.as<std::int32_t>()[as_size(b * 17 + j)] &&
             lazy.plane(b, h)->classify({i, i + 1}, {j, j + 1}) == Fill::kFull;
    });
    SoftmaxOptions core;
    core.soft_cap = 3.0, core.dropout = o.softmax.dropout, core.dropout_seed = seed;
    a.check(
        mask, core, &bias, &sinks,
        [&](Backend backend) {
          o.softmax.context.backend = backend;
          return flash_attention(a.query, a.key, a.value, o);
        },
        [&](Backend, const SoftmaxResult& r) {
          return flash_attention_backward(a.query, a.key, a.value, r, a.d_out, o);
        });
  }
}

TEST_CASE("packed and padded sequences give the results of each sequence alone") {
  Random r(9);
  const Index lengths_q[] = {5, 0, 7}, lengths_k[] = {6, 3, 9};
  const Tensor cum_q = i32({0, 5, 5, 12}), cum_k = i32({0, 6, 9, 18});
  const Tensor query = r.normal({1, 14, 2, 4}), key = r.normal({1, 18, 1, 4}),
               value = r.normal({1, 18, 1, 4}), d_out = r.normal({1, 14, 2, 4});
  Tensor padded_q(DType::kFloat32, {3, 7, 2, 4}), padded_k(DType::kFloat32, {3, 9, 1, 4}),
      padded_v(DType::kFloat32, {3, 9, 1, 4});
  FlashAttentionOptions o;
  o.mask.causal = true, o.mask.align = Align::kBottomRight, o.mask.window = {3, 0};
  FlashAttentionOptions together = o;
  together.mask.cum_seqlens_q = &cum_q, together.mask.cum_seqlens_k = &cum_k;
  together.mask.align = Align::kUnset;
  const SoftmaxResult packed = flash_attention(query, key, value, together);
  const SoftmaxGradients gradients =
      flash_attention_backward(query, key, value, packed, d_out, together);
  const auto part = [](const Tensor& x, Index begin, Index n) {
    Tensor out(x.dtype(), {1, n, x.extent(2), x.extent(3)});
    const Index row = x.extent(2) * x.extent(3);
    std::copy_n(x.as<float>().begin() + begin * row, n * row, out.as<float>().begin());
    return out;
  };
  const auto put = [](const Tensor& x, Index b, Tensor& whole) {
    std::ranges::copy(x.as<float>(), whole.as<float>().begin() + b * whole.elements() / 3);
  };
  Index q0 = 0, k0 = 0;
  for (std::size_t n = 0; n < 3; ++n) {
    const Index nq = lengths_q[n], nk = lengths_k[n];
    const Tensor q = part(query, q0, nq), k = part(key, k0, nk), v = part(value, k0, nk);
    put(q, static_cast<Index>(n), padded_q), put(k, static_cast<Index>(n), padded_k),
        put(v, static_cast<Index>(n), padded_v);
    const SoftmaxResult alone = flash_attention(q, k, v, o);
    check_close(part(packed.out, q0, nq), alone.out, 1e-5, "packed out");
    const SoftmaxGradients g = flash_attention_backward(q, k, v, alone, part(d_out, q0, nq), o);
    check_close(part(gradients.query, q0, nq), g.query, 3e-5, "d_query");
    check_close(part(gradients.key, k0, nk), g.key, 3e-5, "d_key");
    check_close(part(gradients.value, k0, nk), g.value, 3e-5, "d_value");
    q0 += nq, k0 += nk;
  }
  const Tensor beyond = part(packed.out, 12, 2);
  for (const float x : beyond.as<float>()) CHECK(x == 0);
  const SoftmaxResult padded = flash_attention(padded_q, padded_k, padded_v, together);
  for (std::size_t n = 0, first = 0; n < 3; first += static_cast<std::size_t>(lengths_q[n++])) {
    for (Index i = 0; i < 7 * 8; ++i) {
      const float seen = padded.out.as<float>()[n * 56 + as_size(i)];
      const bool inside = i < lengths_q[n] * 8;
      const float expected = inside ? packed.out.as<float>()[first * 8 + as_size(i)] : 0;
      CHECK(seen == Approx(expected).margin(1e-5));
    }
  }
}

TEST_CASE(
    "blocksparse_attention accepts every form of mask: lazy, blocks, chunks, windows, positions") {
  Random r(11);
  const Index n = 20;
  const auto shape = std::vector<Index>{n, n};
  const Tensor blocks = r.flags({4, 4, 4}, 0.6);  // [heads, 4, 4], blocks of 5 tokens
  const Tensor ids = r.integers({2, n}, 3), positions = r.integers({2, n}, 12);
  const BlockMap map(r.mask(1, 1, n, n, 0.7).plane(0, 0), 8, 8);
  const auto with = [](auto&& set) {
    BlocksparseAttentionOptions o;
    set(o);
    return o;
  };
  struct Case {
    const char* what;
    BlocksparseAttentionOptions options;
    std::function<bool(Index b, Index h, Index i, Index j)> open;
  };
  const auto id = [&](Index b, Index i) { return ids.as<std::int32_t>()[as_size(b * n + i)]; };
  const auto place = [&](Index b, Index i) {
    return positions.as<std::int32_t>()[as_size(b * n + i)];
  };
  const Case cases[] = {
      {"causal by default", {}, [](Index, Index, Index i, Index j) { return j <= i; }},
      {"full", with([](auto& o) { o.mask.causal = false; }),
       [](Index, Index, Index, Index) { return true; }},
      {"window and causal", with([](auto& o) { o.mask.window = 3; }),
       [](Index, Index, Index i, Index j) { return j <= i && i - j <= 3; }},
      {"chunks alone", with([](auto& o) { o.mask.chunk_size = 6, o.mask.window = 1; }),
       [](Index, Index, Index i, Index j) { return j <= i && i / 6 == j / 6; }},
      {"a lazy mask in place of causal", with([&](auto& o) {
         o.static_mask = std::make_shared<const Mask>(mask_of_rule(
             1, 1, n, n, [](Index, Index, Index i, Index j) { return in_window(i, j, 2, 4); }));
       }),
       [](Index, Index, Index i, Index j) { return in_window(i, j, 2, 4); }},
      {"a builder", with([&](auto& o) {
         o.mask_builder = [](Index q, Index k, Index heads, Index h, Index reps) {
           CHECK(heads == 4);
           CHECK(reps == 2);
           return std::make_shared<const Mask>(mask_of_rule(
               1, 1, q, k, [h](Index, Index, Index i, Index j) { return j <= i + h; }));
         };
       }),
       [](Index, Index h, Index i, Index j) { return j <= i + h; }},
      {"blocks under causal",
       with([&](auto& o) { o.mask.block_mask = &blocks, o.mask.block_size = 5; }),
       [&](Index, Index h, Index i, Index j) {
         return j <= i && blocks.as<std::uint8_t>()[as_size(h * 16 + i / 5 * 4 + j / 5)] != 0;
       }},
      {"a block map", with([&](auto& o) { o.mask.block_map = &map, o.mask.causal = false; }),
       [&](Index, Index, Index i, Index j) {
         return map.plane()->classify({i, i + 1}, {j, j + 1}) == Fill::kFull;
       }},
      {"segments",
       with([&](auto& o) { o.mask.q_segment_ids = &ids, o.mask.kv_segment_ids = &ids; }),
       [&](Index b, Index, Index i, Index j) { return j <= i && id(b, i) == id(b, j); }},
      {"positions under window", with([&](auto& o) {
         o.mask.q_positions = &positions, o.mask.kv_positions = &positions, o.mask.window = {4, 0};
       }),
       [&](Index b, Index, Index i, Index j) { return in_window(place(b, i), place(b, j), 4, 0); }},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    const Arrays a(3, n, n);
    const Tensor sinks = r.normal({2});
    BlocksparseAttentionOptions o = c.options;
    o.softmax_aux = &sinks, o.softmax.soft_cap = 4.0;
    SoftmaxOptions core;
    core.soft_cap = 4.0;
    const Tensor q = swap_heads_and_time(a.query, "q"), k = swap_heads_and_time(a.key, "k"),
                 v = swap_heads_and_time(a.value, "v"), d_out = swap_heads_and_time(a.d_out, "d");
    a.check(
        mask_of_rule(2, 4, n, n, c.open), core, nullptr, &sinks,
        [&](Backend backend) {
          o.softmax.context.backend = backend;
          SoftmaxResult result = blocksparse_attention(q, k, v, o);
          result.out = swap_heads_and_time(result.out, "out");
          return result;
        },
        [&](Backend, const SoftmaxResult& seen) {
          const SoftmaxResult turned{swap_heads_and_time(seen.out, "out"), seen.lse};
          SoftmaxGradients g = blocksparse_attention_backward(q, k, v, turned, d_out, o);
          for (Tensor* x : {&g.query, &g.key, &g.value}) *x = swap_heads_and_time(*x, "g");
          return g;
        });
  }
}

TEST_CASE("calls with wrong shapes are refused before any work") {
  using maskctl::test::error_of;
  const Arrays a(1);
  const Tensor flat(DType::kFloat32, {13, 4, 5}), half = astype(a.key, DType::kFloat16);
  CHECK(error_of([&] { flash_attention(flat, a.key, a.value); }) ==
        "query is (13, 4, 5), expected 4 axes");
  CHECK(error_of([&] { flash_attention(a.query, half, a.value); }) ==
        "query is float32 and key is float16; convert one");
  CHECK(error_of([&] { blocksparse_attention(flat, a.key, a.value); }) ==
        "query is (13, 4, 5), expected 4 axes");
  FlashAttentionOptions o;
  o.softmax.soft_cap = 0.0;
  CHECK(error_of([&] { flash_attention(a.query, a.key, a.value, o); }) ==
        "soft cap 0 is not above 0; leave it out for none");
  FlashAttentionOptions unscaled;
  unscaled.softmax.scale = std::nan("");
  CHECK(error_of([&] { flash_attention(a.query, a.key, a.value, unscaled); }) ==
        "scale nan is not finite; leave it out for 1 / sqrt(D)");
  const Tensor three(DType::kFloat32, {2, 17, 3, 5});
  CHECK(error_of([&] { flash_attention(a.query, three, three); }) ==
        "4 query heads do not divide into groups of 3 key heads");
  BlocksparseAttentionOptions none;
  none.mask_builder = [](Index, Index, Index, Index, Index) { return StaticMask(); };
  const Tensor q = swap_heads_and_time(a.query, "q"), k = swap_heads_and_time(a.key, "k");
  CHECK(error_of([&] { blocksparse_attention(q, k, k, none); }) ==
        "mask_builder gave no mask for head 0 of 4");
}

}  // namespace dense_family_cases
