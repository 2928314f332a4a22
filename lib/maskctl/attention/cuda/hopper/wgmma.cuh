// The tensor cores of Hopper GPUs (sm_90a): products of tiles by a warpgroup of 128 threads.
//
// d[64 x N] += a[64 x 16] b[16 x N], with d in f32 registers, b in shared memory, and a in either.
// Each thread holds two rows of d, and two of every 8 columns: see fragment_row and
// fragment_column. If a is in registers, its columns 16 c .. 16 c + 15 are d[8 c .. 8 c + 7] of an
// earlier product, rounded, in pairs and in this order.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "maskctl/attention/cuda/hopper/layout.h"

namespace maskctl::attention::cuda::hopper {

__device__ inline std::uint32_t shared_address(const void* p) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(p));
}

/// Call it between writes to registers or shared memory and the first product that reads them.
__device__ inline void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
/// Ends a group of products, for which wgmma_wait() can wait.
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Waits until at most `kPending` of the latest groups of products are still running.
template <int kPending>
__device__ void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}
/// Keeps the compiler from moving the registers of d, which products that still run may write, and
/// from computing left factors (`pairs`) between products. The loop has an index, since loops over
/// ranges are not always unrolled, and without unrolling the compiler would keep d in memory.
template <int n>
__device__ __forceinline__ void pin(float (&d)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int n>
__device__ __forceinline__ void pin(std::uint32_t (&pairs)[n]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("" : "+r"(pairs[i])::"memory");
}

/// Stores four matrices of 8 x 8. Each lane holds one register (two elements) of each matrix; lane
/// l gives the address of row l % 8 of matrix l / 8.
__device__ inline void store_matrices(std::uint32_t address, const std::uint32_t* x) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}

/// Two numbers, rounded to a pair of elements; `low` is in the low half.
template <class T>
__device__ std::uint32_t rounded_pair(float low, float high) {
  if constexpr (std::is_same_v<T, __half>) {
    const __half2 pair = __floats2half2_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  } else {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
    return reinterpret_cast<const std::uint32_t&>(pair);
  }
}

#define MASKCTL_F4(d, i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define MASKCTL_F16(d, i) \
  MASKCTL_F4(d, i), MASKCTL_F4(d, (i) + 4), MASKCTL_F4(d, (i) + 8), MASKCTL_F4(d, (i) + 12)
#define MASKCTL_F32(d, i) MASKCTL_F16(d, i), MASKCTL_F16(d, (i) + 16)
#define MASKCTL_F64(d, i) MASKCTL_F32(d, i), MASKCTL_F32(d, (i) + 32)
#define MASKCTL_F128(d, i) MASKCTL_F64(d, i), MASKCTL_F64(d, (i) + 64)
#define MASKCTL_NAMES_16 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15"
#define MASKCTL_NAMES_32                                                   \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define MASKCTL_NAMES_64                                                             \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "           \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, " \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, " \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define MASKCTL_NAMES_128                                                                        \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "                       \
  "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "             \
  "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "             \
  "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "             \
  "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "             \
  "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "             \
  "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111, " \
  "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, %127"
#define MASKCTL_BOTH_SHARED(N, TYPE, REGISTERS, A, B, ON, TA, TB)                                \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %" #ON ", 0; wgmma.mma_async.sync.aligned.m64n" #N \
               "k16.f32." TYPE "." TYPE " {" MASKCTL_NAMES_##REGISTERS                           \
               "}, %" #A ", %" #B ", p, 1, 1, %" #TA ", %" #TB ";}"                              \
               : MASKCTL_F##REGISTERS(d, 0)                                                      \
               : "l"(a), "l"(b), "r"(accumulate), "n"(kTransposedA), "n"(kTransposedB))
