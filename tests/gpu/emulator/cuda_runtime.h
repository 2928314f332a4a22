// CUDA on the CPU, as far as this project's kernels need it: found in place of the toolkit's header
// when the kernels are built with MASKCTL_CUDA=EMULATED. Memory of the device is memory of the
// process; the threads of a block are fibers that change places at barriers and warp operations,
// so that kernels can be tested, and read by sanitizers, without a GPU. Blocks run one after the
// other.
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
// One block runs at a time on a thread, so that its shared memory can be static.
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

// Of the running fiber.
extern thread_local uint3 threadIdx, blockIdx;
extern thread_local dim3 blockDim, gridDim;

namespace cuda_emulator {

extern thread_local unsigned char* dynamic_shared;

/// Runs the body for every thread of every block.
void run(dim3 grid, dim3 block, std::size_t dynamic_shared, const std::function<void()>& body);

/// An error for a stream of another GPU than the thread's.
cudaError_t check_stream(cudaStream_t stream);

[[noreturn]] void fail(const char* what);

/// Waits for all threads of the block that have not returned.
void wait_for_block();
/// One of 16 barriers of `threads` threads, of which the caller is one; `waits`: for the others.
void meet(int barrier, int threads, bool waits);
/// Waits until the condition holds, which other threads change.
void wait_until(std::function<bool()> condition);
/// Of the copy engine: a phase ends when all have arrived and all bytes have come.
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
/// What a copy engine does: at the latest time, when no thread can go on without it.
void bring_late(std::function<void()> copy);
/// The same of what it takes from shared memory for the running thread, which at the latest asks
/// for it with take_now().
void take_late(std::function<void()> copy);
void take_now();
/// Waits for the lanes of `mask` in the caller's warp. Each brings a word; the words of all lanes,
/// in order, are valid until the warp's next exchange but one.
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
/// The lane that a lane of a group of `width` reads, which is its own outside of the group.
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
// Blocks do not run at the same time, and fibers change places only where they wait; the thread
// sanitizer is to know what is atomic.
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
// Not inlined, where the compiler would fuse a product into the difference.
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
