// Transposes tiles of bits and hashes rows, compiled for several instruction sets.
#include "maskctl/mask/planes/bit_tiles.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/mask/planes/bit_tiles.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
// For Highway's scalar target, whose vectors of one lane have no half-width lanes to multiply.
std::uint64_t product(std::uint64_t a, std::uint64_t b) {
  return (a & 0xffffffff) * (b & 0xffffffff);
}
#endif

using Across = hn::CappedTag<std::uint64_t, kTileWords>;
using Vec = hn::Vec<Across>;

// Swaps the upper right and lower left quarter of each 2J x 2J square of bits.
template <int J>
HWY_INLINE HWY_ATTR void swap_parts(Vec& upper, Vec& lower) {
  constexpr std::uint64_t kMasks[] = {0x5555555555555555, 0x3333333333333333, 0x0f0f0f0f0f0f0f0f,
                                      0x00ff00ff00ff00ff, 0x0000ffff0000ffff, 0x00000000ffffffff};
  constexpr int kLog = J == 1 ? 0 : J == 2 ? 1 : J == 4 ? 2 : J == 8 ? 3 : J == 16 ? 4 : 5;
  const Across d;
  const Vec swap = hn::And(hn::Xor(hn::ShiftRight<J>(upper), lower), hn::Set(d, kMasks[kLog]));
  lower = hn::Xor(lower, swap);
  upper = hn::Xor(upper, hn::ShiftLeft<J>(swap));
}

// Two of the six steps of a transpose in one pass, for J and J / 2, so that every word is loaded
// and stored once for both.
template <int J>
HWY_INLINE HWY_ATTR void transpose_step(const std::uint64_t* from, std::size_t stride,
                                        std::uint64_t* to) {
  const Across d;
  constexpr std::size_t kHalf = J / 2;
  for (std::size_t k = 0; k < kTileRows; ++k) {
    if (k & (J | kHalf)) continue;
    const std::size_t row[] = {k, k + kHalf, k + J, k + J + kHalf};
    for (std::size_t w = 0; w < kTileWords; w += hn::Lanes(d)) {
      Vec a = hn::LoadU(d, from + row[0] * stride + w),
          b = hn::LoadU(d, from + row[1] * stride + w);
      Vec c = hn::LoadU(d, from + row[2] * stride + w),
          e = hn::LoadU(d, from + row[3] * stride + w);
      swap_parts<J>(a, c);
      swap_parts<J>(b, e);
      swap_parts<J / 2>(a, b);
      swap_parts<J / 2>(c, e);
      hn::StoreU(a, d, to + row[0] * kTileWords + w);
      hn::StoreU(b, d, to + row[1] * kTileWords + w);
      hn::StoreU(c, d, to + row[2] * kTileWords + w);
      hn::StoreU(e, d, to + row[3] * kTileWords + w);
    }
  }
}

HWY_ATTR void transpose_all(const std::uint64_t* rows, std::size_t stride, std::uint64_t* columns) {
  transpose_step<32>(rows, stride, columns);
  transpose_step<8>(columns, kTileWords, columns);
  transpose_step<2>(columns, kTileWords, columns);
}

// Multiplies the low halves of 64-bit lanes.
template <class D, class V>
HWY_INLINE HWY_ATTR V multiply_low(D d, V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(d, product(hn::GetLane(a), hn::GetLane(b)));
#else
  const hn::Repartition<std::uint32_t, D> halves;
  return hn::BitCast(d, hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b)));
#endif
}

HWY_ATTR void sum_all(const std::uint64_t* columns, std::uint32_t low, std::uint32_t high,
                      std::uint64_t* sums) {
  const Across d;
  const auto l = hn::Set(d, low), h = hn::Set(d, high);
  for (std::size_t i = 0; i < kTileSpan; i += hn::Lanes(d)) {
    const auto word = hn::LoadU(d, columns + i);
    const auto both =
        hn::Add(multiply_low(d, word, l), multiply_low(d, hn::ShiftRight<32>(word), h));
    hn::StoreU(hn::Add(hn::LoadU(d, sums + i), both), d, sums + i);
  }
}

// One step of a hash: the word XOR a random word, whose two halves are then multiplied.
template <class D>
HWY_INLINE HWY_ATTR hn::Vec<D> hash_step(D d, const std::uint64_t* word,
                                         const std::uint64_t* random) {
  const auto moved = hn::Xor(hn::LoadU(d, word), hn::LoadU(d, random));
  return multiply_low(d, moved, hn::ShiftRight<32>(moved));
}

HWY_ATTR std::uint64_t hash_all(const std::uint64_t* words, const std::uint64_t* random,
                                std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t step = hn::Lanes(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    sum0 = hn::Add(sum0, hash_step(d, words + i, random + i));
    sum1 = hn::Add(sum1, hash_step(d, words + i + step, random + i + step));
  }
  // Not SumOfLanes: with some compilers it adds signed lanes, whose overflow is undefined.
  std::uint64_t lanes[hn::MaxLanes(d)];
  hn::StoreU(hn::Add(sum0, sum1), d, lanes);
  std::uint64_t sum = 0;
  for (std::size_t lane = 0; lane < step; ++lane) sum += lanes[lane];
  for (; i < n; ++i) {
    const std::uint64_t moved = words[i] ^ random[i];
    sum += (moved & 0xffffffff) * (moved >> 32);
  }
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl {

HWY_EXPORT(transpose_all);
HWY_EXPORT(sum_all);
HWY_EXPORT(hash_all);

void transpose_tiles(const std::uint64_t* rows, std::size_t stride, std::uint64_t* columns) {
  HWY_DYNAMIC_DISPATCH(transpose_all)(rows, stride, columns);
}

void add_products(const std::uint64_t* columns, std::uint32_t low, std::uint32_t high,
                  std::uint64_t* sums) {
  HWY_DYNAMIC_DISPATCH(sum_all)(columns, low, high, sums);
}

std::uint64_t hash_words(std::span<const std::uint64_t> words,
                         std::span<const std::uint64_t> random) {
  const std::size_t n = std::min(words.size(), random.size());
  return scrambled(HWY_DYNAMIC_DISPATCH(hash_all)(words.data(), random.data(), n));
}

std::uint64_t hash_runs(std::span<const Run> runs) {
  std::uint64_t hash = 0x9e3779b97f4a7c15ULL;
  for (const Run& run : runs) {
    const auto begin = static_cast<std::uint64_t>(static_cast<std::uint32_t>(run.begin));
    const auto end = static_cast<std::uint64_t>(static_cast<std::uint32_t>(run.end));
    hash = scrambled(hash + (begin << 32 | end));
  }
  return hash;
}

}  // namespace maskctl
#endif  // HWY_ONCE
