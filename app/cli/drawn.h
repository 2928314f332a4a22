// A mask as `show` draws it, for commands that end in a drawing.
#pragma once

#include <string>

#include "app/session/session.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app {

/// Batch 0 and head 0 of the mask, drawn for stdout. `ids` stand along the axes, and mark leaks.
std::string drawn(const Mask& mask, std::string name, const SegmentTensors& ids,
                  const Session& session);

}  // namespace maskctl::app
