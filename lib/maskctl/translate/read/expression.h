// Reads masks given as expressions: functions of attention-gym and terms in q_idx and kv_idx;
// private to the layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/mask_part.h"

namespace maskctl {

/// The chain of an expression, for an all-open mask. `rows` says where q_idx counts from when Q !=
/// K: the first row (kTopLeft) or the first cached token (kBottomRight). Fails for what no chain
/// can express.
Chain chain_of_expression(const LibrarySource& source, const Python& expression, Align rows);
/// The chain of a function of q_idx and kv_idx: mask_mod, if there is one, or else the last.
Chain read_mask_mod(const LibrarySource& source);

/// The mask of a name with numbers, as attention-gym has it: causal, sliding_window(W) (q - kv <=
/// W, causal), prefix_lm(n), prefix(n), sinks(n), document(3+5), chunked(N), dilated(stride); a
/// generate_ before and a _mask or _mask_mod after a name are ignored. Fails for other names.
MaskPart named_mask(const LibrarySource& source, const Python& given, Align rows);
/// The document lengths in an array of ids: a list, or repeat(arange(n), [3, 5]). Ids of -1 at the
/// end are padding if `padded`, where other negative ones give nothing; else a document like
/// others.
std::optional<std::vector<Index>> id_lengths(const LibrarySource& source, const Python& ids,
                                             bool padded);

}  // namespace maskctl
