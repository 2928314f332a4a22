// MaskInfo.visualize: prints the mask of one batch row and head as ejkernel does.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "maskctl/ejkernel/mask_info/mask_info.h"

namespace maskctl {

/// The arguments of ejkernel's `visualize`, with its defaults.
struct VisualizeOptions {
  /// Tokens per block: one number for both, or a pair (queries, keys). Values below 1 count as 1.
  std::variant<Index, std::pair<Index, Index>> block_size = Index{32};
  Index batch = 0;
  Index head = 0;
  bool fit_in_screen = true;  // average blocks until they fit in max_rows x max_cols
  Index max_rows = 32;
  Index max_cols = 64;
  std::string charset = "unicode";  // or "ascii"
  bool show_segments = true;
};

/// Returns the same bytes as ejkernel. Computes and caches the attention mask of `info`, but
/// computes missing segment ids only for this text. Throws PythonError(ValueError) if the mask is
/// not 3D or 4D, PythonError(IndexError) if batch or head is out of range, and what visualize_text
/// throws. Source: ejkernel's MaskInfo.visualize.
std::string visualize(MaskInfo& info, const VisualizeOptions& options = {});

}  // namespace maskctl
