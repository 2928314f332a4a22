// Compares each backend of gated_delta_rule with a twin that multiplies matrices as the paper
// writes them, and its gradients with finite differences.
#include "maskctl/kernels/linear/gated_delta_rule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "maskctl/base/threads.h"
#include "support/backends.h"
#include "support/error_of.h"
#include "support/finite_differences.h"
#include "support/rounds.h"

namespace delta_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

constexpr Backend kBackends[] = {Backend::kReference, Backend::kCpu};

/// A call of gated_delta_rule, with the gradients of its results.
struct DeltaCall {
  Tensor query, key, value, beta, d_out;
  std::optional<Tensor> g, initial_state, cu_seqlens, d_final;
  GatedDeltaRuleOptions options;

  GatedDeltaRuleInputs inputs() const {
    const auto at = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
    return {&query, &key, &value, &beta, at(g), at(initial_state), at(cu_seqlens)};
  }
  GatedDeltaRuleOptions on(Backend backend) const {
    GatedDeltaRuleOptions o = options;
    o.context.backend = backend;
    return o;
  }
  LinearAttentionResult forward(Backend backend) const {
    return gated_delta_rule(inputs(), on(backend));
  }
  GatedDeltaRuleGradients backward(Backend backend) const {
    return gated_delta_rule_backward(inputs(), d_out, on(backend), d_final ? &*d_final : nullptr);
  }
};

/// Divides each row by its length.
void make_unit(Tensor& rows) {
  const Index width = rows.shape().back();
  for (Index from = 0; from < rows.elements(); from += width) {
    const auto row = rows.as<float>().subspan(as_size(from), as_size(width));
    float squared = 0;
    for (const float x : row) squared += x * x;
    for (float& x : row) x /= std::sqrt(squared);
  }
}

DeltaCall random_call(unsigned seed, Index longest, DType dtype = DType::kFloat32,
                      Index widest = 12) {
  RandomTensors r(seed);
  const bool packed = r.chance(0.5);
  const Index b = packed ? 1 : 1 + r.below(2), t = 1 + r.below(longest), u = 1 + r.below(2),
              h = u * (1 + r.below(2)), k = 1 + r.below(widest), v = 1 + r.below(widest),
              n = packed ? 1 + r.below(5) : b;
  DeltaCall p;
  Tensor key = r.normal({b, t, u, k});
  make_unit(key);
  p.query = r.normal({b, t, u, k}, dtype), p.key = astype(key, dtype);
  p.value = r.normal({b, t, h, v}, dtype), p.d_out = r.normal({b, t, h, v}, dtype);
  p.beta = r.uniform({b, t, h}, 0, 1);
  if (packed) p.cu_seqlens = r.cu_seqlens(n, r.chance(0.3) ? t - 1 : t);
  if (r.chance(0.7)) p.g = r.uniform({b, t, h}, -0.5F, 0);
  if (r.chance(0.5)) p.initial_state = r.normal({n, h, k, v});
  if (r.chance(0.5)) p.d_final = r.normal({n, h, k, v});
  p.options.return_state = true;
  if (r.chance(0.3)) p.options.softmax_scale = 0.7;
  return p;
}

