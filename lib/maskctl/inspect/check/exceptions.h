// Whether a cell beside a pattern is an exception, or follows a rule that the pattern leaves out;
// private to inspect.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// What sees and is seen in one plane of a mask says which of its cells stand alone. Query q is
/// token q + keys - queries.
///   An open cell is no exception if all tokens from the one to the other see each other (an
///   image),
/// or if all queries that see any key see this one (a prefix, padding alone).
///   Another open cell of the past is none if the query sees all that the key's token sees, whoever
/// sees the query sees the key too, and all tokens between that the query sees also see the key (a
/// longer document, a shared prefix, a branch of a tree).
///   A closed cell is none if no token links the two: none that the query sees and that sees the
/// key, and, unless the key is later, none that sees both (documents, padding, branches of a tree).
///   In a plane of one query, the ends of its runs of keys are none either.
bool is_exception(const PlanePtr& plane, Index query, Index key);

}  // namespace maskctl
