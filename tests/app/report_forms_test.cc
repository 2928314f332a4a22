// What programs read: fields of JSON against their page, findings in all four formats.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

Outcome run_script(const std::string& script, const std::string& page) {
  const std::string root = MASKCTL_SOURCE_DIR;
  return Sandbox().run("/usr/bin/python3 '" + root + "/tests/app/" + script + "' '" + root +
                       "/docs/" + page + "'");
}

TEST_CASE("docs/json.md has every field that is printed, and no other") {
  const Outcome outcome = run_script("json_fields.py", "json.md");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("each finding can be provoked, and says what, where, why and what to do in each format") {
  const Outcome outcome = run_script("lint_findings.py", "lint.md");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("check finds each planted fault, and has no alarm on masks that stacks make") {
  const std::string script = std::string(MASKCTL_SOURCE_DIR) + "/tests/app/check_faults.py";
  const Outcome outcome = Sandbox().run("/usr/bin/python3 '" + script + "' --rounds 3");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

}  // namespace
}  // namespace maskctl::test
