#include "maskctl/attention/modules/describe.h"

#include <fmt/format.h>

#include "maskctl/base/error.h"

namespace maskctl::attention {

void refuse_dropout(const OpInfo& info, double dropout, const ShardPlan& plan) {
  if (dropout == 0 || (plan.parts("b") == 1 && plan.parts("h") == 1)) return;
  throw Error(Errc::kUnsupported,
              fmt::format("sharded {}: dropout with batches or heads split over devices; expected "
                          "dropout 0 or an unsplit call",
                          info.id));
}

}  // namespace maskctl::attention
