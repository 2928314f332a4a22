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

/// The key that jax.random.PRNGKey(seed) makes: {high word, low word} of the 64-bit seed.
constexpr ThreefryKey prng_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
}

/// The block function: 20 rounds of Threefry-2x32 of `counter` under `key`.
/// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011; jax/_src/prng.py.
std::array<std::uint32_t, 2> threefry2x32(ThreefryKey key, std::array<std::uint32_t, 2> counter);

/// Words [first, first + out.size()) of jax.random.bits(key, (n,)) with
/// jax_threefry_partitionable=True (the default since JAX 0.5). Word i is the xor of the two
/// outputs of the block with counter (i >> 32, i & 0xffffffff), so any part of the stream can be
/// computed without the rest.
void random_bits(ThreefryKey key, std::uint64_t first, std::span<std::uint32_t> out);

/// All n words with jax_threefry_partitionable=False (the default before JAX 0.5). The stream
/// depends on n. With h = ceil(n / 2), block i < h has the counter (i, h + i); if n is odd, that of
/// the last block is (h - 1, 0). The first outputs of all blocks come before all second ones.
/// Throws Error(kLimit) for n > 2^32 - 1.
std::vector<std::uint32_t> random_bits_legacy(ThreefryKey key, Index n);

/// The float in [0, 1) that jax.random.uniform makes of random bits: the high 23 bits become the
/// mantissa of a number in [1, 2), from which 1 is subtracted.
constexpr float uniform_from_bits(std::uint32_t bits) {
  return std::bit_cast<float>((bits >> 9) | 0x3F800000u) - 1.0f;
}

}  // namespace maskctl
