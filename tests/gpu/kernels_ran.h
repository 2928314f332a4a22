// What a test of the GPU says about itself: the line that tests/gpu/run.sh keeps.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace gpu_test {

/// How many random calls a test makes: MASKCTL_GPU_CALLS, or what is quick on the machine.
inline int calls(int on_gpu) {
  const char* const text = std::getenv("MASKCTL_GPU_CALLS");
#if defined(MASKCTL_CUDA_EMULATED)
  on_gpu = on_gpu / 20 + 1;
#endif
  return text ? std::atoi(text) : on_gpu;
}

/// Nothing falls back, so that the kernels that were asked for are those that ran.
inline void say_ran(std::string_view kernels, std::string_view dtype, int calls,
                    std::string_view path = "plain") {
  fmt::print("ran {} on cuda, {}, {}: {} calls\n", kernels, path, dtype, calls);
  std::fflush(stdout);
}

}  // namespace gpu_test
