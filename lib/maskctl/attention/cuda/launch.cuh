// How kernels are launched, and device functions that all of them use.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "maskctl/attention/cuda/device.h"
#include "maskctl/attention/cuda/elements.h"
#include "maskctl/base/error.h"
#include "maskctl/tensor/dtype.h"

namespace maskctl::attention::cuda {

/// Runs a kernel on a grid of blocks; does nothing for an empty grid. `attribute`: an option of the
/// launch, or null.
template <class... Parameters>
void launch_as(cudaLaunchAttribute* attribute, const char* name, void (*kernel)(Parameters...),
               dim3 grid, dim3 threads, std::size_t shared_bytes, Stream stream,
               const std::type_identity_t<Parameters>&... p) {
  if (grid.x == 0 || grid.y == 0 || grid.z == 0) return;
  constexpr std::size_t kAlwaysAllowed = 48 << 10;
  if (shared_bytes > kAlwaysAllowed) {
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(shared_bytes)),
          name);
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = threads;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = attribute, config.numAttrs = attribute ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, p...), name);
}
template <class... Parameters>
void launch(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 threads,
            std::size_t shared_bytes, Stream stream, const std::type_identity_t<Parameters>&... p) {
  launch_as(nullptr, name, kernel, grid, threads, shared_bytes, stream, p...);
}

/// The dynamic shared memory of the block, of the size that the launch asked for.
__device__ inline unsigned char* dynamic_shared() {
#if defined(MASKCTL_CUDA_EMULATED)
  return cuda_emulator::dynamic_shared;
#else
  extern __shared__ __align__(16) unsigned char all[];
  return all;
#endif
}

// Conversions between elements and f32, in which all arithmetic is done.
__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(__half x) { return __half2float(x); }
__device__ inline float to_float(__nv_bfloat16 x) { return __bfloat162float(x); }
__device__ inline void store(float x, float* to) { *to = x; }
__device__ inline void store(float x, __half* to) { *to = __float2half_rn(x); }
__device__ inline void store(float x, __nv_bfloat16* to) { *to = __float2bfloat16_rn(x); }

/// Calls f(std::type_identity<T>()), where T is the element type of float32, float16 or bfloat16.
/// Other dtypes are an error.
template <class F>
void with_element(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kFloat32:
      return f(std::type_identity<float>());
    case DType::kFloat16:
      return f(std::type_identity<__half>());
    case DType::kBFloat16:
      return f(std::type_identity<__nv_bfloat16>());
    default:
      throw Error(Errc::kUnsupported, "GPU kernels read float32, float16 and bfloat16");
  }
}

/// Reads an element of an array whose dtype is known only at run time; slower than a typed pointer.
__device__ inline float element(AnyArray array, Index i) {
  if (array.dtype == DType::kFloat16) return to_float(static_cast<const __half*>(array.data)[i]);
  if (array.dtype == DType::kBFloat16) {
    return to_float(static_cast<const __nv_bfloat16*>(array.data)[i]);
  }
  return static_cast<const float*>(array.data)[i];
}
__device__ inline void put(AnyResult array, Index i, float x) {
  if (array.dtype == DType::kFloat16) return store(x, static_cast<__half*>(array.data) + i);
  if (array.dtype == DType::kBFloat16) return store(x, static_cast<__nv_bfloat16*>(array.data) + i);
  store(x, static_cast<float*>(array.data) + i);
}
/// Calls f with a null pointer of type const T*, where T is the element type of the dtype.
template <class F>
__device__ void with_type(DType dtype, F&& f) {
  if (dtype == DType::kFloat16) return f(static_cast<const __half*>(nullptr));
  if (dtype == DType::kBFloat16) return f(static_cast<const __nv_bfloat16*>(nullptr));
  f(static_cast<const float*>(nullptr));
}

/// The sum over each group of `width` neighbouring lanes; every lane of a group gets it.
template <int width = 32>
__device__ float sum_of_lanes(float x) {
  for (int bit = width / 2; bit > 0; bit /= 2) x += __shfl_xor_sync(~0u, x, bit);
  return x;
}
template <int width = 32>
__device__ float max_of_lanes(float x) {
  for (int bit = width / 2; bit > 0; bit /= 2) x = fmaxf(x, __shfl_xor_sync(~0u, x, bit));
  return x;
}

/// exp(before - now): the factor that turns sums of exp(logit - before) into sums of exp(logit -
/// now) when a running maximum rises. The maximum of no logits is -inf. The factor must be exactly
/// 1 where a maximum stays the same, so that keys a row does not see change none of its bits. Hence
/// __fsub_rn: the compiler may fuse a product into a plain subtraction, and the difference of equal
/// floats is then the product's rounding error.
__device__ inline float rescale_factor(float before, float now) {
  return expf(__fsub_rn(before, now == -__builtin_huge_valf() ? 0 : now));
}

}  // namespace maskctl::attention::cuda
