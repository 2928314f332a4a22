// For emulated kernels (see cuda_runtime.h): types of driver functions that are found through the
// runtime.
#pragma once

#include "cuda.h"

using PFN_cuTensorMapEncodeTiled_v12000 = CUresult (*)(
    CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* data,
    const cuuint64_t* extents, const cuuint64_t* steps, const cuuint32_t* box,
    const cuuint32_t* apart, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle,
    CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill);
