// What `info` says of every array of tests/cases, made anew: tests/cases/info.txt holds it for a
// person to read. MASKCTL_UPDATE_GOLDEN=1 rewrites it.
#include <cstdlib>
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const fs::path kCases = fs::path(MASKCTL_SOURCE_DIR) / "tests" / "cases";

/// The folders of the makers, in the working folder.
std::string make_cases() {
  std::string lines;
  for (const char* maker : {"real_masks", "mask_pairs", "user_arrays"}) {
    lines += "/usr/bin/python3 -W ignore '" + (kCases / maker).string() + ".py' " + maker + "\n";
  }
  return lines;
}

TEST_CASE("cases: info tells what every array is") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run(make_cases() +
                  "export LC_ALL=C\n"
                  "maskctl info real_masks/*.npy mask_pairs/*.npy user_arrays/*.np[yz] "
                  "user_arrays/batch.h5 2>&1");
  CHECK(outcome.status == 0);
  CHECK_FALSE(contains(outcome.out, "error"));
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) spit(kCases / "info.txt", outcome.out);
  CHECK(outcome.out == slurp(kCases / "info.txt"));
}

}  // namespace
}  // namespace maskctl::test
