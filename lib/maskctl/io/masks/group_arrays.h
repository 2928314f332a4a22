// Reads and writes kinds of several arrays, each known by its name: runs, slices, bits by request,
// bits of trees, real beside padded lengths.
#pragma once

#include <string>
#include <vector>

#include "maskctl/io/formats/container.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

/// Reads a group of arrays of a kind of grouped_kind() that does not list blocks. Throws Error that
/// starts with the container's name.
LoadedMask load_group(Container& container, const std::string& group, ArrayKind kind,
                      const MaskReadOptions& options);

/// Converts out.source to a kind of load_group(): its arrays and their mask.
void convert_group(ConvertedMask& out, const MaskWriteOptions& options);

}  // namespace maskctl
