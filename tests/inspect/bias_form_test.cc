// Tests how finite biases are described: as slopes, as tables, or as neither.
#include "maskctl/inspect/recognise/bias_form.h"

#include <cmath>
#include <random>

#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"

using namespace maskctl;
using maskctl::test::contains;
using maskctl::test::error_of;

namespace {

template <typename F>
Tensor made(DType dtype, Index heads, Index queries, Index keys, const F& value) {
  Tensor out(DType::kFloat64, {1, heads, queries, keys});
  std::size_t i = 0;
  for (Index h = 0; h < heads; ++h) {
    for (Index q = 0; q < queries; ++q) {
      for (Index k = 0; k < keys; ++k) out.as<double>()[i++] = value(h, q, k);
    }
  }
  return astype(out, dtype);
}

double slope_of(Index head) { return std::exp2(-2.0 * static_cast<double>(head + 1)); }

/// The bucket of a relative position in a bidirectional layer of T5, with 32 buckets up to a
/// distance of 128.
Index bucket(Index relative) {
  Index out = relative > 0 ? 16 : 0;
  const Index distance = std::abs(relative);
  if (distance < 8) return out + distance;
  const double far = std::log(static_cast<double>(distance) / 8.0) / std::log(128.0 / 8.0) * 8.0;
  return out + std::min<Index>(15, 8 + static_cast<Index>(far));
}

}  // namespace

TEST_CASE("bias form: ALiBi is recognised in each float type, symmetric, causal and by key") {
  const DType dtype = GENERATE(DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64);
  CAPTURE(name(dtype));
  using Form = BiasPlane::Form;
  const auto far = [](Index q, Index k) { return static_cast<double>(std::abs(q - k)); };
  const BiasForm symmetric = bias_form(
      made(dtype, 4, 40, 40, [&](Index h, Index q, Index k) { return -slope_of(h) * far(q, k); }));
  REQUIRE(symmetric.planes.size() == 4);
  for (Index h = 0; h < 4; ++h) {
    const BiasPlane& plane = symmetric.planes[static_cast<std::size_t>(h)];
    CHECK(plane.form == Form::kDistance);
    CHECK(std::abs(plane.slope + slope_of(h)) < 0.01 * slope_of(h));
  }
  CHECK(symmetric.closed_cells == 0);
  const BiasForm causal = bias_form(made(dtype, 2, 40, 40, [&](Index h, Index q, Index k) {
    return k > q ? -INFINITY : -slope_of(h) * far(q, k);
  }));
  CHECK(causal.planes[1].form == Form::kDistance);
  CHECK(causal.closed_cells == 2 * 40 * 39 / 2);
  CHECK(causal.closed.inf);
  CHECK(contains(bias_text(causal).front(), "ALiBi: -m * |key - query|, slopes m 0.25 0.0625"));
  const BiasForm by_key = bias_form(made(dtype, 2, 1, 40, [&](Index h, Index, Index k) {
    return slope_of(h) * static_cast<double>(k + 0);
  }));
  CHECK(by_key.planes[0].form == Form::kByKey);
  CHECK(by_key.planes[0].slope == 0.25);
  CHECK(bias_text(by_key).front() == "ALiBi by key: m * key, slopes m 0.25 0.0625");
}

TEST_CASE("bias form: ALiBi is recognised if the queries begin at a later key") {
  const auto text = [](Index heads, Index queries, Index keys, Index shift) {
    return bias_text(
        bias_form(made(DType::kFloat32, heads, queries, keys, [&](Index h, Index q, Index k) {
          return k > q + shift ? -INFINITY
                               : -slope_of(h) * static_cast<double>(std::abs(k - q - shift));
        })));
  };
  CHECK(text(2, 4, 24, 20) ==
        std::vector<std::string>{"ALiBi: -m * |key - query| with queries 0-3 at keys 20-23, slopes "
                                 "m 0.25 0.0625"});
  CHECK(text(1, 1, 24, 23).front() ==
        "ALiBi: -m * |key - query| with query 0 at key 23, slopes m 0.25");
  // a cache with room for more keys
  CHECK(text(1, 2, 32, 9).front() ==
        "ALiBi: -m * |key - query| with queries 0-1 at keys 9-10, slopes m 0.25");
}

