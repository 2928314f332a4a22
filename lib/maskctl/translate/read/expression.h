// Reads masks written as expressions: terms in q_idx and kv_idx, and functions of attention-gym;
// private to the layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/mask_part.h"

namespace maskctl {

/// The chain that gives the mask of the expression when applied to a full mask. `rows` says what
/// q_idx counts from when Q != K: the first row (kTopLeft) or the first cached token
/// (kBottomRight). Fails if no chain can express the mask.
Chain chain_of_expression(const LibrarySource& source, const Python& expression, Align rows);
/// The chain of the last call, which closes cells of the mask that its argument `mask` holds, if
/// that is given. Further conditions of the call are joined by and.
Chain chain_of_masked_call(const LibrarySource& source, std::string_view mask);
/// The chain of the function mask_mod in the text, or else of the last function of q_idx and
/// kv_idx.
Chain read_mask_mod(const LibrarySource& source);

/// The mask of a name with numbers, as in attention-gym: causal, sliding_window(W) (causal, q - kv
/// <= W), prefix_lm(n), prefix(n), sinks(n), document(3+5), chunked(N), dilated(stride). A leading
/// generate_ and a trailing _mask or _mask_mod are ignored. Fails for other names.
MaskPart named_mask(const LibrarySource& source, const Python& given, Align rows);
/// The lengths of documents in an array of ids, which is written as a list or as repeat(arange(n),
/// [3, 5]). If `padded`, ids of -1 at the end are padding and other negative ids give nothing;
/// otherwise negative ids are documents like others.
std::optional<std::vector<Index>> id_lengths(const LibrarySource& source, const Python& ids,
                                             bool padded);

}  // namespace maskctl
