// New tokens for the cache of paged attention: the arrays that a call reads and writes.
#pragma once

#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// The keys and values of new tokens, [rows,Hkv,D] in the dtype of the cache. Row r of each belongs
/// to query row r of a PagedProblem and has the same position in its sequence.
struct NewTokens {
  TensorView keys, values;
};

/// The memory of a PagedCache, for writing.
struct CachePages {
  std::byte* keys = nullptr;    // where PagedCache::keys begins
  std::byte* values = nullptr;  // where PagedCache::values begins
  /// How many elements behind the D of each new head are set to 0, for caches whose heads have more
  /// than D elements.
  Index padding = 0;
};

}  // namespace maskctl::attention
