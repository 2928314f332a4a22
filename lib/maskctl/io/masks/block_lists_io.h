// Block lists of kernels (flex, fa4, bsr) in containers of arrays.
#pragma once

#include <optional>
#include <string>

#include "maskctl/io/kinds/kind.h"
#include "maskctl/io/masks/mask_io.h"

namespace maskctl {

class Container;

/// The kind whose arrays a group of a container holds, if it is one that lists blocks.
std::optional<ArrayKind> listed_kind(const Container& container, const std::string& group);

/// Reads such a group: the map of its blocks, and as a mask every cell of the blocks that are
/// listed. Throws Error that starts with the container's name.
LoadedMask load_block_lists(Container& container, const std::string& group, ArrayKind kind,
                            const MaskReadOptions& options);

}  // namespace maskctl
