// Units of 16 bytes, in which keys and values are read from pages.
#pragma once

#include "maskctl/attention/problems/paged_problem.h"

namespace maskctl::attention::cuda {

inline constexpr int kUnitBytes = 16;

/// Whether all rows of the cache begin and end at multiples of kUnitBytes.
bool is_aligned(const PagedCache& cache);

}  // namespace maskctl::attention::cuda
