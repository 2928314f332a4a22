// Compares the softmax backends with the float64 reference, and the gradients of the reference with
// finite differences.
#include "maskctl/attention/softmax/softmax.h"

#include <cmath>
#include <limits>
#include <random>
#include <sstream>

#include "attention/softmax_call.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"
#include "support/backends.h"
#include "support/catch_compat.h"
#include "support/finite_differences.h"
#include "support/leaf_maker.h"
#include "support/rounds.h"

namespace softmax_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::attention_test;

void compare_backends(SoftmaxCall p, double tolerance) {
  const Tensor* d_lse = p.d_lse ? &*p.d_lse : nullptr;
  SoftmaxOptions slow = p.options;
  slow.context.backend = Backend::kReference;
  const SoftmaxResult expected = softmax_forward(p.inputs(), slow);
  const Tensor weights = softmax_weights(p.inputs(), slow);
  const SoftmaxGradients gradients = softmax_backward(p.inputs(), expected, p.d_out, slow, d_lse);
  for (const Backend backend : test::judged_backends()) {
    INFO(name(backend));
    p.options.context.backend = backend;
    const SoftmaxResult seen = softmax_forward(p.inputs(), p.options);
    check_close(seen.out, expected.out, tolerance, "out");
    check_close(seen.lse, expected.lse, tolerance, "lse");
    check_close(softmax_weights(p.inputs(), p.options), weights, tolerance, "weights");
    check_gradients(softmax_backward(p.inputs(), seen, p.d_out, p.options, d_lse), gradients,
                    2 * tolerance);
  }
}

double objective(const SoftmaxCall& p) {
  const SoftmaxResult r = softmax_forward(p.inputs(), p.options);
  const auto sum = [](const Tensor& a, const Tensor& b) {
    const Tensor x = astype(a, DType::kFloat64), y = astype(b, DType::kFloat64);
    double total = 0;
    for (std::size_t i = 0; i < x.as<double>().size(); ++i) {
      if (std::isfinite(x.as<double>()[i])) total += x.as<double>()[i] * y.as<double>()[i];
    }
    return total;
  };
  return sum(r.out, p.d_out) + (p.d_lse ? sum(r.lse, *p.d_lse) : 0);
}

}  // namespace

TEST_CASE("every backend equals the float64 twin, forward and backward") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    INFO("seed " << seed);
    compare_backends(random_softmax_call(seed), 2e-5);
  }
}

TEST_CASE("every backend equals the float64 twin under planes of every kind") {
  std::mt19937 random(4);
  const twin::Pick pick = twin::pick_from(random);
  for (int n = 0; n < 4 * twin::kLeaves; ++n) {
    INFO("leaf " << n % twin::kLeaves << " number " << n);
    Random r(static_cast<unsigned>(n));
    const Index tq = pick(1, 220), tk = pick(1, 420), d = pick(1, 20);
    SoftmaxCall p;
    p.query = r.normal({1, tq, 2, d}), p.key = r.normal({1, tk, 1, d});
    p.value = r.normal({1, tk, 1, d}), p.d_out = r.normal({1, tq, 2, d});
    p.mask = Mask(twin::make_leaf(static_cast<twin::Leaf>(n % twin::kLeaves), pick, tq, tk).plane);
    if (n % 3 == 0) p.bias = r.normal({1, 1, tq, tk});
    compare_backends(std::move(p), 2e-5);
  }
}

TEST_CASE("gradients have the same bits for every number of threads") {
  Random r(5);
  // With 700 queries, the queries of a head are divided among several tasks.
  const Index n = 700;
  const Tensor q = r.normal({2, n, 4, 8}), k = r.normal({2, n, 2, 8}), v = r.normal({2, n, 2, 8});
  const Mask mask(diagonal_band(n, n, -300, 0));
  const auto check = [&](const Tensor* bias) {
    const SoftmaxInputs inputs{&q, &k, &v, &mask, bias, nullptr};
    const SoftmaxResult forward = softmax_forward(inputs);
    const auto with = [&](int count) {
      set_threads(count);
      SoftmaxGradients gradients = softmax_backward(inputs, forward, forward.out);
      set_threads(0);
      return gradients;
    };
    const SoftmaxGradients one = with(1), three = with(3);
    CHECK(std::ranges::equal(one.key.bytes(), three.key.bytes()));
    CHECK(std::ranges::equal(one.value.bytes(), three.value.bytes()));
    CHECK(std::ranges::equal(one.query.bytes(), three.query.bytes()));
    if (bias) CHECK(std::ranges::equal(one.bias->bytes(), three.bias->bytes()));
  };
  check(nullptr);
  const std::vector<std::vector<Index>> shapes{{2, 4, n, n}, {1, 1, n, n}, {1, 4, n, n},
                                               {2, 1, n, n}, {1, 4, 1, n}, {1, 1, 1, n}};
  for (const std::vector<Index>& shape : shapes) {
    const Tensor bias = r.normal(shape);
    check(&bias);
  }
}

