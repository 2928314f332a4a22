// The lines in which GPU tests say which kernels they ran; tests/gpu/run.sh shows them.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gpu_test {

/// True where the CPU emulates kernels, which is a thousand times slower than a GPU.
#if defined(MASKCTL_CUDA_EMULATED)
inline constexpr bool kEmulated = true;
#else
inline constexpr bool kEmulated = false;
#endif

/// Returns how many random calls a test makes: MASKCTL_GPU_CALLS, or `on_gpu`, or fewer in the
/// emulator.
inline int calls(int on_gpu) {
  const char* const text = std::getenv("MASKCTL_GPU_CALLS");
  return text ? std::atoi(text) : kEmulated ? on_gpu / 20 + 1 : on_gpu;
}

/// Prints which kernels ran. Calls in GPU tests do not fall back, so these are the kernels asked
/// for.
inline void say_ran(std::string_view kernels, std::string_view dtype, int calls,
                    std::string_view path = "plain") {
  fmt::print("ran {} on cuda, {}, {}: {} calls\n", kernels, path, dtype, calls);
  std::fflush(stdout);
}

}  // namespace gpu_test
