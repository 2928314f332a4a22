// Random masks and integer arrays for the tests of attention, and comparison of gradients.
#pragma once

#include <algorithm>
#include <functional>

#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/tensors.h"

namespace maskctl::attention_test {

using namespace maskctl;
using namespace maskctl::attention;
using maskctl::test::check_close;
using maskctl::test::i32;

class Random : public maskctl::test::RandomTensors {
 public:
  using RandomTensors::RandomTensors;
  /// Returns int32 elements in [0, n).
  Tensor integers(std::vector<Index> shape, Index n) {
    Tensor t(DType::kInt32, std::move(shape));
    for (auto& x : t.as<std::int32_t>()) x = static_cast<std::int32_t>(below(n));
    return t;
  }
  Tensor flags(std::vector<Index> shape, double open) {
    Tensor t(DType::kBool, std::move(shape));
    for (auto& x : t.as<std::uint8_t>()) x = chance(open) ? 1 : 0;
    return t;
  }
  Mask mask(Index b, Index h, Index q, Index k, double open) {
    return mask_from_dense(flags({b, h, q, k}, open));
  }
};

inline void check_gradients(const SoftmaxGradients& seen, const SoftmaxGradients& expected,
                            double tolerance) {
  check_close(seen.query, expected.query, tolerance, "d_query");
  check_close(seen.key, expected.key, tolerance, "d_key");
  check_close(seen.value, expected.value, tolerance, "d_value");
  REQUIRE(seen.bias.has_value() == expected.bias.has_value());
  REQUIRE(seen.sinks.has_value() == expected.sinks.has_value());
  if (seen.bias) check_close(*seen.bias, *expected.bias, tolerance, "d_bias");
  if (seen.sinks) check_close(*seen.sinks, *expected.sinks, tolerance, "d_sinks");
}

/// Makes a mask [B,H,Q,K] cell by cell: (b, h, i, j) is open where open(b, h, i, j) is true.
inline Mask mask_of_rule(Index batch, Index heads, Index queries, Index keys,
                         const std::function<bool(Index b, Index h, Index i, Index j)>& open) {
  Tensor dense(DType::kBool, {batch, heads, queries, keys});
  std::size_t n = 0;
  for (Index b = 0; b < batch; ++b) {
    for (Index h = 0; h < heads; ++h) {
      for (Index i = 0; i < queries; ++i) {
        for (Index j = 0; j < keys; ++j) dense.as<std::uint8_t>()[n++] = open(b, h, i, j) ? 1 : 0;
      }
    }
  }
  return mask_from_dense(dense);
}

/// A causal mask of a document of 512 tokens and 8 of 64. If two ranks get half of the tokens each,
/// the first has much more work.
inline Mask uneven_documents() {
  return mask_of_rule(1, 1, 1024, 1024, [](Index, Index, Index i, Index j) {
    return j <= i && (i < 512 || i / 64 == j / 64);
  });
}

}  // namespace maskctl::attention_test
