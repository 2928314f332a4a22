// Reading the label notation of plan.h.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention {

struct AxisLabel {
  std::string name;
  Index factor = 1;         // the axis is this many times the label's extent
  bool cumulative = false;  // one longer
};

/// The alternative of that rank. Throws Error(kShape) when there is none; `what` names the array.
std::vector<AxisLabel> axis_labels(std::string_view labels, std::size_t rank,
                                   std::string_view what = "an array");

}  // namespace maskctl::attention
