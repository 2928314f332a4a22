// Which weights are dropped: a hash of their indices, equal in every backend and in both passes.
#pragma once

#include "maskctl/base/index.h"
#include "maskctl/base/threefry_block.h"

namespace maskctl::attention {

/// The multiplier of one weight, 0 or 1 / (1 - dropout): a pure function of its indices, which runs
/// on GPUs too.
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
