// The text of ejkernel's MaskInfo.visualize, byte for byte.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The arguments of `visualize`, with its defaults.
struct EjkernelOptions {
  Index q_block = 32;  // below 1 counts as 1
  Index kv_block = 32;
  Index batch = 0;  // printed only
  Index head = 0;
  bool fit_in_screen = true;  // average blocks until they fit into max_rows x max_cols
  Index max_rows = 32;
  Index max_cols = 64;
  bool ascii = false;
  bool show_segments = true;
  std::vector<Index> mask_shape;  // as printed; empty prints (1, 1, queries, keys)
};

/// Blocks are empty, partial or full by the float32 ratio of ejkernel: the blocks that stick out
/// past the mask are filled up with closed cells, and with downsampling up to one cell in a million
/// is rounded away. Labels are ids modulo 100 on top, in full on the left; a block with several ids
/// is MIX (??), -1 is PAD. Ids that are absent are computed by segment_ids_of_mask. Cost: blocks of
/// the partial display cells, not elements. Throws Error(kInvalidArgument) where ejkernel fails:
/// max_rows or max_cols 0 with fit_in_screen, fewer query ids than queries.
std::string visualize_text(const Plane& plane, std::optional<std::span<const std::int32_t>> q_ids,
                           std::optional<std::span<const std::int32_t>> kv_ids,
                           const EjkernelOptions& options);

}  // namespace maskctl
