// Threefry-2x32 and the two streams that JAX builds on it.
#include "maskctl/base/threefry.h"

#include <bit>
#include <limits>

#include "maskctl/base/error.h"

namespace maskctl {
namespace {

constexpr std::uint32_t kParity = 0x1BD11BDA;  // from the Skein key schedule

/// The same word of several blocks; loops over the lanes become vector instructions.
template <int kLanes>
struct Lanes {
  std::uint32_t v[kLanes];
};

// Always inlined, also into callers that are compiled for wider vectors; an ordinary function would
// not be.
#define MASKCTL_INLINE [[gnu::always_inline]] inline

template <int kRotate, int kLanes>
MASKCTL_INLINE void round(Lanes<kLanes>& a, Lanes<kLanes>& b) {
  for (int i = 0; i < kLanes; ++i) {
    a.v[i] += b.v[i];
    b.v[i] = std::rotl(b.v[i], kRotate) ^ a.v[i];
  }
}

template <int kRotate0, int kRotate1, int kRotate2, int kRotate3, int kLanes>
MASKCTL_INLINE void four_rounds(Lanes<kLanes>& a, Lanes<kLanes>& b) {
  round<kRotate0>(a, b);
  round<kRotate1>(a, b);
  round<kRotate2>(a, b);
  round<kRotate3>(a, b);
}

template <int kLanes>
MASKCTL_INLINE void inject(Lanes<kLanes>& a, Lanes<kLanes>& b, std::uint32_t ka, std::uint32_t kb) {
  for (int i = 0; i < kLanes; ++i) {
    a.v[i] += ka;
    b.v[i] += kb;
  }
}

template <int kLanes>
MASKCTL_INLINE void encrypt(ThreefryKey key, Lanes<kLanes>& a, Lanes<kLanes>& b) {
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

template <int kLanes>
MASKCTL_INLINE void fill(ThreefryKey key, std::uint64_t first, std::uint32_t* out) {
  Lanes<kLanes> a;
  Lanes<kLanes> b;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
    a.v[i] = static_cast<std::uint32_t>(counter >> 32);
    b.v[i] = static_cast<std::uint32_t>(counter);
  }
  encrypt(key, a, b);
  for (int i = 0; i < kLanes; ++i) out[i] = a.v[i] ^ b.v[i];
}

template <int kLanes>
MASKCTL_INLINE void fill_all(ThreefryKey key, std::uint64_t first, std::span<std::uint32_t> out) {
  std::size_t done = 0;
  for (; done + kLanes <= out.size(); done += kLanes) fill<kLanes>(key, first + done, &out[done]);
  for (; done < out.size(); ++done) fill<1>(key, first + done, &out[done]);
}

#undef MASKCTL_INLINE

void fill_plain(ThreefryKey key, std::uint64_t first, std::span<std::uint32_t> out) {
  fill_all<16>(key, first, out);
}

#if defined(__x86_64__)
[[gnu::target("avx2")]] void fill_avx2(ThreefryKey key, std::uint64_t first,
                                       std::span<std::uint32_t> out) {
  fill_all<32>(key, first, out);
}

[[gnu::target("avx512f")]] void fill_avx512(ThreefryKey key, std::uint64_t first,
                                            std::span<std::uint32_t> out) {
  fill_all<64>(key, first, out);
}
#endif

}  // namespace

ThreefryKey prng_key(std::uint64_t seed) {
  return {static_cast<std::uint32_t>(seed >> 32), static_cast<std::uint32_t>(seed)};
}

std::array<std::uint32_t, 2> threefry2x32(ThreefryKey key, std::array<std::uint32_t, 2> counter) {
  Lanes<1> a{{counter[0]}};
  Lanes<1> b{{counter[1]}};
  encrypt(key, a, b);
  return {a.v[0], b.v[0]};
}

void random_bits(ThreefryKey key, std::uint64_t first, std::span<std::uint32_t> out) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return fill_avx512(key, first, out);
  if (__builtin_cpu_supports("avx2")) return fill_avx2(key, first, out);
#endif
  fill_plain(key, first, out);
}

std::vector<std::uint32_t> random_bits_legacy(ThreefryKey key, Index n) {
  if (n < 0 || n > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Errc::kLimit, "random stream of " + std::to_string(n) +
                                  " words; the stream from before JAX 0.5 has at most 2^32 - 1");
  }
  const auto size = static_cast<std::size_t>(n);
  const std::size_t half = size - size / 2;
  std::vector<std::uint32_t> out(size);
  for (std::size_t i = 0; i < half; ++i) {
    const std::size_t partner = half + i;
    const auto block = threefry2x32(
        key,
        {static_cast<std::uint32_t>(i), partner < size ? static_cast<std::uint32_t>(partner) : 0});
    out[i] = block[0];
    if (partner < size) out[partner] = block[1];
  }
  return out;
}

float uniform_from_bits(std::uint32_t bits) {
  return std::bit_cast<float>((bits >> 9) | 0x3F800000u) - 1.0f;
}

}  // namespace maskctl
