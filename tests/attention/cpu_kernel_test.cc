// Compares the inner loops of CPU attention with plain loops, for sizes on all sides of vector and
// block sizes.
#include <cmath>
#include <limits>

#include "maskctl/attention/cpu/kernel.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace cpu_kernel_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

const float* data(const Tensor& t) { return t.as<float>().data(); }
float* data(Tensor& t) { return t.as<float>().data(); }
float& at(Tensor& t, Index row, Index column) {
  return t.as<float>()[as_size(row * t.extent(1) + column)];
}
float at(const Tensor& t, Index row, Index column) {
  return t.as<float>()[as_size(row * t.extent(1) + column)];
}

/// Draws a range in [0, extent) for each group, with ends that are multiples of `unit`; some are
/// empty.
std::vector<Range> random_spans(RandomTensors& r, Index groups, Index extent, Index unit) {
  std::vector<Range> spans;
  for (Index g = 0; g < groups; ++g) {
    const Index begin = r.below(extent / unit) * unit;
    const Index most = (extent - begin) / unit;
    spans.push_back(r.chance(0.2) ? Range{extent, 0}
                                  : Range{begin, begin + (1 + r.below(most)) * unit});
  }
  return spans;
}

TEST_CASE("products with columns inside spans equal plain loops, and leave other columns") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index groups = 1 + r.below(20), rows = groups * kRowGroup, depth = 1 + r.below(70);
    const Index inside = 1 + r.below(150), columns = round_up(inside, kColumnGroup);
    const Tensor a = r.normal({rows, depth}), b = r.normal({inside, depth});
    const std::vector<Range> spans = random_spans(r, groups, columns, kVector);
    std::vector<float> packed(as_size(depth * columns));
    pack_columns(data(b), depth, inside, depth, packed.data());
    Tensor c = r.normal({rows, columns}), wanted = c;
    for (Index row = 0; row < rows; ++row) {
      const Range span = spans[as_size(row / kRowGroup)];
      for (Index j = span.begin; j < span.end; ++j) {
        float dot = 0;
        for (Index x = 0; x < depth && j < inside; ++x) dot += at(a, row, x) * at(b, j, x);
        at(wanted, row, j) = dot;
      }
    }
    multiply_columns(data(a), depth, depth, packed.data(), spans, data(c), columns);
    check_close(c, wanted, 2e-6, "C");
  }
}

TEST_CASE("products over the depths inside spans equal plain loops, written or added") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    INFO("seed " << seed);
    RandomTensors r(seed);
    const Index groups = 1 + r.below(20), rows = groups * kRowGroup, depth = 1 + r.below(150);
    const Index inside = 1 + r.below(70), columns = round_up(inside, kColumnGroup);
    const Tensor a = r.normal({rows, depth}), b = r.normal({depth, inside});
    const std::vector<Range> spans = random_spans(r, groups, depth, 1);
    const bool accumulate = r.chance(0.5);
    std::vector<float> packed(as_size(depth * columns));
    pack_rows(data(b), inside, depth, inside, packed.data());
    Tensor c = r.normal({rows, columns}), wanted = c;
    for (Index row = 0; row < rows; ++row) {
      const Range span = spans[as_size(row / kRowGroup)];
      for (Index j = 0; j < columns && !span.empty(); ++j) {
        float sum = accumulate ? at(c, row, j) : 0;
        for (Index k = span.begin; k < span.end && j < inside; ++k)
          sum += at(a, row, k) * at(b, k, j);
        at(wanted, row, j) = sum;
      }
    }
    multiply_depths(data(a), depth, depth, packed.data(), columns, spans, data(c), columns,
                    accumulate);
    check_close(c, wanted, 2e-6, "C");
  }
}

TEST_CASE("the transpose of a square equals plain loops") {
  RandomTensors r(1);
  const Index n = 3 * kColumnGroup;
  const Tensor x = r.normal({n, n});
  Tensor seen(DType::kFloat32, {n, n});
  transpose(data(x), n, data(seen));
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) REQUIRE(at(seen, j, i) == at(x, i, j));
  }
}

TEST_CASE("weights of a group of rows equal those of its single rows") {
  RandomTensors r(2);
  for (Index n = kVector; n <= 9 * kVector; n += kVector) {
    INFO("columns " << n);
    const Index stride = n + 5;
    Tensor x = r.normal({kRowGroup, stride}), wanted = x;
    at(x, 1, 0) = at(wanted, 1, 0) = -kInfinity;
    for (Index i = 0; i < n; ++i) at(x, 2, i) = at(wanted, 2, i) = -kInfinity;
    Tensor most(DType::kFloat32, {kRowGroup}), sum = most, wanted_most = most, wanted_sum = most;
    const Tensor shift = r.normal({kRowGroup});
    max_of_group(data(x), stride, n, data(most));
    exp_and_sum_group(data(x), stride, n, data(shift), data(sum));
    for (Index row = 0; row < kRowGroup; ++row) {
      float &largest = data(wanted_most)[row], &total = data(wanted_sum)[row];
      largest = -kInfinity;
      for (Index i = 0; i < n; ++i) {
        float& cell = at(wanted, row, i);
        largest = std::max(largest, cell);
        cell = std::exp(cell - data(shift)[row]);
        total += cell;
      }
    }
    CHECK(at(x, 1, 0) == 0);
    check_close(x, wanted, 1e-6, "weights");
    check_close(sum, wanted_sum, 1e-6, "sums");
    for (Index row = 0; row < kRowGroup; ++row) CHECK(data(most)[row] == data(wanted_most)[row]);
  }
}

TEST_CASE("fast logarithms are accurate, -inf at 0, and NaN for NaN") {
  std::vector<float> x(as_size(2 * kColumnGroup));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::exp(static_cast<float>(i) - 20);
  x[5] = 0, x[7] = std::nanf(""), x[9] = 1;
  std::vector<float> seen(x.size());
  log_all(x.data(), static_cast<Index>(x.size()), seen.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    INFO("x " << x[i]);
    if (i == 7) {
      CHECK(std::isnan(seen[i]));
    } else if (i == 5) {
      CHECK(seen[i] == -kInfinity);
    } else {
      CHECK(std::abs(seen[i] - std::log(x[i])) <= 3e-7f * std::max(1.0f, std::abs(std::log(x[i]))));
    }
  }
}

TEST_CASE("scaling of rows and products of pairs of rows equal plain loops") {
  RandomTensors r(3);
  for (Index n = 1; n < 70; ++n) {
    INFO("n " << n);
    const Index rows = 5;
    const Tensor x = r.normal({rows, n}), factors = r.normal({rows});
    Tensor out(DType::kFloat32, {rows, n + 3}), wanted = out, dots(DType::kFloat32, {rows});
    Tensor wanted_dots = dots;
    scale_rows(data(x), n, rows, n, data(factors), data(out), n + 3);
    for (Index row = 0; row < rows; ++row) {
      data(dots)[row] = dot(data(x), data(x) + row * n, n);
      for (Index i = 0; i < n; ++i) {
        at(wanted, row, i) = at(x, row, i) * data(factors)[row];
        data(wanted_dots)[row] += at(x, 0, i) * at(x, row, i);
      }
    }
    check_close(out, wanted, 0, "scaled");
    check_close(dots, wanted_dots, 1e-6, "dots");
  }
}

}  // namespace

}  // namespace cpu_kernel_cases
