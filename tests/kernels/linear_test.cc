// Compares each backend of linear attention with the float64 recurrence, and the recurrence with
// values computed by hand and finite differences.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernels/linear_call.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "support/backends.h"
#include "support/finite_differences.h"
#include "support/rounds.h"

namespace linear_cases {

namespace {

using namespace linear_test;

void compare_backends(const LinearCall& p, double tolerance) {
  const LinearAttentionResult expected = p.forward(Backend::kReference);
  const LinearAttentionGradients gradients = p.backward(Backend::kReference);
  for (const Backend backend : judged_backends()) {
    INFO(name(backend));
    const LinearAttentionResult seen = p.forward(backend);
    check_close(seen.out, expected.out, tolerance, "out");
    check_equal_or_absent(seen.final_state, expected.final_state, tolerance, "final_state");
    check_gradients(p.backward(backend), gradients, 5 * tolerance);
  }
}

double objective(const LinearCall& p) {
  const LinearAttentionResult r = p.forward(Backend::kReference);
  return dot(r.out, p.d_out) + (p.d_final ? dot(*r.final_state, *p.d_final) : 0);
}

/// A call with one batch and one head, 3 tokens, and 2 channels for keys and for values.
LinearCall small() {
  LinearCall p;
  p.query = f32({1, 3, 1, 2}, {1, 0.5f, -0.5f, 2, 0.3f, 0.3f});
  p.key = f32({1, 3, 1, 2}, {0.5f, -1, 1, 1, 2, 0});
  p.value = f32({1, 3, 1, 2}, {1, 0, 0, 1, 2, -1});
  p.options.return_state = true;
  return p;
}

void check_small(const LinearCall& p, const Tensor& out, const Tensor& state) {
  for (const Backend backend : usable_backends()) {
    const LinearAttentionResult seen = p.forward(backend);
    check_close(seen.out, out, 2e-6, "out");
    check_close(*seen.final_state, state, 2e-6, "final_state");
  }
}

}  // namespace

TEST_CASE("the recurrence gives values computed by hand") {
  LinearCall p = small();
  p.g = f32({1, 3, 1, 2}, {-0.1f, -0.2f, -0.3f, -0.4f, -0.5f, -0.6f});
  check_small(p, f32({1, 3, 1, 2}, {0, 0, -1.078935f, 1.060660f, 0.818148f, -0.179179f}),
              f32({1, 1, 2, 2}, {4.224664f, -1.393469f, -0.367879f, 0.548812f}));
  p = small();
  p.g_gamma = f32({1}, {-0.5f});
  check_small(p, f32({1, 3, 1, 2}, {0, 0, -0.964984f, 1.060660f, 0.809509f, -0.166935f}),
              f32({1, 1, 2, 2}, {4.183940f, -1.393469f, -0.367879f, 0.606531f}));
  p.options.reverse = true;
  check_small(
      p, f32({1, 3, 1, 2}, {1.040520f, 0.123063f, -0.857764f, 1.489542f, 0.848528f, -0.424264f}),
      f32({1, 1, 2, 2}, {1.971518f, -0.129228f, -1, 0.606531f}));
}

TEST_CASE("kernels equal the float64 recurrence, forward and backward") {
  for (unsigned seed = 0; seed < test::rounds(150U); ++seed) {
    INFO("seed " << seed);
    compare_backends(random_linear_call(seed, seed % 3 == 0 ? 350 : 30, -0.2f), 2e-5);
  }
}

TEST_CASE("backends equal the twin for heads wider than a panel of a product") {
  for (unsigned seed = 200; seed < 200 + test::rounds(24U); ++seed) {
    INFO("seed " << seed);
    compare_backends(random_linear_call(seed, 220, -0.2f, DType::kFloat32, 140), 2e-5);
  }
}

TEST_CASE("backends equal the twin for heads wider than a slice of the state") {
  for (unsigned seed = 230; seed < 230 + test::rounds(4U); ++seed) {
    INFO("seed " << seed);
    LinearCall p = random_linear_call(seed, 6, -0.2f);
    RandomTensors r(seed);
    const Index b = p.query.extent(0), t = p.query.extent(1), h = p.query.extent(2),
                u = p.key.extent(2), k = 257 + r.below(300), v = 257 + r.below(300);
    const Index n = p.cu_seqlens ? p.cu_seqlens->extent(0) - 1 : b;
    p.query = r.normal({b, t, h, k}), p.key = r.normal({b, t, u, k});
    p.value = r.normal({b, t, u, v}), p.d_out = r.normal({b, t, h, v});
    p.g.reset();
    p.gk = r.uniform({b, t, h, k}, -0.2f, 0), p.gv = r.uniform({b, t, h, v}, -0.2f, 0);
    p.initial_state = r.normal({n, h, k, v}), p.d_final = r.normal({n, h, k, v});
    compare_backends(p, 2e-5);
  }
}

TEST_CASE("backends equal the twin where decays split chunks, down to segments of one token") {
  for (unsigned seed = 300; seed < 360; ++seed) {
    INFO("seed " << seed);
    const std::array<float, 3> strongest{-3, -12, -100};
    compare_backends(random_linear_call(seed, seed % 3 == 0 ? 250 : 40, strongest[seed % 3]), 2e-5);
  }
}

TEST_CASE("backends equal the twin for strong decays of wide heads") {
  for (unsigned seed = 360; seed < 360 + test::rounds(12U); ++seed) {
    INFO("seed " << seed);
    compare_backends(random_linear_call(seed, 220, -4, DType::kFloat32, 140), 2e-5);
  }
}

TEST_CASE("backends equal the twin for gates of 0 between gates that nearly erase the state") {
  for (unsigned seed = 380; seed < 400; ++seed) {
    INFO("seed " << seed);
    LinearCall p = random_linear_call(seed, 200, -0.3f);
    RandomTensors r(seed);
    const std::array<float, 5> values{0, 0, -1e4f, -80, -29};
    for (auto* gate : {&p.g, &p.g_gamma, &p.gk, &p.gv}) {
      if (!*gate) continue;
      for (float& x : (*gate)->as<float>()) {
        if (r.chance(0.7)) x = values[static_cast<std::size_t>(r.below(5))];
      }
    }
    compare_backends(p, 2e-5);
    for (const Backend backend : judged_backends()) {
      const Tensor out = p.forward(backend).out;
      for (const float x : out.as<float>()) CHECK(std::isfinite(x));
    }
  }
}

TEST_CASE("backends equal the twin for log decays above 0, with which the state grows") {
  for (unsigned seed = 400; seed < 420; ++seed) {
    INFO("seed " << seed);
    LinearCall p = random_linear_call(seed, 40, -0.3f);
    for (auto* gate : {&p.g, &p.g_gamma, &p.gk, &p.gv}) {
      if (!*gate) continue;
      for (float& x : (*gate)->as<float>()) x = -x;
    }
    compare_backends(p, 2e-5);
  }
}

TEST_CASE("a gate of minus infinity erases all earlier tokens") {
  for (unsigned seed = 500; seed < 540; ++seed) {
    INFO("seed " << seed);
    LinearCall p = random_linear_call(seed, 60, -0.2f);
    RandomTensors r(seed);
    for (auto* gate : {&p.g, &p.g_gamma, &p.gk, &p.gv}) {
      if (!*gate) continue;
      const Index n = (*gate)->elements();
      (*gate)->as<float>()[static_cast<std::size_t>(r.below(n))] =
          -std::numeric_limits<float>::infinity();
    }
    compare_backends(p, 2e-5);
  }
}

TEST_CASE("half precision inputs of the recurrence differ from the twin only by rounding") {
  for (unsigned seed = 600; seed < 610; ++seed) {
    INFO("seed " << seed);
    compare_backends(random_linear_call(seed, 120, -0.3f, DType::kFloat16), 5e-4);
    compare_backends(random_linear_call(seed, 120, -0.3f, DType::kBFloat16), 4e-3);
  }
}

TEST_CASE("the gradients of the recurrence agree with finite differences") {
  for (unsigned seed = 700; seed < 730; ++seed) {
    INFO("seed " << seed);
    LinearCall p = random_linear_call(seed, 12, -0.5f);
    const LinearAttentionGradients g = p.backward(Backend::kReference);
    const auto check = [&](Tensor& array, const Tensor& gradient, const char* what) {
      check_finite_differences(array, gradient, [&] { return objective(p); }, what,
                               {.margin = 0.02, .epsilon = 0.02});
    };
    check(p.query, g.query, "query");
    check(p.key, g.key, "key");
    check(p.value, g.value, "value");
    if (p.g) check(*p.g, *g.g, "g");
    if (p.g_gamma) check(*p.g_gamma, *g.g_gamma, "g_gamma");
    if (p.gk) check(*p.gk, *g.gk, "gk");
    if (p.gv) check(*p.gv, *g.gv, "gv");
    if (p.initial_state) check(*p.initial_state, *g.initial_state, "initial_state");
  }
}

namespace {

/// Copies tokens [begin, end) of an array [1,T,...].
Tensor tokens(const Tensor& array, Index begin, Index end) {
  std::vector<Index> shape = array.shape();
  shape[1] = end - begin;
  Tensor out(DType::kFloat32, shape);
  const Index width = array.elements() / array.extent(1);
  std::copy_n(array.as<float>().begin() + begin * width, out.elements(), out.as<float>().begin());
  return out;
}

}  // namespace

TEST_CASE("a sequence of steps that pass on the state equals one call") {
  RandomTensors r(11);
  const Tensor q = r.normal({1, 130, 2, 8}), k = r.normal({1, 130, 2, 8}),
               v = r.normal({1, 130, 2, 6}), g = r.uniform({1, 130, 2, 8}, -0.5f, 0);
  for (const Backend backend : usable_backends()) {
    RecurrentAttentionOptions o;
    o.context.backend = backend;
    RecurrentAttentionInputs whole{&q, &k, &v, &g};
    const Tensor expected = recurrent_attention(whole, o).out;
    Tensor state(DType::kFloat32, {1, 2, 8, 6});
    Index first = 0;
    for (const Index end : {1, 2, 3, 100, 101, 130}) {
      const Tensor part_q = tokens(q, first, end), part_k = tokens(k, first, end),
                   part_v = tokens(v, first, end), part_g = tokens(g, first, end);
      RecurrentAttentionInputs part{&part_q, &part_k, &part_v, &part_g};
      part.state = &state;
      LinearAttentionResult result = recurrent_attention(part, o);
      check_close(result.out, tokens(expected, first, end), 1e-5, "out");
      REQUIRE(result.final_state.has_value());
      state = *result.final_state;
      first = end;
    }
  }
}

TEST_CASE("packed sequences do not mix, and tokens after the last one give 0") {
  RandomTensors r(12);
  const Tensor q = r.normal({1, 9, 1, 4}), k = r.normal({1, 9, 1, 4}), v = r.normal({1, 9, 1, 4});
  const Tensor cu = i32({0, 3, 3, 7}), gamma = f32({1}, {-0.1f}), state = r.normal({3, 1, 4, 4});
  for (const Backend backend : usable_backends()) {
    RecurrentAttentionOptions o;
    o.context.backend = backend;
    o.return_state = true;
    RecurrentAttentionInputs in{&q, &k, &v, nullptr, &gamma};
    in.cu_seqlens = &cu;
    in.initial_state = &state;
    const LinearAttentionResult seen = recurrent_attention(in, o);
    const Tensor part_q = tokens(q, 3, 7), part_k = tokens(k, 3, 7), part_v = tokens(v, 3, 7);
    RecurrentAttentionInputs part{&part_q, &part_k, &part_v, nullptr, &gamma};
    Tensor last(DType::kFloat32, {1, 1, 4, 4});
    std::copy_n(state.as<float>().begin() + 32, 16, last.as<float>().begin());
    part.initial_state = &last;
    check_close(tokens(seen.out, 3, 7), recurrent_attention(part, o).out, 1e-6, "out");
    check_close(tokens(seen.out, 7, 9), Tensor(DType::kFloat32, {1, 2, 1, 4}), 0, "past the last");
    // The second sequence has no tokens, so its state stays as given.
    CHECK(std::equal(state.as<float>().begin() + 16, state.as<float>().begin() + 32,
                     seen.final_state->as<float>().begin() + 16));
  }
}

TEST_CASE("the final state is returned if return_state is set or the input state is given") {
  const LinearCall p = small();
  const Tensor state(DType::kFloat32, {1, 1, 2, 2});
  RecurrentAttentionInputs in = p.inputs();
  CHECK(!recurrent_attention(in).final_state);
  in.initial_state = &state;
  CHECK(!recurrent_attention(in).final_state);
  in.initial_state = nullptr;
  in.state = &state;
  CHECK(recurrent_attention(in).final_state.has_value());
  CHECK(recurrent_attention(in).final_state->dtype() == DType::kFloat32);
}

TEST_CASE("gated linear attention equals recurrent attention, with gate as another name of g") {
  RandomTensors r(13);
  const Tensor q = r.normal({2, 7, 2, 4}), k = r.normal({2, 7, 2, 4}), v = r.normal({2, 7, 2, 5}),
               g = r.uniform({2, 7, 2, 4}, -1, 0), gamma = f32({2}, {-0.1f, -0.3f}),
               d_out = r.normal({2, 7, 2, 5});
  RecurrentAttentionInputs expected_in{&q, &k, &v, &g, &gamma};
  const Tensor expected = recurrent_attention(expected_in).out;
  const GlaAttentionInputs by_g{&q, &k, &v, &g, &gamma};
  GlaAttentionInputs by_gate{&q, &k, &v, nullptr, &gamma};
  by_gate.gate = &g;
  CHECK(std::ranges::equal(gla_attention(by_g).out.bytes(), expected.bytes()));
  CHECK(std::ranges::equal(gla_attention(by_gate).out.bytes(), expected.bytes()));
  const LinearAttentionGradients gradients = gla_attention_backward(by_gate, d_out);
  check_gradients(gradients, recurrent_attention_backward(expected_in, d_out), 0);
  GlaAttentionInputs both = by_g;
  both.gate = &g;
  CHECK_THROWS_WITH(gla_attention(both), "gate and g are two names of one array; give one");
}

TEST_CASE("lightning attention takes its decays from the layer index, or as an argument") {
  check_close(lightning_decay(4, 1, 4), f32({4}, {0, -1.5f, -3, -4.5f}), 0, "decay");
  RandomTensors r(14);
  const Tensor q = r.normal({1, 6, 4, 4}), d_out = r.normal({1, 6, 4, 4});
  const Tensor gamma = f32({4}, {0, -1.5f, -3, -4.5f});
  const Tensor expected = recurrent_attention({&q, &q, &q, nullptr, &gamma}).out;
  LightningAttentionInputs in{&q, &q, &q};
  LightningAttentionOptions layer;
  layer.layer_idx = 1, layer.num_layers = 4;
  CHECK(std::ranges::equal(lightning_attention(in, layer).out.bytes(), expected.bytes()));
  CHECK(!lightning_attention_backward(in, d_out, layer).g_gamma);
  in.decay = &gamma;
  CHECK(std::ranges::equal(lightning_attention(in, {}).out.bytes(), expected.bytes()));
  const Tensor one = f32({}, {-0.5f}), four = f32({4}, {-0.5f, -0.5f, -0.5f, -0.5f});
  in.decay = &one;
  const Tensor of_one = lightning_attention(in, {}).out;
  in.decay = &four;
  CHECK(std::ranges::equal(lightning_attention(in, {}).out.bytes(), of_one.bytes()));
  CHECK_THROWS_WITH(lightning_attention(in, layer),
                    "decay and layer_idx, num_layers: give one of them");
  in.decay = nullptr;
  CHECK_THROWS_WITH(lightning_attention(in, {}),
                    "neither decay nor both of layer_idx and num_layers given");
  layer.layer_idx = 4;
  CHECK_THROWS_WITH(lightning_attention(in, layer), "layer_idx 4 is not one of 4 layers from 0");
}

TEST_CASE("the bits of the linear operations do not depend on the number of threads") {
  RandomTensors r(15);
  LinearCall p;
  p.query = r.normal({1, 500, 4, 40}), p.key = r.normal({1, 500, 2, 40});
  p.value = r.normal({1, 500, 2, 40}), p.d_out = r.normal({1, 500, 4, 40});
  p.gk = r.uniform({1, 500, 4, 40}, -0.3f, 0), p.g_gamma = r.uniform({4}, -0.3f, 0);
  for (const Backend backend : judged_backends()) {
    INFO(name(backend));
    set_threads(1);
    const Tensor out = p.forward(backend).out;
    const LinearAttentionGradients gradients = p.backward(backend);
    set_threads(3);
    CHECK(std::ranges::equal(p.forward(backend).out.bytes(), out.bytes()));
    check_gradients(p.backward(backend), gradients, 0);
  }
  set_threads(0);
}

TEST_CASE("the linear operations accept calls without tokens") {
  const Tensor empty(DType::kFloat32, {2, 0, 1, 3});
  RandomTensors r(16);
  const Tensor state = r.normal({2, 1, 3, 3});
  for (const Backend backend : usable_backends()) {
    RecurrentAttentionOptions o;
    o.context.backend = backend;
    RecurrentAttentionInputs in{&empty, &empty, &empty};
    in.state = &state;
    const LinearAttentionResult result = recurrent_attention(in, o);
    CHECK(result.out.elements() == 0);
    CHECK(std::ranges::equal(result.final_state->bytes(), state.bytes()));
    CHECK(std::ranges::equal(
        recurrent_attention_backward(in, empty, o, &state).initial_state->bytes(), state.bytes()));
  }
}

TEST_CASE("the linear operations accept calls without heads") {
  const Tensor none(DType::kFloat32, {1, 3, 0, 4}), k = RandomTensors(18).normal({1, 3, 2, 4});
  for (const Backend backend : usable_backends()) {
    INFO(name(backend));
    RecurrentAttentionOptions o;
    o.context.backend = backend;
    CHECK(recurrent_attention({&none, &k, &k}, o).out.elements() == 0);
    const LinearAttentionGradients gradients =
        recurrent_attention_backward({&none, &k, &k}, none, o);
    check_close(gradients.key, Tensor(DType::kFloat32, k.shape()), 0, "d_key");
    check_close(gradients.value, Tensor(DType::kFloat32, k.shape()), 0, "d_value");
  }
}

TEST_CASE("the linear operations refuse wrong shapes before any work") {
  RandomTensors r(17);
  const Tensor q = r.normal({2, 5, 4, 3}), k = r.normal({2, 5, 2, 3}), v = r.normal({2, 5, 2, 6});
  const auto message = [&](auto change) {
    RecurrentAttentionInputs in{&q, &k, &v};
    change(in);
    try {
      recurrent_attention(in);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  using In = RecurrentAttentionInputs;
  const Tensor three = r.normal({2, 5, 3, 3}), half = r.normal({2, 5, 2, 3}, DType::kFloat16),
               flat = r.normal({5, 3}), gate = r.normal({2, 5, 2, 3}), gamma = r.normal({2}),
               state = r.normal({2, 4, 6, 3}), ids = i32({0, 5}), falls = i32({0, 3, 2}),
               past = i32({0, 6}), from_one = i32({1, 5}), row = r.normal({1, 5, 2, 3}),
               wide = astype(q, DType::kFloat64), none(DType::kFloat32, {2, 5, 2, 0});
  CHECK(message([](In&) {}) == "nothing");
  CHECK(message([](In& in) { in.value = nullptr; }) == "value is missing");
  CHECK(message([&](In& in) { in.key = &flat; }) == "key is (5, 3), expected 4 axes");
  CHECK(message([&](In& in) { in.key = in.value = &three; }) ==
        "4 query heads do not divide into groups of 3 key heads");
  CHECK(message([&](In& in) { in.key = &half; }) ==
        "query is float32 and key is float16; convert one");
  CHECK(message([&](In& in) { in.query = &wide; }) ==
        "query is float64, expected float32, float16 or bfloat16");
  CHECK(message([&](In& in) { in.value = &none; }) ==
        "key width 3 and value width 0, expected at least 1");
  CHECK(message([&](In& in) { in.g = &gate; }) == "g is (2, 5, 2, 3), expected (2, 5, 4, 3)");
  CHECK(message([&](In& in) { in.g_gamma = &gamma; }) == "g_gamma is (2,), expected (4,)");
  CHECK(message([&](In& in) { in.g_gamma = &ids; }) == "g_gamma is int32, expected a float");
  CHECK(message([&](In& in) { in.gv = &gate; }) == "gv is (2, 5, 2, 3), expected (2, 5, 4, 6)");
  CHECK(message([&](In& in) { in.initial_state = &state; }) ==
        "initial_state is (2, 4, 6, 3), expected (2, 4, 3, 6)");
  CHECK(message([&](In& in) { in.state = in.initial_state = &state; }) ==
        "state and initial_state are two names of one array; give one");
  CHECK(message([&](In& in) { in.cu_seqlens = &ids; }) ==
        "cu_seqlens needs a batch of 1, the batch is 2; pack the rows");
  const auto packed = [&](const Tensor& cu) {
    return message([&](In& in) {
      in.query = in.key = in.value = &row;
      in.cu_seqlens = &cu;
    });
  };
  CHECK(packed(falls) == "cu_seqlens falls from 3 to 2 at entry 2, expected ends that never fall");
  CHECK(packed(past) == "cu_seqlens ends at 6, past the 5 tokens");
  CHECK(packed(from_one) == "cu_seqlens starts with 1, expected 0");
  CHECK(packed(flat) == "cu_seqlens is (5, 3), expected (sequences + 1,)");
  CHECK_THROWS_WITH(recurrent_attention_backward({&q, &k, &v}, q),
                    "d_out is (2, 5, 4, 3), expected (2, 5, 4, 6)");
}

}  // namespace linear_cases
