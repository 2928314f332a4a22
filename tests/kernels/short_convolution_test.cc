// Compares each backend of short_convolution with a twin in plain loops, and its gradients with
// finite differences.
#include "maskctl/kernels/short_convolution/short_convolution.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "maskctl/base/threads.h"
#include "support/backends.h"
#include "support/error_of.h"
#include "support/finite_differences.h"
#include "support/rounds.h"

namespace convolution_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

/// A call of short_convolution, with the gradients of its results.
struct ConvolutionCall {
  Tensor x, weight, d_out;
  std::optional<Tensor> bias, initial_state, cu_seqlens, d_final;
  ShortConvolutionOptions options;

  ShortConvolutionInputs inputs() const {
    const auto at = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
    return {&x, &weight, at(bias), at(initial_state), at(cu_seqlens)};
  }
  ShortConvolutionOptions on(Backend backend) const {
    ShortConvolutionOptions o = options;
    o.context.backend = backend;
    return o;
  }
  ShortConvolutionResult forward(Backend backend) const {
    return short_convolution(inputs(), on(backend));
  }
  ShortConvolutionGradients backward(Backend backend) const {
    return short_convolution_backward(inputs(), d_out, on(backend), d_final ? &*d_final : nullptr);
  }
};

ConvolutionCall random_call(unsigned seed, Index most_channels, DType dtype = DType::kFloat32) {
  RandomTensors r(seed);
  const bool packed = r.chance(0.5);
  const Index b = packed ? 1 : 1 + r.below(3), t = 1 + r.below(30), w = 1 + r.below(6),
              c = 1 + r.below(most_channels), n = packed ? 1 + r.below(5) : b;
  ConvolutionCall p;
  p.x = r.normal({b, t, c}, dtype), p.weight = r.normal({c, w}, dtype);
  p.d_out = r.normal({b, t, c}, dtype);
  if (packed) p.cu_seqlens = r.cu_seqlens(n, r.chance(0.3) ? t - 1 : t);
  if (r.chance(0.5)) p.bias = r.normal({c});
  if (r.chance(0.5)) p.initial_state = r.normal({n, c, w - 1});
  if (r.chance(0.5)) p.d_final = r.normal({n, c, w - 1});
  p.options.activation = r.chance(0.5) ? Activation::kSilu : Activation::kNone;
  p.options.return_state = true;
  return p;
}

/// The results of a call as they are defined: channel by channel, over the inputs of a sequence
/// that follow its state.
ShortConvolutionResult twin(const ConvolutionCall& p) {
  const Index b = p.x.extent(0), t = p.x.extent(1), c = p.x.extent(2), w = p.weight.extent(1);
  const Tensor x = astype(p.x, DType::kFloat32), weight = astype(p.weight, DType::kFloat32);
  std::vector<std::pair<Index, Index>> sequences;  // first and last token + 1, of all tokens
  for (Index n = 0; !p.cu_seqlens && n < b; ++n) sequences.emplace_back(n * t, (n + 1) * t);
  for (Index n = 1; p.cu_seqlens && n < p.cu_seqlens->extent(0); ++n) {
    const auto ends = p.cu_seqlens->as<std::int32_t>();
    sequences.emplace_back(ends[as_size(n - 1)], ends[as_size(n)]);
  }
  const Index count = std::ssize(sequences);
  Tensor out(DType::kFloat32, {b, t, c}), last(DType::kFloat32, {count, c, w - 1});
  for (Index n = 0; n < count; ++n) {
    const auto [first, end] = sequences[as_size(n)];
    for (Index channel = 0; channel < c; ++channel) {
      std::vector<double> line;
      for (Index s = 0; s < w - 1; ++s) {
        line.push_back(p.initial_state ? data(*p.initial_state)[(n * c + channel) * (w - 1) + s]
                                       : 0.F);
      }
      for (Index i = first; i < end; ++i) {
        line.push_back(data(x)[i * c + channel]);
        double z = p.bias ? data(*p.bias)[channel] : 0.F;
        for (Index tap = 0; tap < w; ++tap) {
          z += double{data(weight)[channel * w + tap]} * line[line.size() - as_size(w - tap)];
        }
        if (p.options.activation == Activation::kSilu) z *= 1 / (1 + std::exp(-z));
        data(out)[i * c + channel] = static_cast<float>(z);
      }
      for (Index s = 0; s < w - 1; ++s) {
        data(last)[(n * c + channel) * (w - 1) + s] =
            static_cast<float>(line[line.size() - as_size(w - 1 - s)]);
      }
    }
  }
  return {astype(out, p.x.dtype()), std::move(last)};
}

