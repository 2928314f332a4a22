// CUDA on the CPU, as far as this project's kernels need it: replaces the header of the CUDA
// toolkit in builds with MASKCTL_CUDA=EMULATED, so that kernels can be tested without a GPU, also
// under sanitizers. Device memory is memory of the process. The threads of a block are fibers,
// which take turns at barriers and warp operations; blocks run one after the other.
#pragma once

#include <strings.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <utility>

#include "cuda_runtime_api.h"

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __grid_constant__
// A host thread runs one block at a time, so the shared memory of a block can be static.
#define __shared__ static thread_local

struct uint3 {
  unsigned x, y, z;
};
struct alignas(8) int2 {
  int x, y;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

// The indices of the fiber that is running, and the sizes of its block and grid.
extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

namespace cuda_emulator {

extern thread_local unsigned char* dynamic_shared;

/// Runs the body of a kernel for every thread of every block.
void run(dim3 grid, dim3 block, std::size_t dynamic_shared, const std::function<void()>& body);

/// Returns an error if the stream belongs to another GPU than the one that the host thread uses.
cudaError_t check_stream(cudaStream_t stream);

[[noreturn]] void fail(const char* what);

/// Waits for all threads of the block except those that have returned.
void wait_for_block();
/// Arrives at one of 16 barriers for `threads` threads, including the caller; if `waits`, waits
/// there for the others.
void meet(int barrier, int threads, bool waits);
/// Waits until the condition holds; other threads make it hold.
void wait_until(std::function<bool()> condition);
/// A barrier of the copy engine: a phase ends when all threads have arrived and all expected bytes
/// have been copied.
class alignas(8) Barrier {
 public:
  void init(int count);
  void arrive() { arrive_expecting(0); }
  void arrive_expecting(int bytes);
  void wait(int parity);
  void take_bytes(int bytes);

 private:
  void end_phase();
  std::int16_t count_, missing_;
  std::int32_t bytes_ : 31;
  std::uint32_t phase_ : 1;
};
static_assert(sizeof(Barrier) == 8);
/// Defers a copy to shared memory as long as possible: until no thread can go on without it.
void bring_late(std::function<void()> copy);
/// Defers a copy from shared memory as long as possible: until the thread that asked for it calls
/// take_now().
void take_late(std::function<void()> copy);
void take_now();
/// Exchanges words among the lanes of `mask` in the caller's warp, for which it waits. Returns the
/// words of all lanes in order, which are valid until the warp's next exchange but one.
const std::uint64_t* exchange(unsigned mask, std::uint64_t word);

template <class T>
T shuffle(unsigned mask, T value, unsigned source) {
  static_assert(sizeof(T) <= 8);
  std::uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  const std::uint64_t* const words = exchange(mask, word);
  std::memcpy(&value, &words[source & 31], sizeof(T));
  return value;
}
inline unsigned lane() {
  return (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)) % 32;
}
/// Returns `source` if that lane is in the caller's group of `width` lanes, otherwise the caller's
/// lane.
inline unsigned inside(unsigned source, unsigned width) {
  return source / width == lane() / width ? source : lane();
}

}  // namespace cuda_emulator

inline void __syncthreads() { cuda_emulator::wait_for_block(); }
inline void __syncwarp(unsigned mask = ~0u) { cuda_emulator::exchange(mask, 0); }
inline void __threadfence() {}
inline void __nanosleep(unsigned) {}
template <class T>
T __shfl_sync(unsigned mask, T value, unsigned source, unsigned width = 32) {
  const unsigned base = cuda_emulator::lane() / width * width;
  return cuda_emulator::shuffle(mask, value, base + source % width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned bits, unsigned width = 32) {
  return cuda_emulator::shuffle(mask, value,
                                cuda_emulator::inside(cuda_emulator::lane() ^ bits, width));
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, unsigned width = 32) {
  return cuda_emulator::shuffle(mask, value,
                                cuda_emulator::inside(cuda_emulator::lane() + delta, width));
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, unsigned width = 32) {
  return cuda_emulator::shuffle(mask, value,
                                cuda_emulator::inside(cuda_emulator::lane() - delta, width));
}
inline unsigned __ballot_sync(unsigned mask, int predicate) {
  const std::uint64_t* const words = cuda_emulator::exchange(mask, predicate != 0);
  unsigned votes = 0;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) != 0 && words[i] != 0) votes |= 1u << i;
  }
  return votes;
}
inline int __reduce_min_sync(unsigned mask, int value) {
  const std::uint64_t* const words =
      cuda_emulator::exchange(mask, static_cast<std::uint64_t>(std::int64_t{value}));
  std::int64_t least = value;
  for (unsigned i = 0; i < 32; ++i) {
    if ((mask >> i & 1) != 0) least = std::min(least, static_cast<std::int64_t>(words[i]));
  }
  return static_cast<int>(least);
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) == mask;
}
// Blocks run one after the other, and fibers change only where they wait, so this need not be
// atomic; atomic_ref tells the thread sanitizer that it is.
template <class T, class F>
T atomically(T* target, F&& f) {
  const std::atomic_ref<T> there(*target);
  const T before = there.load(std::memory_order_relaxed);
  there.store(f(before), std::memory_order_relaxed);
  return before;
}
template <class T>
T atomicAdd(T* target, T value) {
  return atomically(target, [&](T x) { return static_cast<T>(x + value); });
}
template <class T>
T atomicMax(T* target, T value) {
  return atomically(target, [&](T x) { return std::max(x, value); });
}
template <class T>
T atomicMin(T* target, T value) {
  return atomically(target, [&](T x) { return std::min(x, value); });
}
template <class T>
T atomicOr(T* target, T value) {
  return atomically(target, [&](T x) { return x | value; });
}
template <class T>
T atomicExch(T* target, T value) {
  return atomically(target, [&](T) { return value; });
}
template <class T>
T atomicCAS(T* target, T expected, T value) {
  return atomically(target, [&](T x) { return x == expected ? value : x; });
}
inline int __syncthreads_or(int predicate) {
  static thread_local int any;
  __syncthreads();
  atomicExch(&any, 0);
  __syncthreads();
  if (predicate) atomicExch(&any, 1);
  __syncthreads();
  return any;
}

template <class T>
T __ldg(const T* from) {
  return *from;
}
template <class T>
T __ldcs(const T* from) {
  return *from;
}
template <class T>
void __stcs(T* to, T x) {
  *to = x;
}
using std::max, std::min;
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned bits) {
  return static_cast<unsigned>(((std::uint64_t{high} << 32 | low) << (bits % 32)) >> 32);
}
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __ffs(int bits) { return ffs(bits); }
inline int __ffsll(long long bits) { return ffsll(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) {
  return std::countl_zero(static_cast<unsigned long long>(bits));
}
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
// If this were inlined, the compiler could fuse the difference with a product.
__attribute__((noinline)) inline float __fsub_rn(float x, float y) { return x - y; }
inline float __expf(float x) { return std::exp(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }

template <class... Parameters, class... Arguments>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* config, void (*kernel)(Parameters...),
                               Arguments&&... arguments) {
  const cudaError_t error = cuda_emulator::check_stream(config->stream);
  if (error != cudaSuccess) return error;
  const auto body = [&] { kernel(Parameters(arguments)...); };
  cuda_emulator::run(config->gridDim, config->blockDim, config->dynamicSmemBytes, body);
  return cudaSuccess;
}
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel*, cudaFuncAttribute, int) {
  return cudaSuccess;
}
