// Includes the types of every operation with a mask: FlashAttentionOp, RingAttentionOp and so on.
#pragma once

#include "maskctl/attention/operations/attention/spec.h"
#include "maskctl/attention/operations/blocksparse/spec.h"
#include "maskctl/attention/operations/flash/spec.h"
#include "maskctl/attention/operations/mla/spec.h"
#include "maskctl/attention/operations/native_sparse/spec.h"
#include "maskctl/attention/operations/paged/spec.h"
#include "maskctl/attention/operations/ring/spec.h"
#include "maskctl/attention/operations/sdpa/spec.h"
