// The lzf filter of h5py, for reading only.
#pragma once

#include <hdf5.h>

namespace maskctl::hdf5 {

inline constexpr H5Z_filter_t kLzfId = 32000;

/// Makes the lzf filter known to the HDF5 library.
void register_lzf();

}  // namespace maskctl::hdf5
