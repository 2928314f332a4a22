// MaskInfo.visualize: the mask of one batch and head as ejkernel prints it.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl {

/// The arguments of ejkernel's `visualize`, with its defaults.
struct VisualizeOptions {
  /// Tokens per block: one number for both sides, or queries and keys. Below 1 counts as 1.
  std::variant<Index, std::pair<Index, Index>> block_size = Index{32};
  Index batch = 0;
  Index head = 0;
  bool fit_in_screen = true;  // average blocks until they fit into max_rows x max_cols
  Index max_rows = 32;
  Index max_cols = 64;
  std::string charset = "unicode";  // or "ascii"
  bool show_segments = true;
};

/// The text, byte for byte. Fills the attention mask of `info`, as reading it does; segment ids
/// that are not stored are computed for this text only. Throws PythonError(ValueError) for a mask
/// that is not 3D or 4D, PythonError(IndexError) for a batch or head out of range; see
/// visualize_text for the rest. Source: ejkernel's MaskInfo.visualize.
std::string visualize(MaskInfo& info, const VisualizeOptions& options = {});

}  // namespace maskctl
