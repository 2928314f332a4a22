#include "maskctl/attention/modules/ring_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "maskctl/base/error.h"

namespace maskctl::attention {

void RingAttentionOp::check_sharding(const Inputs&, const Options& o, const Sharding&,
                                     const ShardPlan& plan) {
  const std::vector<std::string> wanted = {o.axis_name};
  for (const std::string_view label : {"q", "k"}) {
    const std::vector<std::string> axes = plan.axes_of(label);
    if (axes == wanted) continue;
    throw Error(Errc::kInvalidArgument,
                fmt::format("sharded ring_attention: the sequence of {} is split over ({}), "
                            "expected axis_name '{}'",
                            label == "q" ? "query" : "key", fmt::join(axes, ", "), o.axis_name));
  }
  if (!o.mask_info) return;
  const AxisName& sequence = o.mask_info->fields().axes.sequence;
  if (sequence == AxisName(o.axis_name)) return;
  throw Error(Errc::kInvalidArgument,
              fmt::format("sharded ring_attention: the sequence axis of mask_info is not axis_name "
                          "'{}'",
                          o.axis_name));
}

}  // namespace maskctl::attention
