// Tests a command that was built without ejkernel: what needs ejkernel is refused with the name of
// the build option, all else works. These hidden cases run with tests/run.sh --lane ejkernel.
#include "app/process.h"

namespace maskctl::test {
namespace {

TEST_CASE("without ejkernel: options and kinds that need ejkernel are refused",
          "[.without_ejkernel]") {
  const Sandbox sandbox;
  const auto [asked, line] = GENERATE(table<std::string, std::string>({
      {"--semantics ejkernel", "maskctl info gen:causal:n=8 --semantics ejkernel"},
      {"--semantics ejkernel", "maskctl apply gen:full:n=8 --semantics ejkernel -o a.npy"},
      {"--semantics ejkernel", "maskctl why gen:full:n=8 --semantics ejkernel 1 1"},
      {"--style ejkernel", "maskctl show gen:causal:n=8 --style ejkernel"},
      {"--as mask-info", "maskctl stats samples/packed.npy --as mask-info"},
      {"--to mask-info", "maskctl apply gen:full:n=8 --to mask-info -o m.npz"},
      {"info --mesh", "maskctl info gen:causal:n=8 --mesh dp=2"},
      {"blockmap", "maskctl blockmap gen:causal:n=8 --block 4"},
      {"--policy", "maskctl attend flash_attention --policy heuristics"},
      {"--cache", "maskctl attend flash_attention --cache configs"},
      {"platform=xla", "maskctl attend flash_attention platform=xla"},
      {"EJKERNEL_AUTOTUNE_POLICY",
       "EJKERNEL_AUTOTUNE_POLICY=heuristics maskctl attend flash_attention"},
  }));
  check_refused(sandbox, line,
                asked +
                    ": this maskctl was built without ejkernel; build it with "
                    "-DMASKCTL_EJKERNEL=ON");
}

TEST_CASE("without ejkernel: backends are listed without ejkernel's names for platforms",
          "[.without_ejkernel]") {
  const Outcome outcome = Sandbox().run("maskctl backends flash_attention");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
  CHECK(contains(outcome.out, "* -       -     cpu"));
  CHECK_FALSE(contains(outcome.out, "xla"));
}

TEST_CASE("without ejkernel: an argument of ejkernel's steps is an unknown key",
          "[.without_ejkernel]") {
  check_refused(Sandbox(), "maskctl apply gen:full:n=8 -t window:both=2,mode=decode -o a.npy",
                "unknown key 'mode' of window", 3);
}

}  // namespace
}  // namespace maskctl::test