TEST_CASE("bias form: a few numbers in few regions are described by place") {
  const auto weaker = [](Index, Index q, Index k) {
    const bool image = q < 28 && k >= 28 && k < 36, text = q >= 28 && q < 36 && k < 28;
    return k >= 36 ? -INFINITY : image || text ? std::log(0.3) : 0.0;
  };
  CHECK(
      bias_text(bias_form(made(DType::kFloat32, 1, 40, 40, weaker))).front() ==
      "-1.20397 (unnormalised weights times 0.3) in queries 0-27, keys 28-35; queries 28-35, keys "
      "0-27, and 0 elsewhere");
}

TEST_CASE("bias form: tables by distance, zeros and irregular numbers are told apart") {
  using Form = BiasPlane::Form;
  std::mt19937 random(1);
  std::normal_distribution<double> normal;
  std::vector<double> table(32);
  for (double& value : table) value = normal(random);
  const BiasForm buckets =
      bias_form(made(DType::kFloat32, 1, 300, 300, [&](Index, Index q, Index k) {
        return table[static_cast<std::size_t>(bucket(k - q))];
      }));
  CHECK(buckets.planes[0].form == Form::kTable);
  CHECK(buckets.planes[0].numbers == 31);  // bucket 16 of the 32 stays unused
  CHECK(contains(bias_text(buckets).front(), "T5's buckets: 31 numbers"));
  CHECK(bias_form(Tensor(DType::kFloat32, {3, 3})).planes[0].form == Form::kZero);
  const BiasForm free = bias_form(made(DType::kFloat32, 2, 20, 20, [&](Index h, Index, Index) {
    return h == 0 ? 0.0 : normal(random);
  }));
  CHECK(free.planes[1].form == Form::kIrregular);
  REQUIRE(bias_text(free).size() == 2);
  CHECK(contains(bias_text(free)[1], "are no multiples of distance or key (1 of 2 heads)"));
  CHECK(contains(error_of([] { bias_form(Tensor(DType::kInt32, {3, 3})); }), "not int32"));
  CHECK(contains(error_of([] { bias_form(Tensor(DType::kFloat32, {3})); }), "not (3,)"));
}

TEST_CASE("bias form: a slope with one wrong cell is not called ALiBi") {
  const auto off = [](Index, Index q, Index k) {
    return -0.5 * static_cast<double>(std::abs(q - k)) - (q == 7 && k == 3 ? 0.25 : 0.0);
  };
  CHECK(bias_form(made(DType::kFloat32, 1, 30, 30, off)).planes[0].form ==
        BiasPlane::Form::kIrregular);
}

TEST_CASE("bias form: numbers at one distance alone are no slope") {
  const auto one = [](Index, Index q, Index k) { return q == 1 && k == 0 ? -0.5 : 0.0; };
  const BiasForm pair = bias_form(made(DType::kFloat32, 1, 2, 2, one));
  CHECK(pair.planes[0].form == BiasPlane::Form::kParts);
  CHECK(bias_text(pair).front() ==
        "-0.5 (unnormalised weights times 0.607) in query 1, key 0, and 0 elsewhere");
  const auto far = [](Index, Index q, Index k) { return -0.5 * static_cast<double>(q - k); };
  CHECK(bias_form(made(DType::kFloat32, 1, 3, 3, far)).planes[0].form ==
        BiasPlane::Form::kRelative);
}

TEST_CASE("bias form: 0 and one negative number are called a mask or a penalty, not buckets") {
  const auto two = [](double third) {
    return bias_form(made(DType::kFloat32, 1, 6, 6, [third](Index, Index q, Index k) {
      return q == 0 && k == 0 ? third : k <= q ? 0.0 : -100.0;
    }));
  };
  CHECK(two(0).planes[0].form == BiasPlane::Form::kTwo);
  CHECK(bias_text(two(0)).front() ==
        "0 and -100 only: a mask that closes with -100, as Swin's do with -100, or a penalty");
  CHECK(two(-50).planes[0].form != BiasPlane::Form::kTwo);
}
