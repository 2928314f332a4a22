// Threefry-2x32 and the two kinds of random streams that JAX derives from it.
#include "maskctl/base/threefry.h"

#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/base/threefry_block.h"

namespace maskctl {
namespace {

template <int kLanes>
[[gnu::always_inline]] inline void fill(ThreefryKey key, std::uint64_t first, std::uint32_t* out) {
  threefry::Lanes<kLanes> a;
  threefry::Lanes<kLanes> b;
  for (int i = 0; i < kLanes; ++i) {
    const std::uint64_t counter = first + static_cast<std::uint64_t>(i);
    a.v[i] = static_cast<std::uint32_t>(counter >> 32);
    b.v[i] = static_cast<std::uint32_t>(counter);
  }
  threefry::encrypt(key, a, b);
  for (int i = 0; i < kLanes; ++i) out[i] = a.v[i] ^ b.v[i];
}

template <int kLanes>
[[gnu::always_inline]] inline void fill_all(ThreefryKey key, std::uint64_t first,
                                            std::span<std::uint32_t> out) {
  std::size_t done = 0;
  for (; done + kLanes <= out.size(); done += kLanes) fill<kLanes>(key, first + done, &out[done]);
  for (; done < out.size(); ++done) fill<1>(key, first + done, &out[done]);
}

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

std::array<std::uint32_t, 2> threefry2x32(ThreefryKey key, std::array<std::uint32_t, 2> counter) {
  threefry::Lanes<1> a{{counter[0]}};
  threefry::Lanes<1> b{{counter[1]}};
  threefry::encrypt(key, a, b);
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

}  // namespace maskctl
