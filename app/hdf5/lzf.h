// The lzf filter of h5py, for reading.
#pragma once

#include <hdf5.h>

namespace maskctl::hdf5 {

inline constexpr H5Z_filter_t kLzfId = 32000;

/// Registers the filter.
void register_lzf();

}  // namespace maskctl::hdf5
