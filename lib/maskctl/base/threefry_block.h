// The block function of threefry2x32, for any number of blocks at once.
#pragma once

#include <bit>
#include <cstdint>

#include "maskctl/base/threefry.h"

namespace maskctl::threefry {

inline constexpr std::uint32_t kParity = 0x1BD11BDA;  // constant of the key schedule

/// One word of each of kLanes blocks that are computed at once, one block per lane. Loops over the
/// lanes become vector instructions.
template <int kLanes>
struct Lanes {
  std::uint32_t v[kLanes];
};

// All functions here are always inlined, so that callers compiled for wider vectors get their own
// code; an ordinary function would be compiled once for the baseline. They are constexpr so that
// GPU code can call them.

template <int kRotate, int kLanes>
[[gnu::always_inline]] constexpr void round(Lanes<kLanes>& a, Lanes<kLanes>& b) {
  for (int i = 0; i < kLanes; ++i) {
    a.v[i] += b.v[i];
    b.v[i] = std::rotl(b.v[i], kRotate) ^ a.v[i];
  }
}

template <int kRotate0, int kRotate1, int kRotate2, int kRotate3, int kLanes>
[[gnu::always_inline]] constexpr void four_rounds(Lanes<kLanes>& a, Lanes<kLanes>& b) {
  round<kRotate0>(a, b);
  round<kRotate1>(a, b);
  round<kRotate2>(a, b);
  round<kRotate3>(a, b);
}

template <int kLanes>
[[gnu::always_inline]] constexpr void inject(Lanes<kLanes>& a, Lanes<kLanes>& b, std::uint32_t ka,
                                             std::uint32_t kb) {
  for (int i = 0; i < kLanes; ++i) {
    a.v[i] += ka;
    b.v[i] += kb;
  }
}

template <int kLanes>
[[gnu::always_inline]] constexpr void encrypt(ThreefryKey key, Lanes<kLanes>& a, Lanes<kLanes>& b) {
  const std::uint32_t k0 = key[0];
  const std::uint32_t k1 = key[1];
  const std::uint32_t k2 = k0 ^ k1 ^ kParity;
  inject(a, b, k0, k1);
  four_rounds<13, 15, 26, 6>(a, b);
  inject(a, b, k1, k2 + 1);
  four_rounds<17, 29, 16, 24>(a, b);
  inject(a, b, k2, k0 + 2);
  four_rounds<13, 15, 26, 6>(a, b);
  inject(a, b, k0, k1 + 3);
  four_rounds<17, 29, 16, 24>(a, b);
  inject(a, b, k1, k2 + 4);
  four_rounds<13, 15, 26, 6>(a, b);
  inject(a, b, k2, k0 + 5);
}

}  // namespace maskctl::threefry
