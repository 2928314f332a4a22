// JAX's default random stream, bit for bit: threefry2x32.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

using ThreefryKey = std::array<std::uint32_t, 2>;

/// jax.random.PRNGKey(seed): {high word, low word} of the 64-bit seed.
constexpr ThreefryKey prng_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
}

/// The block function: 20 rounds of Threefry-2x32 of `counter` under `key`.
/// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; jax/_src/prng.py.
std::array<std::uint32_t, 2> threefry2x32(ThreefryKey key, std::array<std::uint32_t, 2> counter);

/// Words [first, first + out.size()) of jax.random.bits(key, (n,)) with
/// jax_threefry_partitionable=True (the default since JAX 0.5): word i = xor of both outputs of
/// block (i >> 32, i & 0xffffffff). Any part of the stream can be made without the rest.
void random_bits(ThreefryKey key, std::uint64_t first, std::span<std::uint32_t> out);

/// All n words with jax_threefry_partitionable=False (the default before JAX 0.5). The stream
/// depends on n: block i < h = ceil(n / 2) has the counter (i, h + i), where the index past an odd
/// n becomes 0; all first outputs come before all second ones. Throws Error(kLimit) for n > 2^32
/// - 1.
std::vector<std::uint32_t> random_bits_legacy(ThreefryKey key, Index n);

/// jax.random.uniform's float in [0, 1): the high 23 bits become the mantissa of a number in [1,
/// 2), minus 1.
constexpr float uniform_from_bits(std::uint32_t bits) {
  return std::bit_cast<float>((bits >> 9) | 0x3F800000u) - 1.0f;
}

}  // namespace maskctl
