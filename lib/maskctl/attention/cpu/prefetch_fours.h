// Prefetches for products that process four rows at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "maskctl/attention/cpu/row_products.h"

namespace maskctl::attention {

template <class T>
using Four = std::array<const T*, 4>;

template <class T>
constexpr Index kLine = 64 / Index{sizeof(T)};  // elements in a cache line

/// Prefetches the cache lines at a distance of `near` and of `far` bytes from the lines in use; 0:
/// none.
struct Prefetch {
  /// Call this for element x, the first in its cache line, of each of the four rows. It must be
  /// inline: GCC removes calls of functions that do nothing but prefetch.
  template <class T>
  [[gnu::always_inline]] void line(const Four<T>& rows, Index x) const {
    for (const T* row : rows) {
      // Addresses are added as integers: the line may be in another array, and pointer arithmetic
      // must not leave an array.
      const auto at = reinterpret_cast<std::intptr_t>(row + x);
      if (near) __builtin_prefetch(reinterpret_cast<const void*>(at + near), 0, 2);
      if (far) __builtin_prefetch(reinterpret_cast<const void*>(at + far), 0, 2);
    }
  }
  Index near = 0, far = 0;
};

/// Decides what to prefetch while the queries of a head are multiplied by four rows. During the
/// first queries: rows that come a few groups of four later. During the last queries: rows of the
/// next call, so that prefetches are spread out. Every row is prefetched twice, because a processor
/// drops prefetches when its queue of misses is full. The four rows to prefetch are assumed to have
/// the same distances as the four in use; if they do not, only time is lost.
class PrefetchFours {
 public:
  /// `now`: the rows of this call. `next`: the rows of the next call, or null. `near`: how many
  /// groups of four rows the first prefetch is ahead.
  PrefetchFours(std::span<const FourRows> now, const KeyRows* next, Index near)
      : now_(now), near_(as_size(near)) {
    if (next) next_ = next->fours();
  }
  /// What to prefetch while group i of `now` is multiplied by some queries.
  [[gnu::always_inline]] Prefetch at(std::size_t i, bool first_queries, bool last_queries) const {
    if (next_.empty()) return {};
    return {first_queries ? distance(i, near_) : 0, last_queries ? distance(i, now_.size()) : 0};
  }

 private:
  /// The distance in bytes from group i to the group that comes `later` groups after it; 0 past the
  /// end.
  [[gnu::always_inline]] Index distance(std::size_t i, std::size_t later) const {
    const bool now = i + later < now_.size();
    const std::size_t to = now ? i + later : i + later - now_.size();
    if (!now && to >= next_.size()) return 0;
    const auto address = [](const FourRows& four) {
      return reinterpret_cast<std::intptr_t>(four.at[0]);
    };
    return address(now ? now_[to] : next_[to]) - address(now_[i]);
  }

  std::span<const FourRows> now_, next_;
  std::size_t near_;
};

}  // namespace maskctl::attention