/// The results by the formula of the paper, S_t = a S_(t-1) (I - beta k k^T) + beta v k^T with a
/// state of shape [V,K], for each token from its sequence's first.
LinearAttentionResult twin(const DeltaCall& p) {
  const Index b = p.query.extent(0), t = p.query.extent(1), u = p.query.extent(2),
              k = p.query.extent(3), h = p.value.extent(2), v = p.value.extent(3);
  const Tensor query = astype(p.query, DType::kFloat32), key = astype(p.key, DType::kFloat32),
               value = astype(p.value, DType::kFloat32);
  std::vector<std::pair<Index, Index>> sequences;  // first and last token + 1, of all tokens
  for (Index n = 0; !p.cu_seqlens && n < b; ++n) sequences.emplace_back(n * t, (n + 1) * t);
  for (Index n = 1; p.cu_seqlens && n < p.cu_seqlens->extent(0); ++n) {
    const auto ends = p.cu_seqlens->as<std::int32_t>();
    sequences.emplace_back(ends[as_size(n - 1)], ends[as_size(n)]);
  }
  const double scale = p.options.softmax_scale.value_or(1 / std::sqrt(static_cast<double>(k)));
  LinearAttentionResult out{Tensor(DType::kFloat32, {b, t, h, v}),
                            Tensor(DType::kFloat32, {std::ssize(sequences), h, k, v})};
  for (std::size_t n = 0; n < sequences.size(); ++n) {
    for (Index head = 0; head < h; ++head) {
      const Index state_at = (static_cast<Index>(n) * h + head) * k * v;
      std::vector<double> state(as_size(v * k));
      for (Index y = 0; y < v; ++y) {
        for (Index x = 0; p.initial_state && x < k; ++x) {
          state[as_size(y * k + x)] = data(*p.initial_state)[state_at + x * v + y];
        }
      }
      for (Index i = sequences[n].first; i < sequences[n].second; ++i) {
        const Index key_at = (i * u + head / (h / u)) * k, number = i * h + head;
        const double a = p.g ? std::exp(double{data(*p.g)[number]}) : 1;
        const double beta = data(p.beta)[number];
        const auto k_of = [&](Index x) { return double{data(key)[key_at + x]}; };
        for (Index y = 0; y < v; ++y) {
          const std::vector<double> before(state.begin() + y * k, state.begin() + (y + 1) * k);
          double read = 0;
          for (Index x = 0; x < k; ++x) {
            double kept = 0;  // a cell of S (I - beta k k^T)
            for (Index z = 0; z < k; ++z) {
              kept += before[as_size(z)] * ((x == z ? 1 : 0) - beta * k_of(z) * k_of(x));
            }
            const double cell = a * kept + beta * double{data(value)[number * v + y]} * k_of(x);
            state[as_size(y * k + x)] = cell;
            read += cell * double{data(query)[key_at + x]};
          }
          data(out.out)[number * v + y] = static_cast<float>(scale * read);
        }
      }
      for (Index x = 0; x < k; ++x) {
        for (Index y = 0; y < v; ++y) {
          data(*out.final_state)[state_at + x * v + y] =
              static_cast<float>(state[as_size(y * k + x)]);
        }
      }
    }
  }
  out.out = astype(out.out, p.value.dtype());
  return out;
}

void check_optional(const std::optional<Tensor>& seen, const std::optional<Tensor>& expected,
                    double tolerance, const char* what) {
  REQUIRE(seen.has_value() == expected.has_value());
  if (seen) check_close(*seen, *expected, tolerance, what);
}

void check_against_twin(const DeltaCall& p, double tolerance) {
  const LinearAttentionResult expected = twin(p);
  const GatedDeltaRuleGradients gradients = p.backward(Backend::kReference);
  for (const Backend backend : kBackends) {
    INFO(name(backend));
    const LinearAttentionResult seen = p.forward(backend);
    check_close(seen.out, expected.out, tolerance, "out");
    check_optional(seen.final_state, expected.final_state, tolerance, "final_state");
    const GatedDeltaRuleGradients g = p.backward(backend);
    check_close(g.query, gradients.query, 5 * tolerance, "d_query");
    check_close(g.key, gradients.key, 5 * tolerance, "d_key");
    check_close(g.value, gradients.value, 5 * tolerance, "d_value");
    check_close(g.beta, gradients.beta, 5 * tolerance, "d_beta");
    check_optional(g.g, gradients.g, 5 * tolerance, "d_g");
    check_optional(g.initial_state, gradients.initial_state, 5 * tolerance, "d_initial_state");
  }
}

TEST_CASE("gated delta rule: every backend gives the matrices of the paper") {
  for (unsigned seed = 0; seed < test::rounds(100U); ++seed) {
    INFO("seed " << seed);
    check_against_twin(random_call(seed, seed % 3 == 0 ? 150 : 12), 2e-5);
  }
  for (unsigned seed = 100; seed < 100 + test::rounds(10U); ++seed) {
    INFO("seed " << seed);
    check_against_twin(random_call(seed, 40, DType::kFloat32, 90), 2e-5);
  }
}

TEST_CASE("gated delta rule: half precision inputs differ only by rounding") {
  for (unsigned seed = 200; seed < 210; ++seed) {
    INFO("seed " << seed);
    check_against_twin(random_call(seed, 60, DType::kFloat16), 5e-4);
    check_against_twin(random_call(seed, 60, DType::kBFloat16), 4e-3);
  }
}

