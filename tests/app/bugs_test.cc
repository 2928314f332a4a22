// Tests samples/bugs: the commands of its page are golden cases, and its arrays have the faults of
// the page.
#include <algorithm>
#include <regex>
#include <set>
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Returns the commands in the table of the page.
std::set<std::string> commands_of(const std::string& page) {
  static const std::regex pattern("\\n\\|[^\\n`]*`(maskctl [^`]+)`");
  std::set<std::string> out;
  for (std::sregex_iterator it(page.begin(), page.end(), pattern), end; it != end; ++it) {
    out.insert((*it)[1].str() + "\n");
  }
  return out;
}

TEST_CASE(
    "each command of samples/bugs/README.md is a golden case, and each case is on that page") {
  const fs::path root = MASKCTL_SOURCE_DIR;
  const auto on_page = commands_of(slurp(root / "samples/bugs/README.md"));
  CHECK(on_page.size() >= 11);
  std::set<std::string> cases;
  for (const auto& entry : fs::directory_iterator(root / "tests/golden")) {
    if (!entry.path().filename().string().starts_with("bugs_")) continue;
    cases.insert(slurp(entry.path() / "cmd"));
  }
  CHECK(on_page == cases);
}

TEST_CASE("ejkernel's methods give the faulty arrays of samples/bugs", "[ejkernel]") {
  const Sandbox sandbox;
  CHECK(
      sandbox
          .run("maskctl apply gen:full:n=12 --semantics ejkernel -t chunk:size=4,offset=2 -o c.npy "
               "&& maskctl diff c.npy samples/bugs/chunk_offset.npy")
          .status == 0);
  CHECK(sandbox
            .run("maskctl apply gen:full:n=16 --semantics ejkernel -t 'causal | "
                 "window:both=4,mode=prefill' -o p.npy "
                 "&& maskctl diff p.npy samples/bugs/prefill.npy --as dense")
            .status == 0);
}

}  // namespace
}  // namespace maskctl::test
