// What an operation without a mask may read of its inputs: what the judge reads, and no more;
// private to verify.
#pragma once

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

// Rows are those of the last axis of the arrays of tokens, caches and matrices; arrays of equally
// many rows, as keys and values, are changed together. The judge reads a row where NaN in it
// changes a result.

/// "unread inputs": NaN in the rows that the judge does not read. They are looked for by halves, in
/// a limited number of calls, so that of very scattered ones some are left out.
VerifyCheck check_unread_inputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against);
/// "other outputs": large finite changes of some rows, one at a time, against the elements that NaN
/// in them leaves as they are at the judge.
VerifyCheck check_other_outputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against);

}  // namespace maskctl::attention
