// Compares latent attention (MLA) with softmax attention over rebuilt keys and values, and its
// gradients with finite differences.
#include "maskctl/attention/operations/mla/mla.h"

#include "attention/arrays.h"
#include "maskctl/attention/operations/mla/spec.h"
#include "maskctl/attention/problems/backends.h"
#include "support/backends.h"
#include "support/error_of.h"
#include "support/finite_differences.h"

namespace mla_cases {

namespace {

using namespace maskctl::attention_test;

/// Multiplies latents [B,T,R] by weights [R,H,X]: the keys or values [B,T,H,X].
Tensor rebuilt(const Tensor& latent, const Tensor& w) {
  const Index tokens = latent.extent(0) * latent.extent(1), rank = latent.extent(2);
  const Index columns = w.extent(1) * w.extent(2);
  Tensor out(DType::kFloat32, {latent.extent(0), latent.extent(1), w.extent(1), w.extent(2)});
  for (Index t = 0; t < tokens; ++t) {
    for (Index c = 0; c < columns; ++c) {
      double sum = 0;
      for (Index r = 0; r < rank; ++r) {
        sum += static_cast<double>(latent.as<float>()[as_size(t * rank + r)]) *
               static_cast<double>(w.as<float>()[as_size(r * columns + c)]);
      }
      out.as<float>()[as_size(t * columns + c)] = static_cast<float>(sum);
    }
  }
  return out;
}

/// Appends the rotary part [B,T,P] of each token to all heads of x [B,T,H,X].
Tensor with_rotary(const Tensor& x, const Tensor& rotary) {
  const Index h = x.extent(2), n = x.extent(3), p = rotary.extent(2);
  Tensor out(DType::kFloat32, {x.extent(0), x.extent(1), h, n + p});
  for (Index i = 0; i < out.elements(); ++i) {
    const Index c = i % (n + p), row = i / (n + p);
    out.as<float>()[as_size(i)] = c < n ? x.as<float>()[as_size(row * n + c)]
                                        : rotary.as<float>()[as_size(row / h * p + c - n)];
  }
  return out;
}

struct Problem {
  explicit Problem(unsigned seed) : r(seed) {}
  Random r;
  Tensor query = r.normal({2, 9, 4, 6}), latent = r.normal({2, 9, 5}), w_kc = r.normal({5, 2, 6}),
         w_vc = r.normal({5, 2, 7}), b_q = r.normal({2, 9, 3}), b_k = r.normal({2, 9, 3}),
         d_out = r.normal({2, 9, 4, 7});