void check_against_twin(const ConvolutionCall& p, double tolerance) {
  const ShortConvolutionResult expected = twin(p);
  const ShortConvolutionGradients gradients = p.backward(Backend::kReference);
  for (const Backend backend : usable_backends()) {
    if (backend == Backend::kCuda) continue;  // it has no such kernel
    INFO(name(backend));
    const ShortConvolutionResult seen = p.forward(backend);
    check_close(seen.out, expected.out, tolerance, "out");
    check_close(*seen.final_state, *expected.final_state, 0, "final_state");
    const ShortConvolutionGradients g = p.backward(backend);
    check_close(g.x, gradients.x, tolerance, "d_x");
    check_close(g.weight, gradients.weight, tolerance, "d_weight");
    REQUIRE(g.bias.has_value() == p.bias.has_value());
    if (g.bias) check_close(*g.bias, *gradients.bias, tolerance, "d_bias");
    REQUIRE(g.initial_state.has_value() == p.initial_state.has_value());
    if (g.initial_state) {
      check_close(*g.initial_state, *gradients.initial_state, tolerance, "d_initial_state");
    }
  }
}

TEST_CASE("short convolution: every backend gives the sums of its definition") {
  for (unsigned seed = 0; seed < test::rounds(150U); ++seed) {
    INFO("seed " << seed);
    check_against_twin(random_call(seed, seed % 3 == 0 ? 200 : 6), 2e-6);
  }
}

TEST_CASE("short convolution: half precision inputs differ only by rounding") {
  for (unsigned seed = 200; seed < 210; ++seed) {
    INFO("seed " << seed);
    check_against_twin(random_call(seed, 20, DType::kFloat16), 2e-3);
    check_against_twin(random_call(seed, 20, DType::kBFloat16), 1e-2);
  }
}

TEST_CASE("short convolution: gradients agree with finite differences") {
  for (unsigned seed = 300; seed < 300 + test::rounds(40U); ++seed) {
    INFO("seed " << seed);
    ConvolutionCall p = random_call(seed, 4);
    const auto objective = [&p] {
      const ShortConvolutionResult r = p.forward(Backend::kReference);
      return dot(r.out, p.d_out) + (p.d_final ? dot(*r.final_state, *p.d_final) : 0);
    };
    const ShortConvolutionGradients g = p.backward(Backend::kReference);
    const auto check = [&](Tensor& array, const Tensor& gradient, const char* what) {
      check_finite_differences(array, gradient, objective, what);
    };
    check(p.x, g.x, "x");
    check(p.weight, g.weight, "weight");
    if (p.bias) check(*p.bias, *g.bias, "bias");
    if (p.initial_state) check(*p.initial_state, *g.initial_state, "initial_state");
  }
}

TEST_CASE("short convolution: values computed by hand, with a border and a token after the last") {
  ConvolutionCall p;
  p.x = f32({1, 5, 1}, {1, 2, 3, 4, 5});
  p.weight = f32({1, 3}, {100, 10, 1});
  p.cu_seqlens = i32({0, 2, 4});
  p.options.return_state = true;
  for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
    check_close(p.forward(backend).out, f32({1, 5, 1}, {1, 12, 3, 34, 0}), 0, "out");
    check_close(*p.forward(backend).final_state, f32({2, 1, 2}, {1, 2, 3, 4}), 0, "final_state");
  }
}

