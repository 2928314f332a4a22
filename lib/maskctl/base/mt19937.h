// NumPy's legacy random stream, bit for bit: MT19937, seed, random_sample, binomial.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl {

/// numpy.random.RandomState(seed): the same numbers in the same order.
class NumpyRandomState {
 public:
  /// Throws Error(kInvalidArgument) unless 0 <= seed < 2^32.
  explicit NumpyRandomState(std::int64_t seed);
  double random_sample();  // in [0, 1), 53 random bits
  /// Sets each element to a sample of binomial(1, p), 0 or 1. 0 <= p <= 1.
  void bernoulli(double p, std::span<std::uint8_t> out);

 private:
  std::mt19937 engine_;
};

}  // namespace maskctl
