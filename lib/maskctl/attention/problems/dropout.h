// Dropout of attention weights: a hash of the indices decides, the same in every backend and pass.
#pragma once

#include "maskctl/base/index.h"
#include "maskctl/base/threefry_block.h"

namespace maskctl::attention {

/// The factor of one weight: 0 if it is dropped, else 1 / (1 - dropout). Depends on the arguments
/// only, and compiles for GPUs too.
constexpr float dropout_multiplier(std::uint64_t seed, double dropout, Index batch, Index head,
                                   Index query, Index key) {
  const auto hash = [](ThreefryKey by, Index first, Index second) -> ThreefryKey {
    threefry::Lanes<1> a{{static_cast<std::uint32_t>(first)}},
        b{{static_cast<std::uint32_t>(second)}};
    threefry::encrypt(by, a, b);
    return {a.v[0], b.v[0]};
  };
  const ThreefryKey bits = hash(hash(prng_key(seed), batch, head), query, key);
  const bool kept = static_cast<double>(uniform_from_bits(bits[0])) >= dropout;
  return kept ? static_cast<float>(1 / (1 - dropout)) : 0.0f;
}

}  // namespace maskctl::attention
