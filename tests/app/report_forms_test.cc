// Compares the fields of JSON reports with docs/json.md, and tests what check says of masks.
#include <cstdlib>
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("docs/json.md lists exactly the fields that are printed", "[ejkernel]") {
  const std::string root = MASKCTL_SOURCE_DIR;
  const Outcome outcome = Sandbox().run("/usr/bin/python3 '" + root +
                                        "/tests/app/json_fields.py' '" + root + "/docs/json.md'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("docs/schemas has a JSON Schema of each --json", "[ejkernel][golden]") {
  const std::string root = MASKCTL_SOURCE_DIR;
  const bool writes = std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr;
  const Outcome outcome = Sandbox().run(
      "/usr/bin/python3 '" + root + "/tests/app/json_schemas.py' '" + root + "/docs/json.md' '" +
      root + "/docs/schemas' '" + root + "/tests/golden'" + (writes ? " --write" : ""));
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("check finds each planted fault, and gives no warning about masks of real stacks") {
  const std::string script = std::string(MASKCTL_SOURCE_DIR) + "/tests/app/check_faults.py";
  const Outcome outcome = Sandbox().run("/usr/bin/python3 '" + script + "' --rounds 3");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("verify --solve explains reported bugs: the cells, the cause and a drawing") {
  const std::string script = std::string(MASKCTL_SOURCE_DIR) + "/tests/app/solved_threads.py";
  const Outcome outcome = Sandbox().run("/usr/bin/python3 '" + script + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("cells of the future that a step reopens are reported as one finding") {
  const Outcome found =
      Sandbox().run("maskctl check gen:full:n=32 -t 'causal | open:q=3-5,k=20-22'");
  INFO(found.out << found.err);
  CHECK(found.status == 1);
  CHECK(contains(found.out, "warning: future-part: 9 cells of the future open"));
  CHECK(contains(found.out,
                 ", as open:q=3-5,k=20-22 reopens 9 cells that causal (step 1) closed\n"
                 "      at step 2, batch 0, head 0, query 3, key 20\n"));
  CHECK_FALSE(contains(found.out, "step-reopens-order"));
}

TEST_CASE(
    "check says that single cells of an irregular mask were not judged, unless steps made it") {
  const Sandbox sandbox;
  const Outcome of_file = sandbox.run(
      "maskctl gen random:sparsity=0.2,n=64,seed=1 -o a.npy && maskctl apply a.npy -t causal -o "
      "r.npy && "
      "maskctl check r.npy");
  const Outcome of_steps =
      sandbox.run("maskctl check gen:random:sparsity=0.2,n=64,seed=1 -t causal");
  const Outcome of_other = sandbox.run("maskctl check gen:full:n=64 -t and:r.npy");
  INFO(of_file.out << of_steps.out << of_other.out);
  CHECK(contains(of_file.out, "single cells"));
  CHECK_FALSE(contains(of_steps.out, "single cells"));
  CHECK(contains(of_other.out, "single cells"));
}

}  // namespace
}  // namespace maskctl::test
