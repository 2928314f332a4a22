// Opens a dataset whose elements can be read safely.
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
  std::string descr;  // see element.h
  hsize_t element_bytes = 0;
  Extents extents, chunk;  // `chunk` is empty unless the data is chunked
};

/// Throws Failure for a missing name, a group (both list the datasets), unreadable elements, data
/// in other files (virtual, external storage), unknown filters, more than 8 axes, sizes that do not
/// fit an Index, and chunks of more than 256 MiB or `max_bytes`.
Dataset open_dataset(hid_t file, const std::string& path, Index max_bytes);

/// "2,3", "" for a scalar, "null".
std::string shape_field(hid_t space);
std::string shape_field(const Extents& extents);

/// "contiguous", "chunked 64,64", "compact", "external", "virtual".
std::string storage_of(hid_t creation_plist);
/// "gzip 4", "shuffle", ...
std::vector<std::string> filters_of(hid_t creation_plist);

}  // namespace maskctl::hdf5
