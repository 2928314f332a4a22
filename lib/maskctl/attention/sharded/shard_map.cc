#include "maskctl/attention/sharded/shard_map.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl::attention {

void check_spec_counts(const OpInfo& info, const Sharding& sharding, std::size_t most) {
  const std::size_t ins = sharding.in_specs.size();
  const std::size_t least = std::min(info.least_specs, most);
  if (ins < least || ins > most) {
    throw Error(Errc::kInvalidArgument, fmt::format("sharded {}: {} in_specs, expected {} to {}",
                                                    info.id, ins, least, most));
  }
  if (sharding.out_specs.size() != info.out_specs) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("sharded {}: {} out_specs, expected {}", info.id,
                            sharding.out_specs.size(), info.out_specs));
  }
}

}  // namespace maskctl::attention
