// The algebra of rows of shared lists; private to the mask layer.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// a op b when the rows of one operand are clips of shared lists and the result has a closed form:
/// other clips of the same lists, the lists of both, or bands. Null otherwise.
PlanePtr combine_lists(Op op, const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
