// Converts between HDF5 element types and numpy's dtype strings.
#pragma once

#include <optional>
#include <string>

#include "app/hdf5/library.h"

namespace maskctl::hdf5 {

/// The numpy descr of a type ("<f4"), or "bfloat16"; nothing if the type cannot be read. Supported
/// are booleans of h5py (an enumeration of FALSE and TRUE) and of PyTables (an 8-bit field),
/// integers and IEEE floats of either byte order, and two opaque bytes.
std::optional<std::string> descr_of(hid_t type);

/// A name, for messages, of a type without a numpy descr: "compound", "string", "enumeration (RED,
/// GREEN)".
std::string class_of(hid_t type);

/// The type that h5py writes for a descr. Throws Failure(argument) unless the descr is
/// little-endian.
Handle type_of(const std::string& descr);

}  // namespace maskctl::hdf5
