// Products with rows where they lie, against plain loops.
#include "maskctl/attention/core/row_products.h"

#include "support/catch_compat.h"
#include "support/tensors.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;
using namespace maskctl::test;

TEST_CASE("row products of all dtypes and edges are those of plain loops") {
  for (unsigned seed = 0; seed < 200; ++seed) {
    RandomTensors r(seed);
    const DType dtype =
        std::array{DType::kFloat32, DType::kFloat16, DType::kBFloat16}[as_size(r.below(3))];
    const Index heads = 1 + r.below(3), group = 1 + r.below(5), dim = 1 + r.below(40);
    const Index count = 1 + r.below(11), stride = count + r.below(4), places = 20;
    // Heads lie beside each other in a row, or far apart.
    const bool beside = r.chance(0.5);
    const Index head_stride = beside ? dim : places * dim;
    const Index row_stride = beside ? heads * dim : dim;
    const Tensor array = r.normal({heads * places * dim}, dtype);
    const Tensor wide = astype(array, DType::kFloat32);
    std::vector<Index> offsets;
    for (Index j = 0; j < count; ++j) offsets.push_back(r.below(places) * row_stride);
    const KeyRows rows{dtype, array.bytes().data(), offsets, heads, head_stride, dim};
    const Tensor queries = r.normal({heads * group, dim});
    const Tensor weights = r.normal({heads * group, stride});
    const Tensor start = r.normal({heads * group, dim});
    const auto element = [&](Index j, Index h, Index x) {
      return wide.as<float>()[as_size(offsets[as_size(j)] + h / group * head_stride + x)];
    };
    Tensor scores = weights, sums = start;
    row_dots(rows, queries.as<float>().data(), group, scores.as<float>().data(), stride);
    row_sums(rows, weights.as<float>().data(), stride, group, sums.as<float>().data());
    Tensor wanted_scores = weights, wanted_sums = start;
    for (Index h = 0; h < heads * group; ++h) {
      for (Index j = 0; j < count; ++j) {
        float dot = 0;
        const float w = weights.as<float>()[as_size(h * stride + j)];
        for (Index x = 0; x < dim; ++x) {
          dot += queries.as<float>()[as_size(h * dim + x)] * element(j, h, x);
          wanted_sums.as<float>()[as_size(h * dim + x)] += w * element(j, h, x);
        }
        wanted_scores.as<float>()[as_size(h * stride + j)] = dot;
      }
    }
    check_close(scores, wanted_scores, 2e-6, "scores");
    check_close(sums, wanted_sums, 2e-6, "sums");
  }
}

TEST_CASE("outer products are added to rows") {
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

TEST_CASE("a score depends on its two vectors alone") {
  RandomTensors r(1);
  const Index dim = 64;
  const Tensor query = r.normal({3, dim}), row = r.normal({dim});
  for (Index count = 1; count < 9; ++count) {
    const std::vector<Index> offsets(as_size(count), 0);
    std::vector<float> scores(as_size(3 * count));
    row_dots({DType::kFloat32, row.bytes().data(), offsets, 1, 0, dim}, query.as<float>().data(), 3,
             scores.data(), count);
    for (Index g = 0; g < 3; ++g) {
      for (Index j = 1; j < count; ++j) {
        CHECK(scores[as_size(g * count + j)] == scores[as_size(g * count)]);
      }
    }
  }
}

}  // namespace
