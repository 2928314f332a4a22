// MASKCTL_TEST_CPU_TARGET=NAME lets a test program use at most this instruction set, as Highway
// names it, or "baseline" for the least of all: every set is tested where the best one runs.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "hwy/targets.h"

namespace {

/// Its bit; better sets have lower ones. Ends the program for a name that this machine cannot run.
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
