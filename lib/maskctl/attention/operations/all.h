// Includes the types of every operation: FlashAttentionOp, RingAttentionOp and so on.
#pragma once

#include "maskctl/attention/operations/attention/spec.h"
#include "maskctl/attention/operations/blocksparse/spec.h"
#include "maskctl/attention/operations/flash/spec.h"
#include "maskctl/attention/operations/grouped_matmul/spec.h"
#include "maskctl/attention/operations/linear/spec.h"
#include "maskctl/attention/operations/mean_pooling/spec.h"
#include "maskctl/attention/operations/mla/spec.h"
#include "maskctl/attention/operations/native_sparse/spec.h"
#include "maskctl/attention/operations/paged/spec.h"
#include "maskctl/attention/operations/ring/spec.h"
#include "maskctl/attention/operations/sdpa/spec.h"
#include "maskctl/attention/operations/short_convolution/spec.h"
