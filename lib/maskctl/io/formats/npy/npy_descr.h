// The dtype strings of .npy headers.
#pragma once

#include <string>
#include <string_view>

#include "maskctl/tensor/dtype.h"

namespace maskctl {

struct NpyElement {
  DType dtype;
  bool big_endian;
};

/// Parses a dtype as numpy's dtype() does: "<f4", "|b1", "?", "bfloat16", ... Two untyped bytes
/// (`|V2`) are read as bfloat16, since numpy and h5py store ml_dtypes' bfloat16 that way. For
/// dtypes of numpy that cannot be read, throws Error(kUnsupported) that explains why.
NpyElement parse_npy_descr(std::string_view descr);

/// A readable name: "bool" for "|b1". A dtype that cannot be read is returned as it is, without
/// control characters.
std::string dtype_text(std::string_view descr);

/// The dtype string that numpy writes, little endian. Throws Error(kUnsupported) for 8-bit floats,
/// for which .npy and HDF5 have no name.
std::string npy_descr(DType dtype);

}  // namespace maskctl
