// How often a test that repeats itself does so.
#pragma once

#include <concepts>
#include <cstdlib>

namespace maskctl::test {

/// Sanitizers are ten times slower, and look for other faults than wrong results.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Of `full` random or enumerated cases, those that this build tries: with sanitizers a fifth.
template <std::integral Count>
constexpr Count rounds(Count full) {
  return kSanitized ? (full + 4) / 5 : full;
}

/// The most rows and columns of masks that are enumerated, all of them. Another instruction set
/// than the best (MASKCTL_TEST_CPU_TARGET) does nothing else with masks smaller than its registers.
inline int largest_enumerated() {
  return kSanitized || std::getenv("MASKCTL_TEST_CPU_TARGET") != nullptr ? 3 : 4;
}

}  // namespace maskctl::test
