// Checks whether closed cells can influence a result; private to verify.
#pragma once

#include "maskctl/verify/request.h"

namespace maskctl::attention {

/// Puts NaN into the keys and values that no query of `mask` sees: no result may change.
VerifyCheck check_unseen_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask);
/// Makes large finite changes to some keys and values, one key at a time: rows that do not see the
/// key may not change.
VerifyCheck check_closed_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask);

// An operation without a mask may read only those of its inputs that the reference reads. A row is
// one vector along the last axis of an array of tokens, a cache or a matrix. Arrays with the same
// number of rows, such as keys and values, are changed together. The reference reads a row if NaN
// in that row changes a result.

/// "unread inputs": puts NaN into the rows that the reference does not read. These rows are found
/// by bisection in a limited number of calls, which misses some rows if they are very scattered.
VerifyCheck check_unread_inputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against);
/// "other outputs": makes large finite changes to some rows, one at a time, which must not change
/// the elements that the reference computes without that row.
VerifyCheck check_other_outputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against);

}  // namespace maskctl::attention
