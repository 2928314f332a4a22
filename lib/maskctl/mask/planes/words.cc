// Loops over rows of bits, a word at a time, compiled for several instruction sets.
#include "maskctl/mask/planes/words.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/mask/planes/words.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

static_assert(std::endian::native == std::endian::little,
              "bit k of a row is bit k % 8 of byte k / 8");

using Words = hn::ScalableTag<std::uint64_t>;

// Storing the mask bits of a vector may write 8 bytes wherever it starts. All words but the last
// have room for that; the last one is written through a buffer.
constexpr std::size_t kSlack = 8;

#if HWY_TARGET == HWY_SCALAR
// For Highway's scalar target: with one lane per vector, each mask bit would take a byte.
void pack_block(const std::uint8_t* bytes, std::uint8_t* bits) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 64; ++i) word |= std::uint64_t{bytes[i] != 0} << i;
  std::memcpy(bits, &word, 8);
}

void unpack_block(const std::uint8_t* bits, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < 64; ++i) bytes[i] = bits[i / 8] >> (i % 8) & 1;
}
#else
// At most 64 lanes, so that the mask bits of a vector fit a word and start at a byte.
using Bytes = hn::CappedTag<std::uint8_t, 64>;

HWY_ATTR void pack_block(const std::uint8_t* bytes, std::uint8_t* bits) {
  const Bytes d;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
    hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, bytes + i), hn::Zero(d)), bits + i / 8);
  }
}

HWY_ATTR void unpack_block(const std::uint8_t* bits, std::uint8_t* bytes) {
  const Bytes d;
  for (std::size_t i = 0; i < 64; i += hn::Lanes(d)) {
    hn::StoreU(hn::IfThenElseZero(hn::LoadMaskBits(d, bits + i / 8), hn::Set(d, 1)), d, bytes + i);
  }
}
#endif

HWY_ATTR void pack_all(const std::uint8_t* bytes, std::size_t n, std::uint64_t* words) {
  if (n == 0) return;
  const std::size_t last = (n - 1) / 64;
  for (std::size_t w = 0; w < last; ++w) {
    pack_block(bytes + w * 64, reinterpret_cast<std::uint8_t*>(words + w));
  }
  std::uint8_t tail[64] = {};
  std::uint8_t bits[8 + kSlack] = {};
  std::memcpy(tail, bytes + last * 64, n - last * 64);
  pack_block(tail, bits);
  std::memcpy(words + last, bits, 8);
}

HWY_ATTR void unpack_all(const std::uint64_t* words, std::size_t n, std::uint8_t* bytes) {
  if (n == 0) return;
  const std::size_t last = (n - 1) / 64;
  for (std::size_t w = 0; w < last; ++w) {
    unpack_block(reinterpret_cast<const std::uint8_t*>(words + w), bytes + w * 64);
  }
  std::uint8_t bits[8 + kSlack] = {};
  std::uint8_t tail[64];
  std::memcpy(bits, words + last, 8);
  unpack_block(bits, tail);
  std::memcpy(bytes + last * 64, tail, n - last * 64);
}

template <class F>
HWY_INLINE HWY_ATTR void zip_words(const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                                   std::uint64_t* out, F&& f) {
  const Words d;
  const std::size_t step = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + step <= n; i += step) {
    hn::StoreU(f(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  }
  const hn::CappedTag<std::uint64_t, 1> one;
  for (; i < n; ++i) hn::StoreU(f(one, hn::LoadU(one, a + i), hn::LoadU(one, b + i)), one, out + i);
}

struct AndWords {
  template <class D, class V>
  HWY_INLINE HWY_ATTR V operator()(D, V a, V b) const {
    return hn::And(a, b);
  }
};
struct OrWords {
  template <class D, class V>
  HWY_INLINE HWY_ATTR V operator()(D, V a, V b) const {
    return hn::Or(a, b);
  }
};
struct XorWords {
  template <class D, class V>
  HWY_INLINE HWY_ATTR V operator()(D, V a, V b) const {
    return hn::Xor(a, b);
  }
};
struct SubWords {
  template <class D, class V>
  HWY_INLINE HWY_ATTR V operator()(D, V a, V b) const {
    return hn::AndNot(b, a);
  }
};

HWY_ATTR void combine_all(Op op, const std::uint64_t* a, const std::uint64_t* b, std::size_t n,
                          std::uint64_t* out) {
  switch (op) {
    case Op::kAnd:
      return zip_words(a, b, n, out, AndWords());
    case Op::kOr:
      return zip_words(a, b, n, out, OrWords());
    case Op::kXor:
      return zip_words(a, b, n, out, XorWords());
    case Op::kSub:
      return zip_words(a, b, n, out, SubWords());
  }
}

HWY_ATTR std::uint64_t count_ones(const std::uint64_t* words, std::size_t n) {
  const Words d;
  const std::size_t step = hn::Lanes(d);
  auto sum0 = hn::Zero(d), sum1 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 2 * step <= n; i += 2 * step) {
    sum0 = hn::Add(sum0, hn::PopulationCount(hn::LoadU(d, words + i)));
    sum1 = hn::Add(sum1, hn::PopulationCount(hn::LoadU(d, words + i + step)));
  }
  std::uint64_t total = hn::GetLane(hn::SumOfLanes(d, hn::Add(sum0, sum1)));
  for (; i < n; ++i) total += static_cast<std::uint64_t>(std::popcount(words[i]));
  return total;
}

