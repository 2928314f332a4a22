// Where dropout of a shard begins in the whole call.
#pragma once

#include "maskctl/attention/problems/softmax_options.h"

namespace maskctl::attention {

struct Shard;

/// Sets the batch and head at which the shard begins in the whole call, because dropout depends on
/// indices in the whole call.
void set_dropout_origin(const Shard& shard, SoftmaxOptions& softmax);

}  // namespace maskctl::attention
