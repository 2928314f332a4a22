// Tests the commands on files of masks: broken ones, those that are too long, and gen --to mask.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("info of a broken file of a mask is an error, with arrays in it or without") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("maskctl convert gen:causal:n=8 --to mask -o plain.safetensors && maskctl "
                   "convert samples/packed.npy --as segments --to mask -o ids.safetensors")
              .status == 0);
  const std::string broken = R"(
    /usr/bin/python3 - << 'END'
import json
for name in "plain", "ids":
    raw = open(name + ".safetensors", "rb").read()
    end = 8 + int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:end])
    said = header["__metadata__"]
    changes = {"digest": "00" * 32, "pipeline": "casual", "shape": "[1, 1, 8]", "format": "maskctl.mask/2"}
    for key, text in changes.items():
        header["__metadata__"] = {**said, key: text}
        text = json.dumps(header).encode()
        open(f"{name}-{key}.safetensors", "wb").write(len(text).to_bytes(8, "little") + text + raw[end:])
END
)";
  REQUIRE(sandbox.run(broken).status == 0);
  for (const std::string name : {"plain", "ids"}) {
    CHECK(sandbox.run("maskctl info " + name + ".safetensors").status == 0);
    const auto refused = [&](const std::string& key, const std::string& line) {
      const Outcome outcome = sandbox.run("maskctl info " + name + "-" + key + ".safetensors");
      INFO(name << ' ' << key << ": " << outcome.out << outcome.err);
      CHECK(outcome.status == 2);
      CHECK(contains(outcome.err, line));
    };
    refused("digest", "the file says 000000");
    refused("pipeline", "unknown step 'casual'; did you mean 'causal'?");
    refused("shape", "'shape' is '[1, 1, 8]'; expected [batch, heads, queries, keys]");
    refused("format", "its format is maskctl.mask/2; this version reads maskctl.mask/1");
  }
  // An array of such a file is one of its own.
  CHECK(sandbox.run("maskctl info ids-digest.safetensors:ids1").status == 0);
}

TEST_CASE("a file of a mask of more queries than its digest can go over is refused at once") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run("maskctl convert gen:causal:n=8 --to mask -o m.safetensors").status == 0);
  REQUIRE(sandbox
              .run(R"(
    /usr/bin/python3 - << 'END'
import json
raw = open("m.safetensors", "rb").read()
header = json.loads(raw[8:8 + int.from_bytes(raw[:8], "little")])
header["__metadata__"]["shape"] = "[1, 1, 2000000000, 2000000000]"
text = json.dumps(header).encode()
open("long.safetensors", "wb").write(len(text).to_bytes(8, "little") + text)
END
)")
              .status == 0);
  const std::string line =
      "2,000,000,000 queries of 1 different plane: the digest in a file of a mask goes over at "
      "most 67,108,864 of them; slice the mask";
  for (const std::string words :
       {"info long.safetensors", "show long.safetensors", "stats long.safetensors",
        "convert gen:causal:n=2000000000 --to mask -o other.safetensors"}) {
    const Outcome outcome = sandbox.run("timeout 20 maskctl " + words);
    INFO(words << ": " << outcome.out << outcome.err);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, line));
  }
  CHECK_FALSE(fs::exists(sandbox.work() / "other.safetensors"));
}

TEST_CASE("gen --to mask writes the steps, with what they read") {
  const Sandbox sandbox;
  const auto pipeline_of = [&sandbox](const std::string& words) {
    const Outcome made = sandbox.run("maskctl gen " + words + " --to mask -o m.safetensors -f");
    INFO(made.err);
    REQUIRE(made.status == 0);
    return sandbox.run("maskctl info m.safetensors | grep pipeline").out;
  };
  CHECK(contains(pipeline_of("causal:n=8"), "causal\n"));
  CHECK(contains(pipeline_of("causal:n=8 -t doc:lens=3+5"), "causal | doc:lens=3+5\n"));
  CHECK(contains(pipeline_of("segments:n=16,docs=3,seed=1 -t causal"), "doc:ids1 | causal\n"));
  CHECK(contains(pipeline_of("--hf-config samples/hf_config.json --layer 5 n=64 -t causal"),
                 "window:keys=512,align=bottom-right | causal\n"));
  const Outcome dtype =
      sandbox.run("maskctl gen causal:n=4 --to mask --dtype int8 -o n.safetensors");
  CHECK(dtype.status == 2);
  CHECK(contains(dtype.err, "--dtype is for arrays; --to mask has types of its own"));
}

}  // namespace
}  // namespace maskctl::test
