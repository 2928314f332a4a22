// The element types of HDF5 and the dtype texts of numpy.
#pragma once

#include <optional>
#include <string>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

/// The numpy descr of a type, "bfloat16", or nothing for a type that cannot be read. Booleans are
/// those of h5py (an enumeration of FALSE and TRUE) and PyTables (an 8-bit field); further integers
/// and IEEE floats of either byte order, and two opaque bytes.
std::optional<std::string> descr_of(hid_t type);

/// The name of a type that numpy has no descr for: "compound", "string", "enumeration (RED,
/// GREEN)".
std::string class_of(hid_t type);

/// The type that h5py writes. Throws Failure(argument) for a descr that is not little-endian.
Handle type_of(const std::string& descr);

}  // namespace maskctl::hdf5