TEST_CASE("gated delta rule: gradients agree with finite differences") {
  for (unsigned seed = 300; seed < 300 + test::rounds(30U); ++seed) {
    INFO("seed " << seed);
    DeltaCall p = random_call(seed, 10, DType::kFloat32, 4);
    const auto objective = [&p] {
      const LinearAttentionResult r = p.forward(Backend::kReference);
      return dot(r.out, p.d_out) + (p.d_final ? dot(*r.final_state, *p.d_final) : 0);
    };
    const GatedDeltaRuleGradients g = p.backward(Backend::kReference);
    const auto check = [&](Tensor& array, const Tensor& gradient, const char* what) {
      check_finite_differences(array, gradient, objective, what, {.margin = 0.02, .epsilon = 0.02});
    };
    check(p.query, g.query, "query");
    check(p.key, g.key, "key");
    check(p.value, g.value, "value");
    check(p.beta, g.beta, "beta");
    if (p.g) check(*p.g, *g.g, "g");
    if (p.initial_state) check(*p.initial_state, *g.initial_state, "initial_state");
  }
}

TEST_CASE("gated delta rule: a key that is written again replaces its value") {
  DeltaCall p;
  p.query = f32({1, 3, 1, 2}, {1, 0, 1, 0, 0, 1});
  p.key = f32({1, 3, 1, 2}, {1, 0, 1, 0, 0, 1});
  p.value = f32({1, 3, 1, 1}, {5, 7, 9});
  p.beta = f32({1, 3, 1}, {1, 1, 0.5F});
  p.options.softmax_scale = 1, p.options.return_state = true;
  for (const Backend backend : kBackends) {
    check_close(p.forward(backend).out, f32({1, 3, 1, 1}, {5, 7, 4.5F}), 1e-7, "out");
    check_close(*p.forward(backend).final_state, f32({1, 1, 2, 1}, {7, 4.5F}), 1e-7, "final_state");
  }
}

TEST_CASE("gated delta rule: a gate of minus infinity erases all earlier tokens") {
  for (unsigned seed = 400; seed < 420; ++seed) {
    INFO("seed " << seed);
    DeltaCall p = random_call(seed, 30);
    if (!p.g) p.g = Tensor(DType::kFloat32, p.beta.shape());
    const Index at = RandomTensors(seed).below(p.g->elements());
    data(*p.g)[at] = -std::numeric_limits<float>::infinity();
    check_against_twin(p, 2e-5);
  }
}

/// Copies tokens [begin, end) of an array [1,T,...].
Tensor tokens(const Tensor& array, Index begin, Index end) {
  std::vector<Index> shape = array.shape();
  shape[1] = end - begin;
  Tensor out(DType::kFloat32, shape);
  const Index width = array.elements() / array.extent(1);
  std::copy_n(data(array) + begin * width, out.elements(), data(out));
  return out;
}

TEST_CASE("gated delta rule: steps that pass on the state equal one call") {
  RandomTensors r(11);
  DeltaCall p;
  p.query = r.normal({1, 50, 1, 6}), p.key = r.normal({1, 50, 1, 6});
  make_unit(p.key);
  p.value = r.normal({1, 50, 2, 4}), p.beta = r.uniform({1, 50, 2}, 0, 1);
  p.g = r.uniform({1, 50, 2}, -0.5F, 0), p.options.return_state = true;
  for (const Backend backend : kBackends) {
    const Tensor expected = p.forward(backend).out;
    DeltaCall part = p;
    Index first = 0;
    for (const Index end : {1, 2, 17, 50}) {
      part.query = tokens(p.query, first, end), part.key = tokens(p.key, first, end);
      part.value = tokens(p.value, first, end), part.beta = tokens(p.beta, first, end);
      part.g = tokens(*p.g, first, end);
      LinearAttentionResult step = part.forward(backend);
      check_close(step.out, tokens(expected, first, end), 1e-5, "out");
      part.initial_state = std::move(*step.final_state);
      first = end;
    }
  }
}

