// The copy engine of Hopper GPUs and its barriers for emulated kernels; replaces the header of this
// name. Copies to shared memory are made when no thread can go on without them, copies from it when
// their thread waits for them: so a missing wait gives wrong results.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <cstring>

#include "maskctl/attention/cuda/hopper/slots.cuh"
#include "maskctl/attention/cuda/hopper/wgmma.cuh"

namespace maskctl::attention::cuda::hopper {

using Barrier = cuda_emulator::Barrier;

inline void fence_barriers() {}
inline void fence_shared_writes() {}

/// Checks the alignment that the copy engine needs of bytes in shared memory and in global memory.
inline void check_stretch(const void* here, const void* there, int bytes) {
  const auto is_odd = [](auto n) { return n % 16 != 0; };
  if (is_odd(shared_address(here)) || is_odd(reinterpret_cast<std::uintptr_t>(there)) ||
      is_odd(bytes)) {
    cuda_emulator::fail("the copy engine takes multiples of 16 bytes at multiples of 16");
  }
}

/// Calls f(element in shared memory, element of the array) for each element of a box; outside the
/// array the second is null.
template <class F>
void each_of_box(void* panel, const CUtensorMap& map, const Corner& corner, F&& f) {
  if (shared_address(panel) % (8 * kPanelRowBytes) != 0) {
    cuda_emulator::fail("a panel begins inside a period of its swizzle");
  }
  const int at[] = {corner.column, corner.token, corner.head, corner.batch};
  for (int row = 0; row < static_cast<int>(map.box[1]); ++row) {
    for (int column = 0; column < kPanel; ++column) {
      unsigned char* element = map.data;
      for (int axis = 0; axis < 4; ++axis) {
        const int n = at[axis] + (axis == 0 ? column : axis == 1 ? row : 0);
        if (n < 0 || static_cast<cuuint64_t>(n) >= map.extents[axis]) element = nullptr;
        if (element) element += static_cast<cuuint64_t>(n) * map.steps[axis];
      }
      f(static_cast<unsigned char*>(panel) + swizzled(row, column), element);
    }
  }
}

inline void load_box(void* to, const CUtensorMap& map, Corner at, Barrier& done, std::uint64_t) {
  cuda_emulator::bring_late([=, &done] {
    each_of_box(to, map, at, [](unsigned char* here, const unsigned char* there) {
      here[0] = there ? there[0] : 0, here[1] = there ? there[1] : 0;
    });
    done.take_bytes(static_cast<int>(map.box[1]) * kPanelRowBytes);
  });
}
inline void load_bytes(void* to, const void* from, int bytes, Barrier& done) {
  check_stretch(to, from, bytes);
  cuda_emulator::bring_late([=, &done] {
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
    done.take_bytes(bytes);
  });
}
inline void store_box(const void* from, const CUtensorMap& map, Corner at) {
  cuda_emulator::take_late([=] {
    each_of_box(const_cast<void*>(from), map, at,
                [](const unsigned char* here, unsigned char* there) {
                  if (there) there[0] = here[0], there[1] = here[1];
                });
  });
}
inline void store_floats(float* to, const float* from, int bytes) {
  check_stretch(from, to, bytes);
  cuda_emulator::take_late([=] { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}
inline void add_floats(float* to, const float* from, int bytes) {
  check_stretch(from, to, bytes);
  cuda_emulator::take_late([=] {
    for (int i = 0; i < bytes / 4; ++i) to[i] += from[i];
  });
}
inline void commit_stores() {}
template <int kPending>
void wait_for_stores() {
  static_assert(kPending == 0);
  cuda_emulator::take_now();
}
inline void finish_stores() { cuda_emulator::take_now(); }

// Blocks run one after the other: what a block waits for has been told already, or never will be.
inline void tell_number(int* to, int number) { *to = number; }
inline void await_number(const int* from, int number) {
  if (*from != number) cuda_emulator::fail("a block waits for one that has not begun");
}

inline void sync(int barrier, int threads) { cuda_emulator::meet(barrier, threads, true); }
inline void arrive(int barrier, int threads) { cuda_emulator::meet(barrier, threads, false); }

inline void let_next_kernel_begin() {}
inline void await_previous_kernel() {}
template <int kRegisters>
void take_registers() {}
template <int kRegisters>
void give_registers() {}

}  // namespace maskctl::attention::cuda::hopper
