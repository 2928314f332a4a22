// Tests latent attention (MLA) on the GPU: random calls against the CPU, which rebuilds keys and
// values for softmax attention, and arrays that are on the GPU already.
#include "maskctl/attention/operations/mla/mla.h"

#include "attention/arrays.h"
#include "gpu/kernels_ran.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/host_call.h"
#include "maskctl/attention/cuda/mla/mla.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"
#include "support/rounds.h"

namespace {

using namespace maskctl::attention_test;

/// A random call of latent attention; all arrays have one dtype, and some calls have rotary parts.
struct Latent {
  Latent(unsigned seed, DType type) : r(seed), dtype(type) {
    const auto pick = [&](std::initializer_list<Index> of) {
      return *(of.begin() + r.below(static_cast<Index>(of.size())));
    };
    const Index b = pick({1, 2}), keys = pick({5, 64, 130, 200}), heads = pick({1, 2}),
                group = pick({1, 2}), rank = pick({8, 24, 40});
    const Index dim = pick({16, 64, 128, 30}), value_dim = pick({64, 128, 16, 12});
    const Index queries = pick({1, keys});
    query = normal({b, queries, heads * group, dim}, 1);
    latent = normal({b, keys, rank}, 1);
    w_kc = normal({rank, heads, dim}, 1 / std::sqrt(static_cast<double>(rank)));
    w_vc = normal({rank, heads, value_dim}, 1 / std::sqrt(static_cast<double>(rank)));
    d_out = normal({b, queries, heads * group, value_dim}, 1);
    if (seed % 3 != 0) {
      const Index rotary = pick({8, 64, 6});
      b_q = normal({b, queries, rotary}, 1), b_k = normal({b, keys, rotary}, 1);
    }
    options.mask.causal = seed % 2 == 0;
  }
  Tensor normal(std::vector<Index> shape, double scale) {
    Tensor x = r.normal(std::move(shape));
    for (float& e : x.as<float>()) e = static_cast<float>(e * scale);
    return astype(x, dtype);
  }
  MlaAttentionOptions on(Backend backend) const {
    MlaAttentionOptions o = options;
    o.softmax.context.backend = backend;
    if (b_q) o.b_q = &*b_q, o.b_k = &*b_k;
    return o;
  }
  SoftmaxResult forward(Backend backend) const {
    return mla_attention(query, latent, w_kc, w_vc, on(backend));
  }
  MlaGradients gradients(Backend backend, const SoftmaxResult& result) const {
    return mla_attention_backward(query, latent, w_kc, w_vc, result, d_out, on(backend));
  }

  Random r;
  DType dtype;
  Tensor query, latent, w_kc, w_vc, d_out;
  std::optional<Tensor> b_q, b_k;
  MlaAttentionOptions options;
};

void compare(const Latent& call, double tolerance) {
  const SoftmaxResult expected = call.forward(Backend::kCpu), seen = call.forward(Backend::kCuda);
  check_close(seen.out, expected.out, tolerance, "out");
  check_close(seen.lse, expected.lse, tolerance, "lse");
  const MlaGradients a = call.gradients(Backend::kCpu, expected);
  const MlaGradients b = call.gradients(Backend::kCuda, expected);
  check_close(b.query, a.query, 2 * tolerance, "query");
  check_close(b.key_value, a.key_value, 2 * tolerance, "key_value");
  // A query that sees one key adds 0 to this gradient, except for what the CPU leaves by rounding
  // `out` alone.
  check_close(b.w_kc, a.w_kc, 3 * tolerance, "w_kc");
  check_close(b.w_vc, a.w_vc, 2 * tolerance, "w_vc");
  if (!call.b_q) return;
  check_close(*b.b_q, *a.b_q, 2 * tolerance, "b_q");
  check_close(*b.b_k, *a.b_k, 2 * tolerance, "b_k");
}

}  // namespace

TEST_CASE("gpu: latent attention equals the CPU's, forward and backward", "[tensor cores]") {
  constexpr DType kTypes[] = {DType::kFloat32, DType::kFloat16, DType::kBFloat16};
  constexpr double kTolerances[] = {3e-5, 6e-3, 4e-2};
  for (const std::size_t n : {0, 1, 2}) {
    const int calls = gpu_test::calls(60);
    for (int seed = 0; seed < calls; ++seed) {
      INFO(name(kTypes[n]) << " seed " << seed);
      compare(Latent(static_cast<unsigned>(seed), kTypes[n]), kTolerances[n]);
    }
    const bool is_plain = n == 0 || !cuda::hopper::unavailable().empty();
    gpu_test::say_ran("mla_forward, mla_backward", name(kTypes[n]), calls,
                      is_plain ? "plain" : "plain or tensor cores");
  }
}

TEST_CASE("gpu: NaN in a latent that no query sees has no effect", "[tensor cores][values]") {
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    Latent call(4, dtype);
    call.latent = call.normal({2, 70, 24}, 1);
    call.w_kc = call.normal({24, 2, 64}, 0.2), call.w_vc = call.normal({24, 2, 64}, 0.2);
    call.query = call.normal({2, 40, 2, 64}, 1), call.d_out = call.normal({2, 40, 2, 64}, 1);
    call.b_q = call.normal({2, 40, 8}, 1), call.b_k = call.normal({2, 70, 8}, 1);
    call.options.mask.causal = true;  // no query sees keys 40 to 69
    const SoftmaxResult expected = call.forward(Backend::kCuda);
    const MlaGradients clean = call.gradients(Backend::kCuda, expected);
    Tensor poisoned = astype(call.latent, DType::kFloat32);
    for (const Index b : {0, 1}) {
      const auto unseen = poisoned.as<float>().subspan(as_size((b * 70 + 40) * 24), 30 * 24);
      std::ranges::fill(unseen, std::nanf(""));
    }
    call.latent = astype(poisoned, dtype);
    const SoftmaxResult seen = call.forward(Backend::kCuda);
    const MlaGradients g = call.gradients(Backend::kCuda, seen);
    CHECK(std::ranges::equal(seen.out.bytes(), expected.out.bytes()));
    CHECK(std::ranges::equal(g.query.bytes(), clean.query.bytes()));
    CHECK(std::ranges::equal(g.key_value.bytes(), clean.key_value.bytes()));
    CHECK(std::ranges::equal(g.w_kc.bytes(), clean.w_kc.bytes()));
    CHECK(std::ranges::equal(g.w_vc.bytes(), clean.w_vc.bytes()));
    CHECK(std::ranges::equal(g.b_k->bytes(), clean.b_k->bytes()));
  }
}
