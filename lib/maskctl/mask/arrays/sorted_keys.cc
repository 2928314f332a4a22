// Sorts keys without a branch on their values, which has no pattern in lists of the top k: short
// lists by the rank of each key, compiled for several instruction sets, longer ones by their
// digits.
#include "maskctl/mask/arrays/sorted_keys.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/mask/arrays/sorted_keys.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// For each of `size` keys, the number of keys that are less, or equal and before it. `size` is a
// multiple of the number of lanes.
HWY_ATTR void rank_all(const std::int32_t* keys, std::size_t size, std::int32_t* ranks) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < size; first += lanes) {
    const auto own = hn::LoadU(d, keys + first);
    auto rank = hn::Zero(d);
    const auto count = [&](auto is_before)
                           HWY_ATTR { rank = hn::Sub(rank, hn::VecFromMask(d, is_before)); };
    for (std::size_t i = 0; i < first; ++i) count(hn::Gt(own, hn::Set(d, keys[i] - 1)));
    auto place = hn::Iota(d, 0);  // of own keys, less that of the one that they are compared with
    for (std::size_t i = first; i < first + lanes; ++i) {
      // Behind an equal key: the same as greater than the number below it.
      const auto less = hn::VecFromMask(d, hn::Gt(place, hn::Zero(d)));
      count(hn::Gt(own, hn::Add(hn::Set(d, keys[i]), less)));
      place = hn::Sub(place, hn::Set(d, 1));
    }
    for (std::size_t i = first + lanes; i < size; ++i) count(hn::Gt(own, hn::Set(d, keys[i])));
    hn::StoreU(rank, d, ranks + first);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl {

HWY_EXPORT(rank_all);

namespace {

constexpr std::size_t kMostRanked = 128;  // ranks take time in the square of the length
constexpr std::size_t kMostLanes = 64;    // of the widest vectors that Highway has for 32 bits

}  // namespace

void KeySorter::operator()(std::vector<std::int32_t>& keys) {
  if (keys.size() <= kMostRanked) {
    by_ranks(keys);
  } else {
    by_digits(keys);
  }
}

void KeySorter::by_ranks(std::vector<std::int32_t>& keys) {
  const std::size_t size = keys.size();
  const std::size_t padded = (size + kMostLanes - 1) / kMostLanes * kMostLanes;
  keys.resize(padded, std::numeric_limits<std::int32_t>::max());  // they rank behind all others
  ranks_.resize(padded);
  moved_.resize(padded);
  HWY_DYNAMIC_DISPATCH(rank_all)(keys.data(), padded, ranks_.data());
  for (std::size_t i = 0; i < padded; ++i) moved_[static_cast<std::size_t>(ranks_[i])] = keys[i];
  moved_.resize(size);
  keys.swap(moved_);
}

void KeySorter::by_digits(std::vector<std::int32_t>& keys) {
  constexpr int kBits = 8;
  const auto most = static_cast<std::uint32_t>(*std::ranges::max_element(keys));
  moved_.resize(keys.size());
  for (int shift = 0; shift < static_cast<int>(std::bit_width(most)); shift += kBits) {
    const auto digit = [&](std::int32_t key) {
      return static_cast<std::uint32_t>(key) >> shift & ((1U << kBits) - 1);
    };
    std::array<std::uint32_t, std::size_t{1} << kBits> places{};
    for (const std::int32_t key : keys) ++places[digit(key)];
    std::uint32_t before = 0;
    for (std::uint32_t& place : places) before += std::exchange(place, before);
    for (const std::int32_t key : keys) moved_[places[digit(key)]++] = key;
    keys.swap(moved_);
  }
}

}  // namespace maskctl
#endif  // HWY_ONCE
