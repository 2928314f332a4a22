// What translate prints, run on stand-ins for the libraries.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("the code for every library makes the mask that was translated") {
  const fs::path root = MASKCTL_SOURCE_DIR;
  const Outcome outcome =
      Sandbox().run("/usr/bin/python3 '" + (root / "tests/app/translate_twins.py").string() +
                    "' '" + MASKCTL_COMMAND + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("translate takes exactly one input") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl translate").status == 2);
  CHECK(sandbox.run("maskctl translate -t causal --from hf sliding_window=4").status == 2);
  CHECK(sandbox.run("maskctl translate -t causal causal=True").status == 2);
  CHECK(sandbox.run("maskctl translate -t causal --to fa+none").status == 2);
  CHECK(sandbox.run("maskctl translate --hf-config nowhere.json").status == 2);
}

TEST_CASE("layers of a config that are no attention of a known kind have no mask, and say so") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      R"(echo '{"layer_types": ["chunked_attention", "linear_attention"],)"
      R"( "attention_chunk_size": 8}' > config.json; maskctl translate --hf-config config.json)");
  CHECK(outcome.status != 2);
  CHECK(contains(outcome.out, "causal:align=bottom-right | chunk:size=8"));
  CHECK(contains(outcome.out, "linear_attention: not full, sliding or chunked attention"));
}

TEST_CASE("exit 1 says that a library cannot") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl translate -t 'dilated:stride=2' --to flex").status == 0);
  CHECK(sandbox.run("maskctl translate -t 'dilated:stride=2' --to flex+fa").status == 1);
}

TEST_CASE("why exits 0 for open, 1 for closed, 2 for trouble") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 3").status == 0);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 4").status == 1);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 8").status == 2);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3").status == 2);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 x 3").status == 2);
  CHECK(sandbox.run("maskctl why gen:causal:n=8 3 3 --head 1").status == 2);
}

}  // namespace
}  // namespace maskctl::test
