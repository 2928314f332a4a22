// The text of ejkernel's MaskInfo.visualize, with the same bytes.
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
  Index q_block = 32;  // values below 1 count as 1
  Index kv_block = 32;
  Index batch = 0;  // batch and head appear only in the text
  Index head = 0;
  bool fit_in_screen = true;  // average blocks until they fit in max_rows x max_cols
  Index max_rows = 32;
  Index max_cols = 64;
  bool ascii = false;
  bool show_segments = true;
  std::vector<Index> mask_shape;  // as printed; if empty, (1, 1, queries, keys)
};

/// Prints each block as empty, partial or full, decided by ejkernel's float32 ratio of open cells.
/// A block that extends past the mask counts as padded with closed cells; if blocks are averaged, a
/// ratio within 1e-6 of 0 or 1 counts as empty or full. Labels are segment ids: modulo 100 on top,
/// in full on the left; a block of several ids is MIX (?? on top), -1 is PAD. Missing ids are
/// computed by segment_ids_of_mask(). The cost depends on the blocks in partial display cells, not
/// on elements. Throws Error(kInvalidArgument) where ejkernel fails: if max_rows or max_cols is 0
/// with fit_in_screen, or if there are fewer query ids than queries.
std::string visualize_text(const Plane& plane, std::optional<std::span<const std::int32_t>> q_ids,
                           std::optional<std::span<const std::int32_t>> kv_ids,
                           const EjkernelOptions& options);

}  // namespace maskctl
