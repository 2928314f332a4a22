// Reads lists of blocks as kernels take them (flex, fa4, bsr) from containers of arrays.
#pragma once

#include <optional>
#include <string>

#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

class Container;

/// Reads a group whose arrays list blocks: the block map, and a mask in which every cell of every
/// listed block is open. Throws Error that starts with the container's name.
LoadedMask load_block_lists(Container& container, const std::string& group, ArrayKind kind,
                            const MaskReadOptions& options);

}  // namespace maskctl
