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
  Index batch = 0;  // batch and head are only named in the text
  Index head = 0;
  bool fit_in_screen = true;  // average blocks until they fit into max_rows x max_cols
  Index max_rows = 32;
  Index max_cols = 64;
  bool ascii = false;
  bool show_segments = true;
  std::vector<Index> mask_shape;  // printed; if empty, (1, 1, queries, keys)
};

/// Blocks are empty, partial or full according to the float32 ratio of ejkernel: blocks that extend
/// past the mask count as padded with closed cells, and with downsampling up to one cell in a
/// million is rounded away. Labels are ids modulo 100 on top, full ids on the left; a block with
/// several ids is MIX (??), -1 is PAD. Absent ids are computed by segment_ids_of_mask. The cost
/// depends on the blocks of partial display cells, not on elements. Throws Error(kInvalidArgument)
/// where ejkernel fails: max_rows or max_cols 0 with fit_in_screen, fewer query ids than queries.
std::string visualize_text(const Plane& plane, std::optional<std::span<const std::int32_t>> q_ids,
                           std::optional<std::span<const std::int32_t>> kv_ids,
                           const EjkernelOptions& options);

}  // namespace maskctl
