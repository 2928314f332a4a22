// Rows of memory that are prefetched while products with four rows at a time run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "maskctl/attention/cpu/row_products.h"

namespace maskctl::attention {

template <class T>
using Four = std::array<const T*, 4>;

template <class T>
constexpr Index kLine = 64 / Index{sizeof(T)};  // elements of a line of memory

/// Prefetches the lines that lie `near` and `far` bytes behind those in use; 0 for none.
struct Prefetch {
  /// To be called at the line of each of four rows that begins with element x. Must be inline: GCC
  /// removes calls of functions that do nothing but prefetch.
  template <class T>
  [[gnu::always_inline]] void line(const Four<T>& rows, Index x) const {
    for (const T* row : rows) {
      // As numbers: the line may lie in another array, and no pointer may be moved out of its own.
      const auto at = reinterpret_cast<std::intptr_t>(row + x);
      if (near) __builtin_prefetch(reinterpret_cast<const void*>(at + near), 0, 2);
      if (far) __builtin_prefetch(reinterpret_cast<const void*>(at + far), 0, 2);
    }
  }
  Index near = 0, far = 0;
};

/// What to prefetch while the queries of a head meet four rows: with the first queries the rows
/// that come a few fours later, with the last queries the rows of the next call, so that prefetches
/// are spread out. A processor drops prefetches while its queue of misses is full; hence every row
/// is prefetched twice. The four rows prefetched are assumed to be as far apart as the four in use;
/// where they are not, only time is lost.
class PrefetchFours {
 public:
  /// `now` are the rows of this call, `next` those of the next one or null. The first prefetch goes
  /// `near` fours ahead.
  PrefetchFours(std::span<const FourRows> now, const KeyRows* next, Index near)
      : now_(now), near_(as_size(near)) {
    if (next) next_ = next->fours();
  }
  /// What to prefetch while four rows, number i of `now`, meet some queries.
  [[gnu::always_inline]] Prefetch at(std::size_t i, bool first_queries, bool last_queries) const {
    if (next_.empty()) return {};
    return {first_queries ? distance(i, near_) : 0, last_queries ? distance(i, now_.size()) : 0};
  }

 private:
  /// Bytes from four rows to the four that come `later` fours after them; 0 past the end.
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
