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

}  // namespace maskctl::attention
