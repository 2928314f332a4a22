// Tells whether a cell that deviates from a pattern is an exception, or follows a rule that the
// pattern leaves out; private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Whether a cell is an exception, judged by what its query and its key see, and by which queries
/// see them, in one plane. Query q is token q + shift, 0 <= shift <= keys - queries, the largest if
/// it is not given; with more queries than keys, every cell is an exception. Otherwise, these cells
/// are no exceptions:
/// - an open cell where all tokens between key and query see each other (an image), or whose key is
///   seen by all queries that see any key (a prefix, or padding alone);
/// - an open cell of the past whose query sees all that the key's token sees, and whose key is seen
///   by all queries that see the query's token, and by all tokens in between that the query sees
///   (a longer document, a shared prefix, a branch of a tree);
/// - a closed cell without a token that links query and key. Such a token is seen by the query and
///   sees the key or, unless the key is later, sees both (documents, padding, branches of a tree);
/// - in a plane of one query, a cell at an end of one of its runs of keys.
bool is_exception(const PlanePtr& plane, Index query, Index key, std::optional<Index> shift = {});

/// Whether all tokens between key and query see each other, both included.
bool is_in_group(const PlanePtr& plane, Index query, Index key);

}  // namespace maskctl
