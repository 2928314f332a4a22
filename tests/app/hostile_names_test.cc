// Tests that names from files and command lines are shown escaped, and work as what they are.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("no command prints the control characters of a hostile name") {
  const std::string script = std::string(MASKCTL_SOURCE_DIR) + "/tests/app/hostile_names.py";
  const Outcome outcome =
      Sandbox().run("mkdir empty && cd empty && /usr/bin/python3 '" + script + "'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("a hostile file name can be read, and is shown with escapes") {
  const Sandbox sandbox;
  const std::string name = "'a\x1b[2J\nb\xE2\x80\xAE.npy'";
  CHECK(sandbox.run("maskctl gen causal:n=2 -o " + name).status == 0);
  const Outcome shown = sandbox.run("maskctl info " + name);
  CHECK(shown.status == 0);
  CHECK(shown.out.starts_with("a\\x1b[2J\\x0ab\\u202e.npy\n"));
  const Outcome json = sandbox.run("maskctl info --json " + name);
  CHECK(contains(json.out, "\"a\\u001b[2J\\nb\\u202e.npy\""));
  const Outcome missing = sandbox.run("maskctl info 'c\xC2\x9B\x7F\xFF.npy'");
  CHECK(missing.status == 2);
  CHECK(contains(missing.err, "c\\u009b\\x7f\\xff.npy"));
}

TEST_CASE("drawings keep their colours next to an escaped name") {
  const Outcome drawn = Sandbox().run(
      "maskctl -q gen causal:n=2 -o 'x\x1b[31m.npy' && maskctl show --color always "
      "'x\x1b[31m.npy'");
  CHECK(contains(drawn.out, "x\\x1b[31m.npy"));
  CHECK(contains(drawn.out, "\x1b["));
  CHECK_FALSE(contains(drawn.out, "x\x1b"));
}

}  // namespace
}  // namespace maskctl::test