TEST_CASE("strips and tiles equal the float64 twin, with the same bits for any number of threads") {
  Random r(6);
  // A window is computed in strips (a few rows with all their keys at once). A wide triangle, and a
  // window with first keys open for all, are computed in tiles. A band right of the diagonal has
  // both kinds of blocks, and its last queries see no key.
  const Index n = 900;
  const auto check = [&](const PlanePtr& plane, Index dim) {
    const Tensor q = r.normal({1, n, 2, dim}), k = r.normal({1, n, 1, dim}),
                 v = r.normal({1, n, 1, dim + 3});
    const Mask mask(plane);
    const SoftmaxInputs inputs{&q, &k, &v, &mask, nullptr, nullptr};
    const auto with = [&](int count) {
      set_threads(count);
      SoftmaxResult result = softmax_forward(inputs);
      set_threads(0);
      return result;
    };
    SoftmaxOptions slow;
    slow.context.backend = Backend::kReference;
    const SoftmaxResult expected = softmax_forward(inputs, slow), one = with(1), three = with(3);
    check_close(one.out, expected.out, 2e-5, "out");
    check_close(one.lse, expected.lse, 2e-5, "lse");
    CHECK(std::ranges::equal(one.out.bytes(), three.out.bytes()));
    CHECK(std::ranges::equal(one.lse.bytes(), three.lse.bytes()));
  };
  check(diagonal_band(n, n, -100, 0), 20);
  check(diagonal_band(n, n, -n, 0), 130);
  check(diagonal_band(n, n, 200, 400), 20);
  check(bands(n, n, {{{0, n}, {{0, 5, 0, 0}, {-100, 1, 1, 1}}}}), 20);
}

TEST_CASE("half precision inputs differ from the twin only by rounding") {
  for (unsigned seed = 1000; seed < 1000 + test::rounds(15u); ++seed) {
    INFO("seed " << seed);
    compare_backends(random_softmax_call(seed, DType::kFloat16), 4e-3);
    compare_backends(random_softmax_call(seed, DType::kBFloat16), 3e-2);
  }
}

TEST_CASE("the twin's gradients agree with finite differences") {
  for (unsigned seed = 2000; seed < 2000 + test::rounds(20u); ++seed) {
    INFO("seed " << seed);
    SoftmaxCall p = random_softmax_call(seed);
    p.options.context.backend = Backend::kReference;
    const SoftmaxResult forward = softmax_forward(p.inputs(), p.options);
    const SoftmaxGradients g =
        softmax_backward(p.inputs(), forward, p.d_out, p.options, p.d_lse ? &*p.d_lse : nullptr);
    const auto check = [&](Tensor& array, const Tensor& gradient, const char* what) {
      test::check_finite_differences(array, gradient, [&] { return objective(p); }, what,
                                     {.margin = 0.03, .epsilon = 0.03});
    };
    check(p.query, g.query, "query");
    check(p.key, g.key, "key");
    check(p.value, g.value, "value");
    if (p.bias) check(*p.bias, *g.bias, "bias");
    if (p.sinks) check(*p.sinks, *g.sinks, "sinks");
  }
}

TEST_CASE("with normalize=false, outputs equal the twin's") {
  for (unsigned seed = 3000; seed < 3030; ++seed) {
    SoftmaxCall p = random_softmax_call(seed);
    p.options.normalize = false;
    p.options.context.backend = Backend::kReference;
    const Tensor expected = softmax_forward(p.inputs(), p.options).out;
    for (const Backend backend : test::judged_backends()) {
      INFO("seed " << seed << " " << name(backend));
      p.options.context.backend = backend;
      check_close(softmax_forward(p.inputs(), p.options).out, expected, 2e-5, "out");
    }
  }
}

TEST_CASE("rows without keys give 0, the mean of V or NaN, as empty_row says") {
  Random r(7);
  const Tensor q = r.normal({1, 3, 2, 4}), k = r.normal({1, 5, 1, 4}), v = r.normal({1, 5, 1, 4});
  const Mask closed = r.mask(1, 1, 3, 5, 0);
  for (const Backend backend : test::usable_backends()) {
    SoftmaxOptions o;
    o.context.backend = backend;
    const SoftmaxInputs in{&q, &k, &v, &closed, nullptr, nullptr};
    const SoftmaxResult zero = softmax_forward(in, o);
    for (const float x : zero.out.as<float>()) CHECK(x == 0);
    for (const float x : zero.lse.as<float>()) {
      CHECK(x == -std::numeric_limits<float>::infinity());
    }
    o.empty_row = EmptyRow::kNan;
    const SoftmaxResult nan = softmax_forward(in, o);
    for (const float x : nan.out.as<float>()) CHECK(std::isnan(x));
    o.empty_row = EmptyRow::kMean;
    float mean = 0;
    for (Index j = 0; j < 5; ++j) mean += v.as<float>()[static_cast<std::size_t>(j * 4)] / 5;
    CHECK(softmax_forward(in, o).out.as<float>()[0] == Approx(mean));
  }
}

