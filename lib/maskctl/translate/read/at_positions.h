// Reads expressions that count at positions: inside documents, and at the tokens of a part of a
// sequence; private to the layer.
#pragma once

#include <functional>
#include <optional>

#include "maskctl/translate/read/call.h"

namespace maskctl {

/// Reads an expression of q_idx and kv_idx as a chain; fails with PipelineError.
using ReadExpression = std::function<Chain(const Python& expression)>;

/// The chain of an expression that has, joined by &, the equality of the documents of q_idx and
/// kv_idx and terms in positions inside them: pos[kv_idx] <= pos[q_idx], left[doc_id[q_idx]],
/// doc_id[q_idx] == 1. Nothing for others.
std::optional<Chain> chain_inside_documents(const LibrarySource& source, const Python& expression,
                                            const ReadExpression& read);
/// The chain of an expression in which one array gives the token of q_idx, and one that of kv_idx:
/// q_token[q_idx] - kv_token[kv_idx] <= 3. Nothing for others.
std::optional<Chain> chain_at_tokens(const LibrarySource& source, const Python& expression,
                                     const ReadExpression& read);

}  // namespace maskctl
