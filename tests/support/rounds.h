// How many cases the repeating tests run.
#pragma once

#include <concepts>
#include <cstdlib>

namespace maskctl::test {

/// True in sanitizer builds, which are ten times slower and do not look for wrong results.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// Returns how many of `full` random or enumerated cases this build runs: all, or a fifth with
/// sanitizers.
template <std::integral Count>
constexpr Count rounds(Count full) {
  return kSanitized ? (full + 4) / 5 : full;
}

/// Returns the largest number of rows and columns for which tests go through all masks. A smaller
/// one is enough if MASKCTL_TEST_CPU_TARGET is set: instruction sets do not differ on masks smaller
/// than a register.
inline int largest_enumerated() {
  return kSanitized || std::getenv("MASKCTL_TEST_CPU_TARGET") != nullptr ? 3 : 4;
}

}  // namespace maskctl::test
