// The algebra of rows of shared lists; private to the mask layer.
#pragma once

#include "maskctl/mask/plane.h"

namespace maskctl {

/// a op b where rows of one are clips of shared lists and the result has a closed form: other clips
/// of the same lists, lists of both, or bands. Null for others.
PlanePtr combine_lists(Op op, const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
