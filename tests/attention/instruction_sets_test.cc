// Kernels run on the best instruction set that is there and not disabled.
#include <string>

#include "hwy/targets.h"
#include "maskctl/attention/cpu/kernel.h"
#include "support/catch_compat.h"

namespace maskctl::attention {
namespace {

TEST_CASE("cpu: kernels run on the best instruction set that is enabled", "[simd]") {
  const std::int64_t before = hwy::SupportedTargets();
  const std::string chosen(cpu_target());
  int tried = 0;
  for (const std::int64_t target :
       {std::int64_t{HWY_AVX3}, std::int64_t{HWY_AVX2}, std::int64_t{HWY_STATIC_TARGET}}) {
    if ((before & target) == 0) continue;
    if (tried++ == 0) CHECK(chosen == hwy::TargetName(target));
    hwy::DisableTargets(~before | (target - 1));
    CHECK(std::string(cpu_target()) == hwy::TargetName(target));
  }
  CHECK(tried > 0);
  hwy::DisableTargets(~before);
  CHECK(std::string(cpu_target()) == chosen);
}

}  // namespace
}  // namespace maskctl::attention