// The number of set bits in words[1 ..] whose previous bit is not set. The caller handles word 0.
HWY_ATTR std::uint64_t run_starts(const std::uint64_t* words, std::size_t n) {
  const Words d;
  const std::size_t step = hn::Lanes(d);
  auto sum = hn::Zero(d);
  std::size_t i = 1;
  for (; i + step <= n; i += step) {
    const auto now = hn::LoadU(d, words + i);
    const auto before =
        hn::Or(hn::ShiftLeft<1>(now), hn::ShiftRight<63>(hn::LoadU(d, words + i - 1)));
    sum = hn::Add(sum, hn::PopulationCount(hn::AndNot(before, now)));
  }
  std::uint64_t total = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) {
    const std::uint64_t before = words[i] << 1 | words[i - 1] >> 63;
    total += static_cast<std::uint64_t>(std::popcount(words[i] & ~before));
  }
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl {

HWY_EXPORT(pack_all);
HWY_EXPORT(unpack_all);
HWY_EXPORT(combine_all);
HWY_EXPORT(count_ones);
HWY_EXPORT(run_starts);

void pack_bytes(std::span<const std::uint8_t> bytes, std::span<std::uint64_t> words) {
  const std::size_t n = std::min(bytes.size(), words.size() * 64);
  HWY_DYNAMIC_DISPATCH(pack_all)(bytes.data(), n, words.data());
  std::fill(words.begin() + static_cast<std::ptrdiff_t>((n + 63) / 64), words.end(), 0);
}

void unpack_bytes(std::span<const std::uint64_t> words, std::span<std::uint8_t> bytes) {
  const std::size_t n = std::min(bytes.size(), words.size() * 64);
  HWY_DYNAMIC_DISPATCH(unpack_all)(words.data(), n, bytes.data());
  std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(n), bytes.end(), std::uint8_t{0});
}

std::vector<Run> byte_runs(std::span<const std::uint8_t> bytes) {
  std::vector<std::uint64_t> words(static_cast<std::size_t>(words_for(std::ssize(bytes))));
  pack_bytes(bytes, words);
  std::vector<Run> runs;
  words_to_runs(words, runs);
  return runs;
}

void combine_words(Op op, std::span<const std::uint64_t> a, std::span<const std::uint64_t> b,
                   std::span<std::uint64_t> out) {
  const std::size_t n = std::min({a.size(), b.size(), out.size()});
  HWY_DYNAMIC_DISPATCH(combine_all)(op, a.data(), b.data(), n, out.data());
}

Index popcount(std::span<const std::uint64_t> words) {
  return static_cast<Index>(HWY_DYNAMIC_DISPATCH(count_ones)(words.data(), words.size()));
}

Index popcount(std::span<const std::uint64_t> words, Range bits) {
  const Range inside = intersect(bits, {0, static_cast<Index>(words.size()) * 64});
  if (inside.empty()) return 0;
  const auto first = static_cast<std::size_t>(inside.begin / 64);
  const auto last = static_cast<std::size_t>((inside.end - 1) / 64);
  const std::uint64_t head = ~std::uint64_t{0} << (inside.begin % 64);
  const std::uint64_t tail = ~std::uint64_t{0} >> (63 - (inside.end - 1) % 64);
  if (first == last) return std::popcount(words[first] & head & tail);
  return std::popcount(words[first] & head) + std::popcount(words[last] & tail) +
         popcount(words.subspan(first + 1, last - first - 1));
}

Index count_runs(std::span<const std::uint64_t> words) {
  if (words.empty()) return 0;
  return std::popcount(words[0] & ~(words[0] << 1)) +
         static_cast<Index>(HWY_DYNAMIC_DISPATCH(run_starts)(words.data(), words.size()));
}

}  // namespace maskctl
#endif  // HWY_ONCE
