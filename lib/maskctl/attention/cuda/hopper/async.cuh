// Asynchronous hardware of Hopper GPUs (sm_90a): the copy engine, the barriers that it signals, and
// registers that one warpgroup cedes to another.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "maskctl/attention/cuda/hopper/slots.cuh"
#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda::hopper {

/// A barrier in shared memory (mbarrier). A phase ends when `count` threads have arrived and all
/// announced bytes have been copied. wait(parity) waits for the end of the phase with that parity.
class alignas(8) Barrier {
 public:
  __device__ void init(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count));
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  /// Arrives, and announces how many bytes the copy engine will write.
  __device__ void arrive_expecting(int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address()),
                 "r"(bytes)
                 : "memory");
  }
  __device__ void wait(int parity) {
    asm volatile(
        "{.reg .pred done;\n"
        "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
        "@!done bra again;}" ::"r"(address()),
        "r"(parity)
        : "memory");
  }
  __device__ std::uint32_t address() const { return shared_address(this); }

 private:
  std::uint64_t state_;
};

/// fence_barriers() makes barriers that this thread initialised visible to the copy engine.
/// fence_shared_writes() makes its writes to shared memory visible to the copy engine and the
/// tensor cores.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void fence_shared_writes() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Copies a box of an array to shared memory; elements outside the array become zero.
__device__ inline void load_box(void* to, const CUtensorMap& map, Corner at, Barrier& done,
                                std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared_address(to)),
      "l"(&map), "r"(at.column), "r"(at.token), "r"(at.head), "r"(at.batch), "r"(done.address()),
      "l"(policy)
      : "memory");
}
/// Copies contiguous bytes to shared memory. `bytes` and both addresses are multiples of 16.
__device__ inline void load_bytes(void* to, const void* from, int bytes, Barrier& done) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(done.address())
      : "memory");
}
/// Copies a box from shared memory to an array; elements outside the array are not written.
__device__ inline void store_box(const void* from, const CUtensorMap& map, Corner at) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
          &map),
      "r"(at.column), "r"(at.token), "r"(at.head), "r"(at.batch), "r"(shared_address(from))
      : "memory");
}
/// Copies contiguous floats from shared memory to global memory.
__device__ inline void store_floats(float* to, const float* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
/// Adds contiguous floats in shared memory to floats in global memory. Blocks that add to the same
/// floats do so in an undefined order.
__device__ inline void add_floats(float* to, const float* from, int bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(to),
      "r"(shared_address(from)), "r"(bytes)
      : "memory");
}
__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
/// Waits until at most `kPending` of this thread's latest groups of stores still read shared
/// memory.
template <int kPending>
__device__ void wait_for_stores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kPending) : "memory");
}

/// Waits until this thread's stores are in global memory, and orders them before later accesses.
__device__ inline void finish_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// Publishes a number. A block that waits for the number with await_number() then sees what this
/// thread has stored.
__device__ inline void tell_number(int* to, int number) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(to), "r"(number) : "memory");
}
/// Waits until a block that has already started publishes `number` with tell_number(). The calling
/// thread may afterwards add to global memory or store to it, but not read from it: the load is
/// relaxed, and does not order later reads.
__device__ inline void await_number(const int* from, int number) {
  int seen;
  do {
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(from) : "memory");
  } while (seen != number);
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// Named barriers for `threads` threads of the block: sync() waits for all of them, arrive() only
/// arrives.
__device__ inline void sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Lets blocks of the stream's next kernel start where blocks of this kernel have finished.
__device__ inline void let_next_kernel_begin() {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
}
__device__ inline void await_previous_kernel() {
  asm volatile("griddepcontrol.wait;" ::: "memory");
}

template <int kRegisters>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kRegisters));
}
template <int kRegisters>
__device__ void give_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kRegisters));
}

}  // namespace maskctl::attention::cuda::hopper