TEST_CASE("NaN in a key that no query sees has no effect") {
  const Backend backend = GENERATE(from_range(test::judged_backends()));
  INFO(name(backend));
  SoftmaxOptions o;
  o.context.backend = backend;
  Random r(8);
  for (const Index keys : {5, 130, 300}) {
    Tensor q = r.normal({1, 100, 2, 16}), k = r.normal({1, keys, 1, 16}),
           v = r.normal({1, keys, 1, 16}), d_out = r.normal({1, 100, 2, 16});
    Tensor dense(DType::kBool, {100, keys});
    for (Index i = 0; i < 100; ++i) {
      for (Index j = 0; j < keys; ++j) {
        dense.as<std::uint8_t>()[static_cast<std::size_t>(i * keys + j)] =
            j != keys - 2 && (i + j) % 3 != 0;
      }
    }
    const Mask mask = mask_from_dense(dense);
    const SoftmaxInputs in{&q, &k, &v, &mask, nullptr, nullptr};
    const SoftmaxResult clean = softmax_forward(in, o);
    const SoftmaxGradients clean_gradients = softmax_backward(in, clean, d_out, o);
    for (Index x = 0; x < 16; ++x) {
      k.as<float>()[static_cast<std::size_t>((keys - 2) * 16 + x)] = std::nanf("");
      v.as<float>()[static_cast<std::size_t>((keys - 2) * 16 + x)] =
          std::numeric_limits<float>::infinity();
    }
    const SoftmaxResult poisoned = softmax_forward(in, o);
    const SoftmaxGradients gradients = softmax_backward(in, poisoned, d_out, o);
    CHECK(std::ranges::equal(poisoned.out.bytes(), clean.out.bytes()));
    CHECK(std::ranges::equal(gradients.query.bytes(), clean_gradients.query.bytes()));
    CHECK(std::ranges::equal(gradients.key.bytes(), clean_gradients.key.bytes()));
    CHECK(std::ranges::equal(gradients.value.bytes(), clean_gradients.value.bytes()));
  }
}

TEST_CASE("NaN in a key reaches the queries that see it") {
  SoftmaxOptions o;
  o.context.backend = GENERATE(from_range(test::judged_backends()));
  Random r(9);
  const Tensor q = r.normal({1, 4, 1, 8}), v = r.normal({1, 4, 1, 8});
  Tensor k = r.normal({1, 4, 1, 8});
  k.as<float>()[3] = std::nanf("");
  const SoftmaxInputs in{&q, &k, &v, nullptr, nullptr, nullptr};
  const SoftmaxResult result = softmax_forward(in, o);
  for (const float x : result.out.as<float>()) CHECK(std::isnan(x));
}

TEST_CASE("softmax attention refuses wrong shapes before any work") {
  Random r(10);
  const Tensor q = r.normal({1, 3, 4, 8}), k = r.normal({1, 5, 2, 8}), v = r.normal({1, 5, 2, 6});
  const Tensor three_heads = r.normal({1, 5, 3, 8}), short_dim = r.normal({1, 5, 2, 7}),
               half = r.normal({1, 5, 2, 8}, DType::kFloat16), flat = r.normal({5, 8});
  const Mask wrong = r.mask(1, 3, 3, 5, 1);
  const Tensor bias = r.normal({1, 3, 3, 5});
  CHECK_THROWS_WITH(softmax_forward({&q, &three_heads, &three_heads, nullptr, nullptr, nullptr}),
                    "4 query heads do not divide into groups of 3 key heads");
  CHECK_THROWS_AS(softmax_forward({&q, &short_dim, &v, nullptr, nullptr, nullptr}), Error);
  CHECK_THROWS_WITH(softmax_forward({&q, &half, &v, nullptr, nullptr, nullptr}),
                    "query is float32 and key is float16; convert one");
  CHECK_THROWS_WITH(softmax_forward({&q, &flat, &v, nullptr, nullptr, nullptr}),
                    "key is (5, 8), expected 4 axes");
  CHECK_THROWS_AS(softmax_forward({&q, &k, &v, &wrong, nullptr, nullptr}), Error);
  CHECK_THROWS_AS(softmax_forward({&q, &k, &v, nullptr, &bias, nullptr}), Error);
  CHECK_THROWS_AS(softmax_forward({&q, &k, nullptr, nullptr, nullptr, nullptr}), Error);
  SoftmaxOptions o;
  o.soft_cap = 0;
  CHECK_THROWS_AS(softmax_forward({&q, &k, &v, nullptr, nullptr, nullptr}, o), Error);
  o = {};
  o.dropout = 1;
  CHECK_THROWS_AS(softmax_forward({&q, &k, &v, nullptr, nullptr, nullptr}, o), Error);
}

}  // namespace softmax_cases
