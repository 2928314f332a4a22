// Combines planes of which one stores its rows as clips of shared lists; private to the mask layer.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// a op b when the rows of one operand are clips of shared lists and the result has a closed form:
/// other clips of the same lists, the lists of both operands, or bands. Null otherwise.
PlanePtr combine_lists(Op op, const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
