// Checks and hash functions that all lazy masks use.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::lazy {

/// Throws Error(kShape) unless the shape is [Q,K].
inline void check_matrix_shape(std::span<const Index> shape) {
  if (shape.size() == 2 && shape[0] >= 0 && shape[1] >= 0) return;
  throw Error(Errc::kShape, "lazy mask of shape " + shape_text(shape) +
                                ": expected two extents, queries and keys, of at least 0");
}

/// A hash of several values that depends on their order.
template <typename... Parts>
std::size_t hash_of(std::size_t seed, const Parts&... parts) {
  ((seed = (seed ^ std::hash<Parts>{}(parts)) * 0x9e3779b97f4a7c15U, seed ^= seed >> 29), ...);
  return seed;
}

inline std::size_t hash_of_shape(std::size_t seed, std::span<const Index> shape) {
  for (const Index extent : shape) seed = hash_of(seed, extent);
  return seed;
}

}  // namespace maskctl::lazy
