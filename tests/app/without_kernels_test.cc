// Tests a command that was built without operations that have no mask, and so without ejkernel's
// runtime: what needs them is refused with the name of the build option, all else works. These
// hidden cases run with tests/run.sh --lane ejkernel.
#include "app/process.h"

namespace maskctl::test {
namespace {

TEST_CASE("without kernels: operations without a mask are refused by name", "[.without_kernels]") {
  const std::string name =
      GENERATE(as<std::string>{}, "gla_attention", "lightning_attn", "recurrent",
               "gated_delta_rule", "short_convolution", "grouped_matmul", "mean_pooling");
  check_refused(Sandbox(), "maskctl attend " + name,
                name +
                    ": this build has no operations without a mask; configure it with "
                    "-DMASKCTL_KERNELS=ON");
}

TEST_CASE("without kernels: ejkernel's configs are refused, its masks are read",
          "[.without_kernels]") {
  const Sandbox sandbox;
  check_refused(sandbox, "maskctl attend flash_attention --policy heuristics",
                "--policy: this maskctl was built without ejkernel's configs; build it with "
                "-DMASKCTL_EJKERNEL_RUNTIME=ON");
  CHECK(sandbox.run("maskctl info gen:causal:n=8 --semantics ejkernel").status == 0);
}

TEST_CASE("without kernels: attention runs, is verified and listed", "[.without_kernels]") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl attend flash_attention causal=true --axes Tq=16,Tk=16").status == 0);
  CHECK(sandbox.run("maskctl verify gen:causal:n=16 --op mla_attention").status == 0);
  const Outcome listed = sandbox.run("maskctl backends");
  CHECK(listed.status == 0);
  CHECK(contains(listed.out, "flash_attention"));
  CHECK_FALSE(contains(listed.out, "gla"));
}

}  // namespace
}  // namespace maskctl::test
