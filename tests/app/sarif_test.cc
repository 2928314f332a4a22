// Tests that the places in SARIF reports of `check` are those of the cells in the file.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Shell lines that write read.py, which prints a line for each result: rule, file or text, line
/// number, the bytes of the named region in hexadecimal, name of the place, related places.
const std::string kReadSarif = R"(cat >read.py <<'END'
import json, sys
run = json.load(sys.stdin)["runs"][0]
for result in run["results"]:
    place = result["locations"][0]
    where, region = place["physicalLocation"]["artifactLocation"], place["physicalLocation"]["region"]
    if "uri" in where:
        text = where["uri"]
    else:
        lines = run["artifacts"][where["index"]]["contents"]["text"].splitlines()
        text = lines[region["startLine"] - 1]
    at = region.get("byteOffset")
    data = open(where["uri"], "rb").read()[at:at + region["byteLength"]].hex() if at else "-"
    related = [run["artifacts"][one["physicalLocation"]["artifactLocation"]["index"]]["contents"]
               ["text"].splitlines()[one["physicalLocation"]["region"]["startLine"] - 1]
               for one in result.get("relatedLocations", [])]
    print(result["ruleId"], text, region["startLine"], data, place["logicalLocations"][0]
          ["fullyQualifiedName"], *related, sep=" | ")
END
)";

TEST_CASE("SARIF gives the bytes of a cell in the file for any order and type of array") {
  const Sandbox sandbox;
  const Outcome made = sandbox.run(kReadSarif + R"(cat >make.py <<'END'
import numpy as np
m = np.tri(40, dtype=np.int32).repeat(6).reshape(40, 40, 6).transpose(2, 0, 1).reshape(2, 3, 40, 40).copy()
m[1, 2, 17, 30] = 1
np.save("c.npy", m)
np.save("f.npy", np.asfortranarray(m))
np.save("b.npy", m[1, 2].astype(bool))
np.save("h.npy", np.where(m[:, 2:], 0, -np.inf).astype(np.float16))
np.savez("z.npz", m=m)
END
python3 make.py)");
  REQUIRE(made.status == 0);
  const auto placed = [&](const std::string& source) {
    return sandbox.run("maskctl check " + source + " -e causal --format sarif | python3 read.py")
        .out;
  };
  const std::string cell = "batch 1, head 2, query 17, key 30\n";
  CHECK(placed("c.npy") == "expectation | c.npy | 1 | 01000000 | c.npy, " + cell);
  CHECK(placed("f.npy") == "expectation | f.npy | 1 | 01000000 | f.npy, " + cell);
  CHECK(placed("b.npy") ==
        "expectation | b.npy | 1 | 01 | b.npy, batch 0, head 0, query 17, key 30\n");
  CHECK(placed("h.npy") ==
        "expectation | h.npy | 1 | 0000 | h.npy, batch 1, head 0, query 17, key 30\n");
  CHECK(placed("z.npz:m") == "expectation | z.npz | 1 | - | z.npz:m, " + cell);
  // Steps may move cells, so the report names no region of bytes in the file.
  CHECK(placed("b.npy -t causal:offset=50") ==
        "expectation | b.npy | 1 | - | b.npy, batch 0, head 0, query 17, key 30\n");
  // The byte offset is that of the one open cell above the diagonal.
  const Outcome offset = sandbox.run(
      "maskctl check b.npy -e causal --format sarif | grep -o '\"byteOffset\": [0-9]*'");
  const Outcome wanted = sandbox.run(
      "python3 -c \"print('\\\"byteOffset\\\":', len(open('b.npy', 'rb').read()) - 1600 + 17 * 40 "
      "+ "
      "30)\"");
  CHECK(offset.out == wanted.out);
}

TEST_CASE("SARIF contains the pipeline of a generated mask, and the line of the step") {
  const Sandbox sandbox;
  sandbox.run(kReadSarif);
  const Outcome made = sandbox.run(
      "maskctl check gen:causal:n=64 -t 'open:q=3,k=9' --format sarif | python3 read.py");
  CHECK(contains(made.out, " | gen:causal:n=64 | 1 | - | gen:causal:n=64, "));
  const Outcome step = sandbox.run(
      "maskctl check samples/heads.npy -t 'causal | prefix:n=3' -t prefix:n=4 --format sarif | "
      "python3 read.py");
  CHECK(contains(step.out, "samples/heads.npy | 1 | - | samples/heads.npy, step "));
}

}  // namespace
}  // namespace maskctl::test
