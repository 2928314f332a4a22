// Makes tensor maps with a function of the driver, which is found through the runtime.
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdint>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/hopper/layout.h"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr Index kElementBytes = 2, kAlignment = 16;

/// The driver's function, found through the runtime because libcuda is not linked.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned kVersion = 12000;
  check(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, kVersion,
                                         cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
  if (found != cudaDriverEntryPointSuccess) {
    throw Error(Errc::kDevice, "the NVIDIA driver has no cuTensorMapEncodeTiled");
  }
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

}  // namespace

std::string unreadable(const HeadsView& array) {
  if (array.dtype != DType::kFloat16 && array.dtype != DType::kBFloat16) {
    return fmt::format("elements are {}, not float16 or bfloat16", name(array.dtype));
  }
  if (const auto past = reinterpret_cast<std::uintptr_t>(array.data) % kAlignment; past != 0) {
    return fmt::format("its address is {} bytes past a multiple of 16", past);
  }
  for (const Index stride : {array.token_stride, array.head_stride, array.batch_stride}) {
    if (stride * kElementBytes % kAlignment != 0) {
      return fmt::format("steps of {} bytes are no multiple of 16", stride * kElementBytes);
    }
  }
  return "";
}

CUtensorMap tensor_map(const HeadsView& array, Index batch, Index tokens, Index heads, Index dim,
                       int rows) {
  static const auto kEncode = encoder();
  const auto extent = [](Index n) { return static_cast<cuuint64_t>(n); };
  const auto bytes = [](Index n) { return static_cast<cuuint64_t>(n * kElementBytes); };
  const cuuint64_t extents[] = {extent(dim), extent(tokens), extent(heads), extent(batch)};
  const cuuint64_t steps[] = {bytes(array.token_stride), bytes(array.head_stride),
                              bytes(array.batch_stride)};
  const cuuint32_t box[] = {kPanel, static_cast<cuuint32_t>(rows), 1, 1}, apart[] = {1, 1, 1, 1};
  CUtensorMap map;
  const CUresult result =
      kEncode(&map,
              array.dtype == DType::kFloat16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16
                                             : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
              4, const_cast<void*>(array.data), extents, steps, box, apart,
              CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
              CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) {
    throw Error(Errc::kDevice, fmt::format("cuTensorMapEncodeTiled failed with error {}",
                                           static_cast<int>(result)));
  }
  return map;
}

}  // namespace maskctl::attention::cuda::hopper
