// Which weights are dropped: a hash of their place, equal in every backend and in both passes.
#include "maskctl/attention/softmax/softmax.h"
#include "maskctl/base/threefry.h"

namespace maskctl::attention {

float dropout_multiplier(std::uint64_t seed, double dropout, Index batch, Index head, Index query,
                         Index key) {
  const auto row = threefry2x32(
      prng_key(seed), {static_cast<std::uint32_t>(batch), static_cast<std::uint32_t>(head)});
  const auto bits =
      threefry2x32(row, {static_cast<std::uint32_t>(query), static_cast<std::uint32_t>(key)});
  const bool kept = static_cast<double>(uniform_from_bits(bits[0])) >= dropout;
  return kept ? static_cast<float>(1 / (1 - dropout)) : 0.0f;
}

}  // namespace maskctl::attention
