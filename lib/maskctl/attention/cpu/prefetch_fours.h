// Rows of memory that are asked for while products with four rows at a time run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "maskctl/attention/cpu/key_rows.h"

namespace maskctl::attention {

template <class T>
using Four = std::array<const T*, 4>;

template <class T>
constexpr Index kLine = 64 / Index{sizeof(T)};  // elements of a line of memory

/// Prefetch for the lines that lie `near` and `far` bytes behind those in use; 0 asks for nothing.
struct Prefetch {
  /// At the line of four rows that begins with element x. GCC takes a call that only asks for one
  /// that does nothing: it must be inline.
  template <class T>
  [[gnu::always_inline]] void line(const Four<T>& rows, Index x) const {
    for (const T* row : rows) {
      // As numbers: the line asked for may lie in another array, where no pointer may be moved to.
      const auto at = reinterpret_cast<std::intptr_t>(row + x);
      if (near) __builtin_prefetch(reinterpret_cast<const void*>(at + near), 0, 2);
      if (far) __builtin_prefetch(reinterpret_cast<const void*>(at + far), 0, 2);
    }
  }
  Index near = 0, far = 0;
};

/// What to ask for while the queries of a head meet four rows: with the first queries the rows that
/// come some fours later, with the last ones those of the next call, so that the questions spread.
/// A processor drops questions while its queue of misses is full, hence two for each row. Four rows
/// lie to each other as the four asked for, or time is lost.
class PrefetchFours {
 public:
  /// Rows of this call and the next, if any; those asked for in the first place are `near` fours
  /// later.
  PrefetchFours(std::span<const FourRows> now, const KeyRows* next, Index near)
      : now_(now), near_(as_size(near)) {
    if (next) next_ = next->fours();
  }
  /// While four rows, number i of now, meet some queries.
  [[gnu::always_inline]] Prefetch at(std::size_t i, bool first_queries, bool last_queries) const {
    if (next_.empty()) return {};
    return {first_queries ? way(i, near_) : 0, last_queries ? way(i, now_.size()) : 0};
  }

 private:
  /// Bytes from four rows to those so many later; 0 past the end.
  [[gnu::always_inline]] Index way(std::size_t i, std::size_t later) const {
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