TEST_CASE("short convolution: steps that pass on the state equal one call") {
  RandomTensors r(11);
  const Tensor x = r.normal({1, 9, 3}), weight = r.normal({3, 4});
  for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
    ShortConvolutionOptions o;
    o.context.backend = backend, o.return_state = true;
    const Tensor expected = short_convolution({&x, &weight}, o).out;
    Tensor state(DType::kFloat32, {1, 3, 3});
    Index first = 0;
    for (const Index end : {1, 2, 6, 9}) {
      Tensor part(DType::kFloat32, {1, end - first, 3});
      std::copy_n(data(x) + first * 3, part.elements(), data(part));
      ShortConvolutionResult step = short_convolution({&part, &weight, nullptr, &state}, o);
      CHECK(
          std::equal(data(step.out), data(step.out) + part.elements(), data(expected) + first * 3));
      state = std::move(*step.final_state);
      first = end;
    }
  }
}

TEST_CASE("short convolution: bits do not depend on the number of threads") {
  ConvolutionCall p = random_call(12, 4);
  RandomTensors r(13);
  p.x = r.normal({2, 70, 300}), p.d_out = r.normal({2, 70, 300}), p.weight = r.normal({300, 4});
  p.bias = r.normal({300}), p.cu_seqlens.reset(), p.initial_state.reset(), p.d_final.reset();
  set_threads(1);
  const Tensor out = p.forward(Backend::kCpu).out, d_weight = p.backward(Backend::kCpu).weight;
  set_threads(3);
  CHECK(std::ranges::equal(p.forward(Backend::kCpu).out.bytes(), out.bytes()));
  CHECK(std::ranges::equal(p.backward(Backend::kCpu).weight.bytes(), d_weight.bytes()));
  set_threads(0);
}

TEST_CASE("short convolution: calls without tokens or channels are accepted") {
  const Tensor none(DType::kFloat32, {2, 0, 3}), weight = RandomTensors(14).normal({3, 4});
  const Tensor state = RandomTensors(15).normal({2, 3, 3});
  const Tensor narrow(DType::kFloat32, {1, 4, 0}), no_taps(DType::kFloat32, {0, 4});
  for (const Backend backend : {Backend::kReference, Backend::kCpu}) {
    ShortConvolutionOptions o;
    o.context.backend = backend, o.return_state = true;
    const ShortConvolutionInputs in{&none, &weight, nullptr, &state};
    CHECK(std::ranges::equal(short_convolution(in, o).final_state->bytes(), state.bytes()));
    CHECK(std::ranges::equal(short_convolution_backward(in, none, o, &state).initial_state->bytes(),
                             state.bytes()));
    CHECK(short_convolution({&narrow, &no_taps}, o).out.elements() == 0);
  }
}

TEST_CASE("short convolution: wrong shapes are refused before any work") {
  RandomTensors r(16);
  const Tensor x = r.normal({2, 5, 4}), weight = r.normal({4, 3}), wide = r.normal({3, 4}),
               state = r.normal({2, 4, 3}), none(DType::kFloat32, {4, 0}), ids = i32({0, 5});
  const auto message = [&](auto change) {
    ShortConvolutionInputs in{&x, &weight};
    change(in);
    return error_of([&] { short_convolution(in); });
  };
  using In = ShortConvolutionInputs;
  CHECK(message([](In& in) { in.x = nullptr; }) == "x is missing");
  CHECK(message([&](In& in) { in.x = &weight; }) == "x is (4, 3), expected 3 axes");
  CHECK(message([&](In& in) { in.weight = &wide; }) == "weight is (3, 4), expected (4, 4)");
  CHECK(message([&](In& in) { in.weight = &none; }) == "weight has no taps, expected at least 1");
  CHECK(message([&](In& in) { in.bias = &ids; }) == "bias is int32, expected a float");
  CHECK(message([&](In& in) { in.initial_state = &state; }) ==
        "initial_state is (2, 4, 3), expected (2, 4, 2)");
  CHECK(message([&](In& in) { in.cu_seqlens = &ids; }) ==
        "cu_seqlens needs a batch of 1, the batch is 2; pack the rows");
  CHECK_THROWS_WITH(short_convolution_backward({&x, &weight}, weight),
                    "d_out is (4, 3), expected (2, 5, 4)");
}

}  // namespace

}  // namespace convolution_cases
