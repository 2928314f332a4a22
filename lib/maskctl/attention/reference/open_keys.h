// The open keys of a row, one by one.
#pragma once

#include <bit>

#include "maskctl/mask/plane.h"

namespace maskctl::attention {

/// f(key) for each open key, ascending.
template <class F>
void for_each_key(const Keys& keys, F&& f) {
  for (const Run& run : keys.runs) {
    for (Index k = run.begin; k < run.end; ++k) f(k);
  }
  for (std::size_t w = 0; w < keys.words.size(); ++w) {
    for (std::uint64_t bits = keys.words[w]; bits != 0; bits &= bits - 1) {
      f(static_cast<Index>(w * 64) + std::countr_zero(bits));
    }
  }
}

}  // namespace maskctl::attention
