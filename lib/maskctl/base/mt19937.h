// NumPy's legacy random stream, bit for bit: MT19937, seed, random_sample, binomial.
#pragma once

#include <cstdint>
#include <random>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl {

/// numpy.random.RandomState(seed) with its legacy distributions.
class NumpyRandomState {
 public:
  /// Throws Error(kInvalidArgument) unless 0 <= seed < 2^32.
  explicit NumpyRandomState(std::int64_t seed);
  double random_sample();  // in [0, 1), 53 random bits
  /// Draws binomial(1, p), 0 or 1, for each element. p in [0, 1].
  void bernoulli(double p, std::span<std::uint8_t> out);

 private:
  std::mt19937 engine_;
};

}  // namespace maskctl
