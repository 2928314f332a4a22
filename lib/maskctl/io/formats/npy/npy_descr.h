// The dtype texts of .npy headers.
#pragma once

#include <string>
#include <string_view>

#include "maskctl/tensor/dtype.h"

namespace maskctl {

struct NpyElement {
  DType dtype;
  bool big_endian;
};

/// "<f4", "|b1", "?", "bfloat16", ... as numpy's dtype() reads them. Two untyped bytes (`|V2`) are
/// how numpy and h5py store ml_dtypes' bfloat16, and are read as such. For numpy dtypes that cannot
/// be read, throws Error(kUnsupported) with an explanation.
NpyElement parse_npy_descr(std::string_view descr);

/// "bool" for "|b1"; a dtype that cannot be read unchanged, without control characters.
std::string dtype_text(std::string_view descr);

/// As numpy writes it, little endian. Throws Error(kUnsupported) for 8-bit floats, which .npy and
/// HDF5 cannot name.
std::string npy_descr(DType dtype);

}  // namespace maskctl
