// Compares products with rows that are not copied together first (as in a paged cache) with plain
// loops.
#include "maskctl/attention/cpu/row_products.h"

#include <array>

#include "maskctl/attention/cpu/kernel.h"
#include "support/catch_compat.h"
#include "support/tensors.h"

namespace row_products_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

/// Random places of rows in an array, for some heads, with queries and weights for the products.
struct Problem {
  explicit Problem(unsigned seed) {
    RandomTensors r(seed);
    const DType dtype =
        std::array{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[as_size(r.below(3))];
    const Index heads = 1 + r.below(3), places = 40;
    group = 1 + r.below(9), dim = 1 + r.below(r.chance(0.3) ? 150 : 40);
    // The heads of a token lie next to each other, or far apart.
    const bool beside = r.chance(0.5);
    array = r.normal({heads * places * dim}, dtype);
    wide = astype(array, DType::kFloat32);
    const auto draw = [&](Index count) {
      std::vector<Index> drawn;
      for (Index j = 0; j < count; ++j)
        drawn.push_back(r.below(places) * (beside ? heads * dim : dim));
      return drawn;
    };
    offsets = draw(1 + r.below(35));
    const RowArray rows_of{dtype, array.bytes().data(), heads, beside ? dim : places * dim,
                           dim,   1 + r.below(20)};
    rows.place(rows_of, offsets), ahead.place(rows_of, draw(r.below(40)));
    stride = round_up(rows.count(), 4) + 4 * r.below(3);
    queries = r.normal({heads * group, dim}), out = r.normal({heads * group, dim});
    weights = r.normal({heads * group, stride});
    for (Index h = 0; h < heads * group; ++h) {
      for (Index j = rows.count(); j < stride; ++j) weight(h, j) = 0;
    }
  }
  Problem(const Problem&) = delete;  // `rows` points into the members

  float element(Index j, Index h, Index x) const {
    return wide
        .as<float>()[as_size(offsets[as_size(j)] + h / group * rows.array().head_stride + x)];
  }
  float& weight(Index h, Index j) { return weights.as<float>()[as_size(h * stride + j)]; }

  Index group, dim, stride;
  Tensor array, wide, queries, weights, out;
  std::vector<Index> offsets;
  KeyRows rows, ahead;
};

TEST_CASE("row products equal plain loops for all dtypes and sizes") {
  for (unsigned seed = 0; seed < 300; ++seed) {
    INFO("seed " << seed);
    Problem p(seed);
    const KeyRows* const ahead = seed % 2 ? &p.ahead : nullptr;
    Tensor scores = p.weights, sums = p.out;
    row_dots(p.rows, p.queries.as<float>().data(), p.group, scores.as<float>().data(), p.stride,
             ahead);
    row_sums(p.rows, p.weights.as<float>().data(), p.stride, p.group, sums.as<float>().data(),
             ahead);
    // Scores in the padding after the last row have no meaning: they are copied, so that they
    // agree.
    Tensor wanted_scores = scores, wanted_sums = p.out;
    for (Index h = 0; h < p.rows.array().heads * p.group; ++h) {
      for (Index j = 0; j < p.rows.count(); ++j) {
        float dot = 0;
        for (Index x = 0; x < p.dim; ++x) {
          dot += p.queries.as<float>()[as_size(h * p.dim + x)] * p.element(j, h, x);
          wanted_sums.as<float>()[as_size(h * p.dim + x)] += p.weight(h, j) * p.element(j, h, x);
        }
        wanted_scores.as<float>()[as_size(h * p.stride + j)] = dot;
      }
    }
    check_close(scores, wanted_scores, 2e-6, "scores");
    check_close(sums, wanted_sums, 2e-6, "sums");
  }
}

TEST_CASE("rows past the last group of four are neither read nor written") {
  const Index dim = 5, count = 5, stride = 12;
  const std::vector<float> rows(as_size(count * dim), 1), query(as_size(dim), 1);
  std::vector<Index> offsets;
  for (Index j = 0; j < count; ++j) offsets.push_back(j * dim);
  std::vector<float> scores(as_size(stride), -7);
  row_dots(KeyRows({DType::kFloat32, rows.data(), 1, 0, dim}, offsets), query.data(), 1,
           scores.data(), stride);
  for (Index j = 0; j < stride; ++j) {
    if (j < count) CHECK(scores[as_size(j)] == 5);
    if (j >= 8) CHECK(scores[as_size(j)] == -7);
  }
}

TEST_CASE("outer products are added to rows as plain loops do") {
  for (unsigned seed = 0; seed < 100; ++seed) {
    RandomTensors r(seed);
    const Index group = 1 + r.below(9), count = 1 + r.below(7), dim = 1 + r.below(40);
    const Index stride = count + r.below(3), row_stride = dim + r.below(3);
    const Tensor weights = r.normal({group, stride}), vectors = r.normal({group, dim});
    Tensor rows = r.normal({count, row_stride}), wanted = rows;
    for (Index j = 0; j < count; ++j) {
      for (Index g = 0; g < group; ++g) {
        for (Index x = 0; x < dim; ++x) {
          wanted.as<float>()[as_size(j * row_stride + x)] +=
              weights.as<float>()[as_size(g * stride + j)] *
              vectors.as<float>()[as_size(g * dim + x)];
        }
      }
    }
    add_outer(weights.as<float>().data(), stride, vectors.as<float>().data(), group, dim,
              rows.as<float>().data(), row_stride, count);
    check_close(rows, wanted, 2e-6, "rows");
  }
}

TEST_CASE("the bits of a score depend only on its two vectors") {
  RandomTensors r(1);
  const Index dim = 64;
  const Tensor query = r.normal({3, dim}), row = r.normal({dim});
  for (Index count = 1; count < 9; ++count) {
    const std::vector<Index> offsets(as_size(count), 0);
    const Index stride = round_up(count, 4);
    std::vector<float> scores(as_size(3 * stride));
    row_dots(KeyRows({DType::kFloat32, row.bytes().data(), 1, 0, dim}, offsets),
             query.as<float>().data(), 3, scores.data(), stride);
    for (Index g = 0; g < 3; ++g) {
      for (Index j = 1; j < count; ++j) {
        CHECK(scores[as_size(g * stride + j)] == scores[as_size(g * stride)]);
      }
    }
  }
}

}  // namespace

}  // namespace row_products_cases
