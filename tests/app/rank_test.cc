// Tests that commands write masks with as many axes as they read.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Returns the shape of the array that a command writes; it can read masks of 2, 3 and 4 axes
/// (two.npy, three.npy, four.npy, heads.npy) and ids.npy.
std::string shape_of(const std::string& command) {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "python3 -c \"import numpy as np; t = np.tri(6, dtype=bool); np.save('two.npy', t); "
      "np.save('three.npy', t[None]); np.save('four.npy', t[None, None]); "
      "np.save('heads.npy', np.stack([t, t])[None]); "
      "np.save('ids.npy', np.array([1, 1, 1, 2, 2, 2]))\"\n"
      "maskctl " +
      command +
      " -o out.npy && python3 -c \"import numpy as np; print(np.load('out.npy').shape)\"");
  INFO(command << ": " << outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out;
}

TEST_CASE("rank: apply writes as many axes as its SOURCE has") {
  CHECK(shape_of("apply two.npy -t window:both=1") == "(6, 6)\n");
  CHECK(shape_of("apply three.npy -t window:both=1") == "(1, 6, 6)\n");
  CHECK(shape_of("apply four.npy -t window:both=1") == "(1, 1, 6, 6)\n");
  CHECK(shape_of("apply ids.npy --as segments -t causal") == "(6, 6)\n");
  CHECK(shape_of("apply two.npy -t and:heads.npy") == "(1, 2, 6, 6)\n");
  CHECK(shape_of("apply gen:causal:n=6") == "(1, 1, 6, 6)\n");
}

TEST_CASE("rank: convert writes as many axes as its SOURCE has") {
  CHECK(shape_of("convert two.npy --to bias") == "(6, 6)\n");
  CHECK(shape_of("convert two.npy --to blockmap --block 2 --lossy") == "(3, 3)\n");
  CHECK(shape_of("convert three.npy --to bias") == "(1, 6, 6)\n");
  CHECK(shape_of("convert heads.npy --to bias") == "(1, 2, 6, 6)\n");
  CHECK(shape_of("convert ids.npy --as segments") == "(6,)\n");
  CHECK(shape_of("convert ids.npy --as segments -t window:both=2 --lossy --to segments") ==
        "(6,)\n");
  CHECK(shape_of("convert ids.npy --as segments --to dense") == "(6, 6)\n");
}

TEST_CASE("rank: combine writes as many axes as the SOURCE with the most") {
  CHECK(shape_of("combine --op and two.npy two.npy") == "(6, 6)\n");
  CHECK(shape_of("combine --op and two.npy three.npy") == "(1, 6, 6)\n");
  CHECK(shape_of("combine --op and two.npy four.npy") == "(1, 1, 6, 6)\n");
  CHECK(shape_of("combine --op and three.npy heads.npy") == "(1, 2, 6, 6)\n");
}

}  // namespace
}  // namespace maskctl::test