#define MASKCTL_ONE_SHARED(N, TYPE, REGISTERS, A0, A1, A2, A3, B, ON, TB)                        \
  asm volatile("{.reg .pred p; setp.ne.b32 p, %" #ON ", 0; wgmma.mma_async.sync.aligned.m64n" #N \
               "k16.f32." TYPE "." TYPE " {" MASKCTL_NAMES_##REGISTERS                           \
               "}, {%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", p, 1, 1, %" #TB ";}"       \
               : MASKCTL_F##REGISTERS(d, 0)                                                      \
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(accumulate),            \
                 "n"(kTransposedB))

/// d = a b if `accumulate` is 0, else d += a b. Both operands are in shared memory, given by
/// descriptors.
template <class T, int N, int kTransposedA, int kTransposedB>
__device__ void wgmma(float (&d)[N / 2], std::uint64_t a, std::uint64_t b, int accumulate) {
  static_assert(N == 32 || N == 64 || N == 128 || N == 256);
  constexpr bool kHalf = std::is_same_v<T, __half>;
  if constexpr (N == 32 && kHalf) {
    MASKCTL_BOTH_SHARED(32, "f16", 16, 16, 17, 18, 19, 20);
  } else if constexpr (N == 32) {
    MASKCTL_BOTH_SHARED(32, "bf16", 16, 16, 17, 18, 19, 20);
  }
  if constexpr (N == 64 && kHalf) {
    MASKCTL_BOTH_SHARED(64, "f16", 32, 32, 33, 34, 35, 36);
  } else if constexpr (N == 64) {
    MASKCTL_BOTH_SHARED(64, "bf16", 32, 32, 33, 34, 35, 36);
  }
  if constexpr (N == 128 && kHalf) {
    MASKCTL_BOTH_SHARED(128, "f16", 64, 64, 65, 66, 67, 68);
  } else if constexpr (N == 128) {
    MASKCTL_BOTH_SHARED(128, "bf16", 64, 64, 65, 66, 67, 68);
  }
  if constexpr (N == 256 && kHalf) {
    MASKCTL_BOTH_SHARED(256, "f16", 128, 128, 129, 130, 131, 132);
  } else if constexpr (N == 256) {
    MASKCTL_BOTH_SHARED(256, "bf16", 128, 128, 129, 130, 131, 132);
  }
}

/// wgmma() with the left factor in registers.
template <class T, int N, int kTransposedB>
__device__ void wgmma(float (&d)[N / 2], const std::uint32_t* a, std::uint64_t b, int accumulate) {
  static_assert(N == 64 || N == 128 || N == 256);
  constexpr bool kHalf = std::is_same_v<T, __half>;
  if constexpr (N == 64 && kHalf) {
    MASKCTL_ONE_SHARED(64, "f16", 32, 32, 33, 34, 35, 36, 37, 38);
  } else if constexpr (N == 64) {
    MASKCTL_ONE_SHARED(64, "bf16", 32, 32, 33, 34, 35, 36, 37, 38);
  }
  if constexpr (N == 128 && kHalf) {
    MASKCTL_ONE_SHARED(128, "f16", 64, 64, 65, 66, 67, 68, 69, 70);
  } else if constexpr (N == 128) {
    MASKCTL_ONE_SHARED(128, "bf16", 64, 64, 65, 66, 67, 68, 69, 70);
  }
  if constexpr (N == 256 && kHalf) {
    MASKCTL_ONE_SHARED(256, "f16", 128, 128, 129, 130, 131, 132, 133, 134);
  } else if constexpr (N == 256) {
    MASKCTL_ONE_SHARED(256, "bf16", 128, 128, 129, 130, 131, 132, 133, 134);
  }
}

#undef MASKCTL_F4
#undef MASKCTL_F16
#undef MASKCTL_F32
#undef MASKCTL_F64
#undef MASKCTL_F128
#undef MASKCTL_NAMES_16
#undef MASKCTL_NAMES_32
#undef MASKCTL_NAMES_64
#undef MASKCTL_NAMES_128
#undef MASKCTL_BOTH_SHARED
#undef MASKCTL_ONE_SHARED

}  // namespace maskctl::attention::cuda::hopper
