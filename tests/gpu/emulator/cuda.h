// For emulated kernels (see cuda_runtime.h): the part of the CUDA driver's interface that describes
// arrays to the copy engine.
#pragma once

#include <cstdint>

using cuuint32_t = std::uint32_t;
using cuuint64_t = std::uint64_t;

enum CUresult { CUDA_SUCCESS = 0, CUDA_ERROR_INVALID_VALUE = 1 };
enum CUtensorMapDataType {
  CU_TENSOR_MAP_DATA_TYPE_FLOAT16 = 6,
  CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 = 9
};
enum CUtensorMapInterleave { CU_TENSOR_MAP_INTERLEAVE_NONE = 0 };
enum CUtensorMapSwizzle { CU_TENSOR_MAP_SWIZZLE_128B = 3 };
enum CUtensorMapL2promotion { CU_TENSOR_MAP_L2_PROMOTION_L2_256B = 3 };
enum CUtensorMapFloatOOBfill { CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE = 0 };

/// Describes an array of four axes, of which the first is contiguous, and the size of its boxes,
/// which the copy engine copies.
struct alignas(64) CUtensorMap {
  unsigned char* data;
  cuuint64_t extents[4];
  cuuint64_t steps[4];  // in bytes
  cuuint32_t box[4];
};
