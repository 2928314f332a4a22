// Arithmetic that detects overflow, for sizes that come from files or arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "maskctl/base/index.h"

namespace maskctl {

/// The product; nothing when it overflows.
constexpr std::optional<Index> checked_mul(Index a, Index b) {
  Index out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::nullopt;
  return out;
}

constexpr std::optional<Index> checked_add(Index a, Index b) {
  Index out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::nullopt;
  return out;
}

/// The product of the extents of a shape; nothing when it overflows or an extent is negative. A
/// zero extent does not hide an overflow of the others: (0, 2^63-1, 2^63-1) gives nothing.
constexpr std::optional<Index> checked_product(std::span<const Index> extents) {
  Index product = 1;
  bool zero = false;
  for (Index extent : extents) {
    if (extent < 0) return std::nullopt;
    if (extent == 0) {
      zero = true;
      continue;
    }
    const auto next = checked_mul(product, extent);
    if (!next) return std::nullopt;
    product = *next;
  }
  return zero ? 0 : product;
}

}  // namespace maskctl
