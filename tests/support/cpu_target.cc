// With MASKCTL_TEST_CPU_TARGET=NAME, test programs use no better vector instructions than those of
// the Highway target NAME, or of "baseline", the least one. So one machine can test every target.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "hwy/targets.h"

namespace {

/// Returns the bit of a Highway target; better targets have lower bits. Ends the program if this
/// machine cannot run the target.
std::int64_t target_of(std::string_view name) {
  for (int bit = 62; bit >= 0; --bit) {
    const std::int64_t target = std::int64_t{1} << bit;
    if ((hwy::SupportedTargets() & target) == 0) continue;
    if (name == "baseline" || name == hwy::TargetName(target)) return target;
  }
  std::fprintf(stderr, "MASKCTL_TEST_CPU_TARGET: this machine has no %s\n", name.data());
  std::exit(2);
}

[[maybe_unused]] const bool limited = [] {
  const char* const name = std::getenv("MASKCTL_TEST_CPU_TARGET");
  if (name) hwy::DisableTargets(target_of(name) - 1);
  return name != nullptr;
}();

}  // namespace
