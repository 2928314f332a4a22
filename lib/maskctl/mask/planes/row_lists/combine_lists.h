// Combines two planes if in one of them each row is a list of keys that rows share, clipped to a
// range; private to the mask layer.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Returns a op b if in one operand each row is a list of keys that rows share, clipped to a range,
/// and the result has a closed form: other clips of the same lists, the lists of both operands, or
/// bands. Null otherwise.
PlanePtr combine_lists(Op op, const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
