// Opens a dataset after checking that its elements can be read safely.
#pragma once

#include <string>
#include <vector>

#include "app/hdf5/library.h"
#include "app/hdf5/slabs.h"
#include "maskctl/base/index.h"

namespace maskctl::hdf5 {

struct Dataset {
  std::string path;
  Handle id, type;
  std::string descr;  // numpy's dtype string; see element.h
  hsize_t element_bytes = 0;
  Extents extents, chunk;  // `chunk` is empty unless the data is chunked
};

/// Throws Failure if the name is missing or names a group (the message lists the datasets), the
/// element type cannot be read, the data is in other files (virtual dataset, external storage), a
/// filter is unknown, there are more than 8 axes, a size does not fit an Index, or a chunk exceeds
/// 256 MiB or `max_bytes`.
Dataset open_dataset(hid_t file, const std::string& path, Index max_bytes);

/// The extents as text: "2,3"; "" for a scalar; "null" for a null dataspace.
std::string shape_field(hid_t space);
std::string shape_field(const Extents& extents);

/// How the data is stored: "contiguous", "chunked 64,64", "compact", "external" or "virtual".
std::string storage_of(hid_t creation_plist);
/// The filters in the order in which they were applied: "shuffle", "gzip 4", ...
std::vector<std::string> filters_of(hid_t creation_plist);

}  // namespace maskctl::hdf5
