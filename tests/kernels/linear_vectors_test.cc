// Compares the row operations of linear attention other than products with plain loops.
#include <limits>
#include <optional>

#include "maskctl/kernels/cpu/linear/vectors.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace linear_vectors_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

using maskctl::test::data;
const float* data(const std::optional<Tensor>& t) { return t ? data(*t) : nullptr; }
float at(const std::optional<Tensor>& t, Index i) { return t ? t->as<float>()[as_size(i)] : 1; }

TEST_CASE("scaling by rows, columns and cells equals plain loops") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index count = 1 + r.below(20), width = 1 + r.below(70);
    const Index stride = width + r.below(3) * 5, out_stride = width + r.below(3);
    const Tensor from = r.normal({count, stride});
    Tensor to = r.normal({count, out_stride}), wanted = to;
    std::optional<Tensor> by_row, by_column, cells;
    if (r.chance(0.5)) by_row = r.normal({count});
    if (r.chance(0.5)) by_column = r.normal({width});
    if (r.chance(0.6)) cells = r.uniform({count, width}, 0.5f, 2);
    const bool divides = r.chance(0.5), adds = r.chance(0.5);
    const float factor = r.chance(0.5) ? 1.0f : 0.7f;
    const Scaling by{factor, data(by_row), data(by_column), data(cells), divides};
    CHECK(by.is_one() == (factor == 1 && !by_row && !by_column && !cells));
    for (Index t = 0; t < count; ++t) {
      for (Index x = 0; x < width; ++x) {
        const float cell = at(cells, t * width + x);
        const float y = from.as<float>()[as_size(t * stride + x)] * factor * at(by_row, t) *
                        at(by_column, x) * (divides ? 1 / cell : cell);
        float& out = wanted.as<float>()[as_size(t * out_stride + x)];
        out = adds ? out + y : y;
      }
    }
    scale_rows({data(from), stride}, count, width, by, {data(to), out_stride}, adds);
    check_close(to, wanted, 1e-6, "rows");
    Tensor in_place = from, apart(DType::kFloat32, {count, stride});
    scale_rows({data(from), stride}, count, width, by, {data(apart), stride});
    scale_rows({data(in_place), stride}, count, width, by, {data(in_place), stride});
    for (Index t = 0; t < count; ++t) {
      for (Index x = 0; x < width; ++x) {
        const auto i = as_size(t * stride + x);
        CHECK(in_place.as<float>()[i] == apart.as<float>()[i]);
      }
    }
  }
}

TEST_CASE("a negative stride reads the rows backwards") {
  const Tensor from = f32({3, 2}, {1, 2, 3, 4, 5, 6});
  Tensor to(DType::kFloat32, {3, 2});
  scale_rows({data(from) + 4, -2}, 3, 2, {.factor = 2}, {data(to), 2});
  check_close(to, f32({3, 2}, {10, 12, 6, 8, 2, 4}), 0, "rows");
}

TEST_CASE("sums of gates leave out the first row, and end at a sum out of range") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index count = 1 + r.below(40), width = 1 + r.below(40);
    const float low = r.chance(0.5) ? -0.5f : -4.0f;
    Tensor a = r.uniform({count, width}, low, 0), b = r.uniform({count, width}, low, 0);
    a.as<float>()[0] = -1000;  // gates of the first row are not summed
    if (r.chance(0.3)) {
      const Index cell = r.below(count * width);
      a.as<float>()[as_size(cell)] = std::numeric_limits<float>::quiet_NaN();
    }
    const bool both = r.chance(0.5);
    const Rows gates[] = {{data(a), width}, {both ? data(b) : nullptr, width}};
    Tensor sums(DType::kFloat32, {count, width});
    const Index rows = sum_gates(gates, count, width, data(sums));
    std::vector<float> wanted(as_size(width));
    Index expected = count;
    for (Index t = 0; t < count && expected == count; ++t) {
      for (Index x = 0; x < width; ++x) {
        const auto i = as_size(t * width + x);
        float& sum = wanted[as_size(x)];
        if (t > 0) sum += a.as<float>()[i];
        if (t > 0 && both) sum += b.as<float>()[i];
        if (!(std::abs(sum) <= kMaxLogDecay)) expected = t;
      }
      for (Index x = 0; x < width && expected == count; ++x) {
        CHECK(sums.as<float>()[as_size(t * width + x)] == wanted[as_size(x)]);
      }
    }
    CHECK(rows == expected);
  }
}

TEST_CASE(
    "sums of products, over rows, over columns and from the last row back, equal plain loops") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index count = 1 + r.below(20), width = 1 + r.below(40), stride = width + r.below(5);
    const Tensor a = r.normal({count, stride}), b = r.normal({count, stride}),
                 c = r.normal({count, stride}), e = r.normal({count, stride});
    const auto product = [&](const Tensor& x, const Tensor& y, Index t, Index i) {
      const auto cell = as_size(t * stride + i);
      return static_cast<double>(x.as<float>()[cell]) * static_cast<double>(y.as<float>()[cell]);
    };
    std::vector<double> by_row(as_size(count)), by_column(as_size(width), 99);
    sum_products(data(a), data(b), stride, count, width, by_row.data(), by_column.data());
    std::vector<double> carry = by_column, totals(as_size(count), -1);
    for (Index t = 0; t < count; ++t) {
      double sum = 0;
      for (Index x = 0; x < width; ++x) sum += product(a, b, t, x);
      CHECK(by_row[as_size(t)] == Catch::Approx(sum).margin(1e-5));
    }
    for (Index x = 0; x < width; ++x) {
      double sum = 0;
      for (Index t = 0; t < count; ++t) sum += product(a, b, t, x);
      CHECK(by_column[as_size(x)] == Catch::Approx(sum).margin(1e-5));
    }
    Tensor sums(DType::kFloat32, {count, width});
    sum_back({{data(a), stride}, {data(b), stride}}, {{data(c), stride}, {data(e), stride}},
             {1, count}, width, carry.data(), data(sums), totals.data());
    std::vector<double> wanted = by_column;
    for (Index t = count; t-- > 1;) {
      double total = 0;
      for (Index x = 0; x < width; ++x) {
        total += wanted[as_size(x)] += product(a, b, t, x) - product(c, e, t, x);
        CHECK(static_cast<double>(sums.as<float>()[as_size(t * width + x)]) ==
              Catch::Approx(wanted[as_size(x)]).margin(1e-5));
      }
      CHECK(totals[as_size(t)] == Catch::Approx(total).margin(1e-4));
    }
    CHECK(totals[0] == -1);
  }
}

}  // namespace

}  // namespace linear_vectors_cases