TEST_CASE("gated delta rule: bits do not depend on the number of threads") {
  RandomTensors r(15);
  DeltaCall p;
  p.query = r.normal({2, 150, 2, 40}), p.key = r.normal({2, 150, 2, 40});
  make_unit(p.key);
  p.value = r.normal({2, 150, 4, 40}), p.d_out = r.normal({2, 150, 4, 40});
  p.beta = r.uniform({2, 150, 4}, 0, 1), p.g = r.uniform({2, 150, 4}, -0.3F, 0);
  set_threads(1);
  const Tensor out = p.forward(Backend::kCpu).out, d_key = p.backward(Backend::kCpu).key;
  set_threads(3);
  CHECK(std::ranges::equal(p.forward(Backend::kCpu).out.bytes(), out.bytes()));
  CHECK(std::ranges::equal(p.backward(Backend::kCpu).key.bytes(), d_key.bytes()));
  set_threads(0);
}

TEST_CASE("gated delta rule: calls without tokens or value heads are accepted") {
  const Tensor none(DType::kFloat32, {2, 0, 1, 3}), no_beta(DType::kFloat32, {2, 0, 1});
  const Tensor state = RandomTensors(16).normal({2, 1, 3, 3});
  const Tensor key = RandomTensors(17).normal({1, 4, 2, 3}),
               no_heads(DType::kFloat32, {1, 4, 0, 3}), no_numbers(DType::kFloat32, {1, 4, 0});
  for (const Backend backend : kBackends) {
    GatedDeltaRuleOptions o;
    o.context.backend = backend, o.return_state = true;
    const GatedDeltaRuleInputs in{&none, &none, &none, &no_beta, nullptr, &state};
    CHECK(std::ranges::equal(gated_delta_rule(in, o).final_state->bytes(), state.bytes()));
    CHECK(std::ranges::equal(gated_delta_rule_backward(in, none, o, &state).initial_state->bytes(),
                             state.bytes()));
    const GatedDeltaRuleInputs empty{&key, &key, &no_heads, &no_numbers};
    CHECK(gated_delta_rule(empty, o).out.elements() == 0);
    check_close(gated_delta_rule_backward(empty, no_heads, o).key,
                Tensor(DType::kFloat32, key.shape()), 0, "d_key");
  }
}

TEST_CASE("gated delta rule: wrong shapes are refused before any work") {
  RandomTensors r(18);
  const Tensor k = r.normal({2, 5, 2, 3}), v = r.normal({2, 5, 4, 6}), beta = r.normal({2, 5, 4}),
               three = r.normal({2, 5, 3, 6}), state = r.normal({2, 4, 6, 3}),
               narrow(DType::kFloat32, {2, 5, 4, 0}), ids = i32({0, 5}),
               half = r.normal({2, 5, 2, 3}, DType::kFloat16);
  const auto message = [&](auto change) {
    GatedDeltaRuleInputs in{&k, &k, &v, &beta};
    change(in);
    return error_of([&] { gated_delta_rule(in); });
  };
  using In = GatedDeltaRuleInputs;
  CHECK(message([](In&) {}) == "no error");
  CHECK(message([](In& in) { in.beta = nullptr; }) == "beta is missing");
  CHECK(message([&](In& in) { in.key = &v; }) == "key is (2, 5, 4, 6), expected (2, 5, 2, 3)");
  CHECK(message([&](In& in) { in.key = &half; }) ==
        "query is float32 and key is float16; convert one");
  CHECK(message([&](In& in) { in.value = &three; }) ==
        "3 value heads do not divide into groups of 2 key heads");
  CHECK(message([&](In& in) { in.value = &narrow; }) ==
        "key width 3 and value width 0, expected at least 1");
  CHECK(message([&](In& in) { in.g = &k; }) == "g is (2, 5, 2, 3), expected (2, 5, 4)");
  CHECK(message([&](In& in) { in.initial_state = &state; }) ==
        "initial_state is (2, 4, 6, 3), expected (2, 4, 3, 6)");
  CHECK(message([&](In& in) { in.cu_seqlens = &ids; }) ==
        "cu_seqlens needs a batch of 1, the batch is 2; pack the rows");
  CHECK_THROWS_WITH(gated_delta_rule_backward({&k, &k, &v, &beta}, k),
                    "d_out is (2, 5, 2, 3), expected (2, 5, 4, 6)");
}

}  // namespace

}  // namespace delta_cases
