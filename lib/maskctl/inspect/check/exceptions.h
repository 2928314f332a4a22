// Whether a cell beside a pattern is an exception, or follows a rule that the pattern leaves out;
// private to inspect.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Whether a cell stands alone, judged by what its query and its key see and are seen by in one
/// plane. Query q is token q + keys - queries. These cells are no exceptions:
/// - an open cell where all tokens between key and query see each other (an image), or where all
///   queries that see any key see this key (a prefix, padding alone);
/// - an open cell of the past where the query sees all that the key's token sees, whoever sees the
///   query sees the key too, and every token between them that the query sees also sees the key (a
///   longer document, a shared prefix, a branch of a tree);
/// - a closed cell where no token links the two: none that the query sees and that sees the key,
/// nor,
///   unless the key is later, one that sees both (documents, padding, branches of a tree);
/// - in a plane of one query, the ends of its runs of keys.
bool is_exception(const PlanePtr& plane, Index query, Index key);

}  // namespace maskctl
