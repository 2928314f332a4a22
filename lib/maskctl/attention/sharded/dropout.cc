#include "maskctl/attention/sharded/dropout.h"

#include "maskctl/attention/sharded/plan.h"

namespace maskctl::attention {

void set_dropout_origin(const Shard& shard, SoftmaxOptions& softmax) {
  softmax.first_batch += shard.first("B");
  softmax.first_head += shard.first("Hq");
}

}  // namespace maskctl::attention
