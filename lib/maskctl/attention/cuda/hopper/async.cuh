// What runs beside a thread on Hopper GPUs (sm_90a): the copy engine, the barriers that it signals,
// and warpgroups with unequal shares of the registers.
#pragma once

#include <cuda.h>

#include <cstdint>

#include "maskctl/attention/cuda/hopper/slots.cuh"
#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda::hopper {

/// A barrier in shared memory. Its phases end when `count` threads have arrived and the bytes that
/// were announced are there; waiters name the parity of the phase whose end they wait for.
class alignas(8) Barrier {
 public:
  __device__ void init(int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count));
  }
  __device__ void arrive() {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
  }
  /// Arrives, and announces bytes that the copy engine will bring.
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

/// Makes barriers that this thread initialised, and shared memory that it wrote, visible to the
/// copy engine and the tensor cores.
__device__ inline void fence_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void fence_shared_writes() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/// Copies a box of the map to shared memory; what lies outside the array is zero.
__device__ inline void load_box(void* to, const CUtensorMap& map, Corner at, Barrier& done,
                                std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint "
      "[%0], [%1, {%2, %3, %4, %5}], [%6], %7;" ::"r"(shared_address(to)),
      "l"(&map), "r"(at.column), "r"(at.token), "r"(at.head), "r"(at.batch), "r"(done.address()),
      "l"(policy)
      : "memory");
}
/// Copies contiguous bytes to shared memory: multiples of 16, from and to such addresses.
__device__ inline void load_bytes(void* to, const void* from, int bytes, Barrier& done) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(shared_address(to)),
      "l"(from), "r"(bytes), "r"(done.address())
      : "memory");
}
/// Copies shared memory to a box of the map; nothing outside the array is written.
__device__ inline void store_box(const void* from, const CUtensorMap& map, Corner at) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(
          &map),
      "r"(at.column), "r"(at.token), "r"(at.head), "r"(at.batch), "r"(shared_address(from))
      : "memory");
}
/// Copies contiguous floats of shared memory to memory.
__device__ inline void store_floats(float* to, const float* from, int bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to),
               "r"(shared_address(from)), "r"(bytes)
               : "memory");
}
/// Adds contiguous floats of shared memory to memory; the order of several adders is undefined.
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

/// Waits until this thread's stores are in memory, and orders them before what follows.
__device__ inline void finish_stores() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// Tells other blocks of what this thread has stored: they see it after await_number().
__device__ inline void tell_number(int* to, int number) {
  asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(to), "r"(number) : "memory");
}
/// Waits until a block that has begun tells `number`; only stores may follow. A relaxed load is
/// enough: nothing but sums in the L2 cache depends on it, and what this block has cached stays
/// valid.
__device__ inline void await_number(const int* from, int number) {
  int seen;
  do {
    asm volatile("ld.relaxed.gpu.global.s32 %0, [%1];" : "=r"(seen) : "l"(from) : "memory");
  } while (seen != number);
  asm volatile("fence.proxy.async.global;" ::: "memory");
}

/// A barrier of `threads` threads of the block: `sync` waits for them, `arrive` does not.
__device__ inline void sync(int barrier, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
__device__ inline void arrive(int barrier, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

/// Lets blocks of the next kernel take the places that blocks of this one leave.
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
