#include "maskctl/attention/modules/blocksparse_attention.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "maskctl/base/error.h"

namespace maskctl::attention {

void BlockSparseAttentionOp::check_sharding(const Inputs&, const Options& o, const Sharding&,
                                            const ShardPlan& plan) {
  const std::vector<std::string> axes = plan.axes_of("q");
  if (axes.empty() || axes == std::vector{o.sequence_parallelism_mesh_axis_name}) return;
  throw Error(
      Errc::kInvalidArgument,
      fmt::format("sharded blocksparse_attention: the queries are split over ({}), expected "
                  "sequence_parallelism_mesh_axis_name '{}'",
                  fmt::join(axes, ", "), o.sequence_parallelism_mesh_axis_name));
}

}  // namespace maskctl::attention
