// Includes the types of every operation without a mask: GLAttentionOp, GroupedMatmulOp and so on.
#pragma once

#include "maskctl/kernels/grouped_matmul/spec.h"
#include "maskctl/kernels/linear/spec.h"
#include "maskctl/kernels/mean_pooling/spec.h"
#include "maskctl/kernels/short_convolution/spec.h"
