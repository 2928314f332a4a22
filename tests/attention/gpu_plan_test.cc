// Tests the errors of the interface for arrays on the GPU, on machines where no GPU kernel can run.
#include "maskctl/attention/gpu/plan.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/error_of.h"

namespace gpu_plan_cases {

using namespace maskctl;
using namespace maskctl::attention;

TEST_CASE("gpu plans: without a usable GPU, plans and workspaces throw the reason") {
  const std::string why = unavailable(Backend::kCuda);
  if (why.empty()) return;
  const auto refused = [&](auto&& f) {
    const std::string said = test::error_of(f);
    CHECK(test::contains(said, why));
    if (why == "this build has no CUDA kernels") {
      CHECK(test::contains(said, "; configure it with -DMASKCTL_CUDA=ON"));
    }
  };
  refused([] { const gpu::Workspace workspace(nullptr); });
  refused([] { const gpu::Paged plan(PagedProblem(), nullptr); });
  refused([] { const gpu::SoftmaxForward plan(SoftmaxProblem(), nullptr); });
}

}  // namespace gpu_plan_cases