  double objective(const MlaAttentionOptions& o) const {
    return maskctl::test::dot(mla_attention(query, latent, w_kc, w_vc, o).out, d_out);
  }
};

}  // namespace

TEST_CASE("latent attention equals softmax attention over rebuilt keys and values") {
  for (const bool rotary : {false, true}) {
    for (const Backend backend : maskctl::test::usable_backends()) {
      const Problem p(rotary ? 1 : 2);
      MlaAttentionOptions o;
      o.mask.causal = true, o.softmax.context.backend = backend;
      if (rotary) o.b_q = &p.b_q, o.b_k = &p.b_k;
      const Tensor query = rotary ? with_rotary(p.query, p.b_q) : p.query;
      const Tensor plain = rebuilt(p.latent, p.w_kc);
      const Tensor key = rotary ? with_rotary(plain, p.b_k) : plain;
      const Tensor value = rebuilt(p.latent, p.w_vc);
      const Mask mask =
          mask_of_rule(1, 1, 9, 9, [](Index, Index, Index i, Index j) { return j <= i; });
      SoftmaxOptions core;
      core.context.backend = Backend::kReference;
      const SoftmaxResult expected =
          softmax_forward({&query, &key, &value, &mask, nullptr, nullptr}, core);
      const SoftmaxResult seen = mla_attention(p.query, p.latent, p.w_kc, p.w_vc, o);
      check_close(seen.out, expected.out, 1e-5, "out");
      check_close(seen.lse, expected.lse, 1e-5, "lse");
    }
  }
}

TEST_CASE("gradients of latent attention agree with finite differences") {
  for (const bool rotary : {false, true}) {
    Problem p(rotary ? 3 : 4);
    MlaAttentionOptions o;
    o.mask.causal = true, o.softmax.context.backend = Backend::kReference, o.softmax.scale = 0.35;
    if (rotary) o.b_q = &p.b_q, o.b_k = &p.b_k;
    const SoftmaxResult forward = mla_attention(p.query, p.latent, p.w_kc, p.w_vc, o);
    const MlaGradients g =
        mla_attention_backward(p.query, p.latent, p.w_kc, p.w_vc, forward, p.d_out, o);
    std::vector<std::pair<Tensor*, const Tensor*>> pairs{
        {&p.query, &g.query}, {&p.latent, &g.key_value}, {&p.w_kc, &g.w_kc}, {&p.w_vc, &g.w_vc}};
    if (rotary) pairs.insert(pairs.end(), {{&p.b_q, &*g.b_q}, {&p.b_k, &*g.b_k}});
    for (const auto& [array, gradient] : pairs) {
      maskctl::test::check_finite_differences(*array, *gradient, [&] { return p.objective(o); },
                                              "mla", {.elements = 62});
    }
    for (const Backend backend : maskctl::test::judged_backends()) {
      INFO(name(backend));
      o.softmax.context.backend = backend;
      const MlaGradients fast =
          mla_attention_backward(p.query, p.latent, p.w_kc, p.w_vc,
                                 mla_attention(p.query, p.latent, p.w_kc, p.w_vc, o), p.d_out, o);
      check_close(fast.query, g.query, 3e-5, "query");
      check_close(fast.key_value, g.key_value, 3e-5, "key_value");
      check_close(fast.w_kc, g.w_kc, 3e-5, "w_kc");
      check_close(fast.w_vc, g.w_vc, 3e-5, "w_vc");
      if (!rotary) continue;
      check_close(*fast.b_q, *g.b_q, 3e-5, "b_q");
      check_close(*fast.b_k, *g.b_k, 3e-5, "b_k");
    }
  }
}

TEST_CASE("products of packed matrices equal plain loops, transposed or not") {
  Random r(7);
  for (unsigned n = 0; n < 30; ++n) {
    const Index rows = 1 + r.below(200), depth = 1 + r.below(n == 0 ? 600 : 70),
                columns = 1 + r.below(70);
    const bool left = r.chance(0.5), right = r.chance(0.5);
    const Tensor a = r.normal({rows, depth}), b = r.normal({depth, columns});
    const MatrixView va{a.as<float>().data(), rows, depth, left ? rows : depth, left};
    const MatrixView vb{b.as<float>().data(), depth, columns, right ? depth : columns, right};
    const Tensor before = r.normal({rows, columns});
    Tensor slow = before;
    const bool add = r.chance(0.5);
    const MatrixTiles tiles{r.below(3) * r.below(150), r.below(3) * r.below(80)};
    const MatrixProblem problem{va, vb, add, tiles};
    const auto kernel = &Kernels::matrix_product;
    run_kernel(Context{Backend::kReference}, "matrix_product", kernel, problem, slow);
    for (const Backend backend : maskctl::test::judged_backends()) {
      Tensor fast = before;
      run_kernel(Context{backend}, "matrix_product", kernel, problem, fast);
      check_close(fast, slow, 1e-5, "product");
    }
  }
}

TEST_CASE("packed sequences of latent attention do not see each other") {
  Random r(8);
  const Tensor query = r.normal({1, 9, 2, 4}), latent = r.normal({1, 9, 3}),
               w = r.normal({3, 1, 4}), cum = i32({0, 4, 9});
  MlaAttentionOptions o;
  o.cu_seqlens = &cum, o.mask.causal = true;
  const Tensor together = mla_attention(query, latent, w, w, o).out;
  Tensor bent = latent;
  bent.as<float>()[0] += 5;  // token 0, in the first sequence
  const Tensor after = mla_attention(query, bent, w, w, o).out;
  const std::size_t first = 4 * 8;
  CHECK(std::ranges::equal(together.as<float>().subspan(first), after.as<float>().subspan(first)));
  CHECK_FALSE(std::ranges::equal(together.as<float>(), after.as<float>()));
}

TEST_CASE("latents of wrong shapes are refused") {
  const Problem p(1);
  MlaAttentionOptions o;
  o.b_q = &p.b_q;
  const auto call = [&](const Tensor& latent, const Tensor& w) {
    return maskctl::test::error_of([&] { mla_attention(p.query, latent, w, p.w_vc, o); });
  };
  CHECK(call(p.latent, p.w_kc) == "b_q and b_k are given one without the other");
  CHECK(call(p.query, p.w_kc) == "key_value is (2, 9, 4, 6), expected 3 axes");
  CHECK(call(p.latent, p.w_vc) == "w_kc is (5, 2, 7), expected (5, 2, 6)");
}

}  // namespace mla_cases
