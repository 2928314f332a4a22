// Reads masks given as expressions: functions of attention-gym and terms in q_idx and kv_idx;
// private to the layer.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/translate/read/call.h"

namespace maskctl {

/// The chain of an expression, for an all-open mask. `rows` says where q_idx counts from when Q !=
/// K: the first row (kTopLeft) or the first cached token (kBottomRight). Fails for what no chain
/// can express.
Chain chain_of_expression(const LibrarySource& source, const Python& expression, Align rows);
/// The document lengths in an array of ids: a list, or repeat(arange(n), [3, 5]).
std::optional<std::vector<Index>> id_lengths(const LibrarySource& source, const Python& ids);
/// The document lengths in positions that restart at 0.
std::optional<std::vector<Index>> packed_lengths(const LibrarySource& source, const Python& ids);

/// Reads CausalMask(...) & LocalMask(...), with the segment ids of the kernel that takes the mask.
Chain chain_of_splash(const LibrarySource& source);
/// Reads MaskInfo.from_segments(...).apply_causal(...).
Chain chain_of_mask_info(const LibrarySource& source, const Python& call);

}  // namespace maskctl
