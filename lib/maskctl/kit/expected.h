// What a case must give, in float64 and plain loops: the formulas of rules.h as they stand.
#pragma once

#include "maskctl/kit/made_case.h"

namespace maskctl::kit {

/// All are f64. A query without a key and without sinks has out 0 and lse minus infinity.
struct Expected {
  Tensor out;  // [B,Q,Hq,Dv]
  Tensor lse;  // [B,Hq,Q]
  /// For the loss sum(out * cotangent_out); absent where the case has no cotangent.
  std::optional<Tensor> grad_query, grad_key, grad_value;  // as query, key and value
};
Expected expected(const MadeCase& made);

}  // namespace maskctl::kit
