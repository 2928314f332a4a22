// Whether what is closed can touch a result; private to verify.
#pragma once

#include "maskctl/attention/verify/verify.h"

namespace maskctl::attention {

/// NaN in the keys and values that no query of `mask` sees.
VerifyCheck check_unseen_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask);
/// Large finite changes of some keys and values, one key at a time.
VerifyCheck check_closed_keys(const Operation& operation, const NamedArguments& arguments,
                              const Mask& mask);

// What an operation without a mask may read of its inputs: what the reference reads, and no more.
// A row is one vector along the last axis of an array of tokens, a cache or a matrix. Arrays with
// equally many rows, such as keys and values, are changed together. The reference reads a row when
// NaN in it changes a result.

/// "unread inputs": NaN in the rows that the reference does not read. They are found by halving,
/// in a limited number of calls, so that some are missed where they are very scattered.
VerifyCheck check_unread_inputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against);
/// "other outputs": large finite changes of some rows, one at a time, which must
/// not change the elements that the reference computes without them.
VerifyCheck check_other_outputs(const Operation& operation, const NamedArguments& arguments,
                                Backend against);

}  // namespace maskctl::attention
