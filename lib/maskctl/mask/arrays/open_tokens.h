// Which columns of a plane hold open cells; private to the mask layer.
#pragma once

#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Runs of keys that any query sees.
std::vector<Run> open_keys(const Plane& plane);

}  // namespace maskctl
