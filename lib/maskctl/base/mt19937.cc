#include "maskctl/base/mt19937.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "maskctl/base/error.h"

namespace maskctl {
namespace {

std::uint32_t checked_seed(std::int64_t seed) {
  if (seed < 0 || seed > 0xffffffff) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("seed {}: expected 0 to {} as numpy's RandomState", seed, 0xffffffffU));
  }
  return static_cast<std::uint32_t>(seed);
}

/// Binomial(1, p) by inversion, p <= 0.5. The products are computed in the same order as in NumPy's
/// legacy stream, because a difference in the last bit could change which outcome a random number
/// gives.
/// Source: numpy/random/src/distributions/distributions.c, random_binomial_inversion with n = 1.
class Inversion {
 public:
  explicit Inversion(double p)
      : p_(p),
        q_(1.0 - p),
        none_(std::exp(std::log(q_))),
        bound_(static_cast<int>(std::min(1.0, p + 10.0 * std::sqrt(p * q_ + 1.0)))) {}

  int draw(NumpyRandomState& random) const {
    int x = 0;
    double mass = none_;
    double u = random.random_sample();
    while (u > mass) {
      ++x;
      if (x > bound_) {  // possible only by rounding errors: start again
        x = 0;
        mass = none_;
        u = random.random_sample();
      } else {
        u -= mass;
        mass = ((2 - x) * p_ * mass) / (x * q_);
      }
    }
    return x;
  }

 private:
  double p_, q_, none_;
  int bound_;
};

}  // namespace

// std::mt19937 and NumPy expand one integer seed to the state in the same way (Knuth's recurrence).
NumpyRandomState::NumpyRandomState(std::int64_t seed) : engine_(checked_seed(seed)) {}

double NumpyRandomState::random_sample() {
  const auto high = static_cast<double>(engine_() >> 5);
  const auto low = static_cast<double>(engine_() >> 6);
  return (high * 67108864.0 + low) / 9007199254740992.0;
}

void NumpyRandomState::bernoulli(double p, std::span<std::uint8_t> out) {
  if (!(p >= 0.0 && p <= 1.0)) {
    throw Error(Errc::kInvalidArgument, fmt::format("probability {}: expected 0 to 1", p));
  }
  const bool swap = p > 0.5;
  const Inversion inversion(swap ? 1.0 - p : p);
  for (std::uint8_t& element : out) {
    const int x = inversion.draw(*this);
    element = static_cast<std::uint8_t>(swap ? 1 - x : x);
  }
}

}  // namespace maskctl
