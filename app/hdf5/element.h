// Element types of HDF5 and the dtype texts of numpy.
#pragma once

#include <optional>
#include <string>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

/// The numpy descr of a type, "bfloat16", or nothing for a type that is not read: booleans as h5py
/// (enumeration of FALSE and TRUE) and PyTables (8-bit field) write them, integers and IEEE floats
/// of either byte order, two opaque bytes.
std::optional<std::string> descr_of(hid_t type);

/// What a type without descr is: "compound", "string", "enumeration (RED, GREEN)".
std::string class_of(hid_t type);

/// The type as h5py writes it. Throws Failure(argument) for a descr that is not little-endian.
Handle type_of(const std::string& descr);

}  // namespace maskctl::hdf5
