// Which columns of a plane hold open cells; private to the mask layer.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// The keys that any query sees, as runs.
std::vector<Run> open_keys(const Plane& plane);

}  // namespace maskctl
