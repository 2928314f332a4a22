// Counts the open cells of a causal window, and asks for a kernel of the GPU. Succeeds when the
// count equals the closed form, and the kernel is there exactly when the library says that the GPU
// can run.
#include <cstdio>

#include "maskctl/base/error.h"
#include "maskctl/kernels/gpu/plans.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/planes/bands.h"

namespace {

bool window_is_counted() {
  const maskctl::Index n = 1'000'000, window = 128;
  const maskctl::Mask mask(maskctl::diagonal_band(n, n, 1 - window, 0));
  const maskctl::Index expected = n * window - window * (window - 1) / 2;
  std::printf("%lld open cells\n", static_cast<long long>(mask.count()));
  return mask.count() == expected;
}

bool gpu_is_there_or_says_why() {
  using namespace maskctl::attention;
  const bool can_run = unavailable(Backend::kCuda).empty();
  try {
    const gpu::MeanPooling plan(PoolingProblem(), nullptr);
    return can_run;
  } catch (const maskctl::Error& error) {
    std::printf("no kernel of the GPU: %s\n", error.what());
    return !can_run && error.code() == maskctl::Errc::kUnsupported;
  }
}

}  // namespace

int main() { return window_is_counted() && gpu_is_there_or_says_why() ? 0 : 1; }
