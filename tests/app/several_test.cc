// Tests commands on several SOURCEs, and on containers of several masks.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("stats of several SOURCEs: each under its name, and a bad one does not stop the others") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("maskctl stats gen:causal:n=4 nope.npy samples/heads.npy");
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "maskctl: error: cannot read nope.npy: No such file or directory\n");
  CHECK(outcome.out.starts_with("gen:causal:n=4:\nshape       [B 1, H 1, Q 4, K 4]\n"));
  CHECK(contains(outcome.out, "\n\nsamples/heads.npy:\nshape       [B 1, H 4, Q 16, K 16]"));
}

TEST_CASE("several SOURCEs as JSON are one list, with what could not be read") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "maskctl stats gen:causal:n=4 nope.npy --json | "
      "/usr/bin/python3 -c 'import json,sys; d=json.load(sys.stdin); "
      "print(d[\"schema\"], [r.get(\"schema\", r.get(\"error\")) for r in "
      "d[\"reports\"]])'");
  CHECK(outcome.out ==
        "maskctl.list/1 ['maskctl.stats/1', 'cannot read nope.npy: No such file or directory']\n");
}

TEST_CASE("a container stands for its masks; what is none is left out with a note") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("maskctl recognise samples/batch.npz");
  CHECK(outcome.status == 1);  // one of the masks has a leak
  CHECK(contains(outcome.out, "samples/batch.npz:attention_mask:\n"));
  CHECK(contains(outcome.out, "samples/batch.npz:heads:\n"));
  CHECK(contains(outcome.err, "maskctl: note: samples/batch.npz:cu_seqlens: "));
  CHECK(contains(outcome.err, "; left out\n"));
}

TEST_CASE("a damaged array of a container is an error beside the answers about the others") {
  const Sandbox sandbox;
  CHECK(sandbox
            .run("/usr/bin/python3 -c \"import numpy as np, zipfile\n"
                 "np.savez('m.npz', a=np.tri(8, dtype=bool), b=np.tri(8, dtype=bool))\n"
                 "at = zipfile.ZipFile('m.npz').getinfo('b.npy').header_offset + 30 + 25 + 140\n"
                 "data = bytearray(open('m.npz', 'rb').read()); data[at] ^= 1\n"
                 "open('m.npz', 'wb').write(data)\"")
            .status == 0);
  for (const char* command : {"check", "check --format junit", "stats", "recognise --json"}) {
    const Outcome outcome = sandbox.run("maskctl " + std::string(command) + " m.npz");
    INFO(command << "\n" << outcome.out << outcome.err);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.out, "m.npz:a"));
    CHECK(contains(outcome.err, "maskctl: error: m.npz:b: "));
  }
}

TEST_CASE("a container without a mask is an error, and one with a single mask is that mask") {
  const Sandbox sandbox;
  const Outcome none = sandbox.run(
      "/usr/bin/python3 -c 'import numpy as np; np.savez(\"n.npz\", a=np.zeros((5, 4, 3, 2, 1)), "
      "b=np.full((2, 2), 0.5))'; maskctl stats n.npz");
  CHECK(none.status == 2);
  CHECK(contains(none.err, "maskctl: error: n.npz:a: "));
  const Outcome runs =
      sandbox.run("maskctl gen causal:n=8 --to runs -o r.npz && maskctl stats r.npz");
  CHECK(runs.status == 0);
  CHECK(runs.out.starts_with("shape "));
}

TEST_CASE("check of several SOURCEs: one JUnit document with a suite for each") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run("maskctl check samples/heads.npy samples/leaked.npy --format junit");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "<testsuites tests=\"3\" failures=\"2\">"));
  CHECK(contains(outcome.out, "<testsuite name=\"samples/leaked.npy\""));
  const Outcome sarif =
      sandbox.run("maskctl check samples/heads.npy samples/leaked.npy --format sarif --exit-zero");
  CHECK(sarif.status == 0);
  CHECK(contains(sarif.out, "samples/leaked.npy"));
}

TEST_CASE("wrong steps are told once, not for each SOURCE") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run("maskctl stats gen:causal:n=4 gen:causal:n=5 -t sliding_window:keys=2");
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "unknown step 'sliding_window'; did you mean 'window'?"));
}

TEST_CASE("a command may follow its flags, and words of others are understood") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl --json stats gen:causal:n=4").out.starts_with("{"));
  CHECK(contains(sandbox.run("maskctl draw x").err, "did you mean 'show'?"));
  CHECK(contains(sandbox.run("maskctl translate -t causal --to torch").err, "'sdpa'?"));
  const Outcome head = sandbox.run("maskctl diff a b --head 0");
  CHECK_FALSE(contains(head.err, "did you mean"));
}

TEST_CASE("a generated mask is explained by its step") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("maskctl why gen:causal:n=16 3 5");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "closed by step 1: causal\n"));
}

TEST_CASE("show draws several SOURCEs as text, and one as a picture") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("maskctl show samples/heads.npy gen:causal:n=4 --style half");
  CHECK(outcome.status == 0);
  CHECK(outcome.out.starts_with("samples/heads.npy\nhead 0: "));
  CHECK(contains(outcome.out, "\n\ngen:causal:n=4\n"));
  const Outcome picture = sandbox.run("maskctl show samples/heads.npy gen:causal:n=4 -o x.png");
  CHECK(picture.status == 2);
  CHECK(contains(picture.err, "--head all"));
}

TEST_CASE("each side of diff, combine and an overlay is read by options of its own") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "maskctl gen segments:lens=3+5 -o seg.npy && maskctl apply seg.npy --as segments -t causal "
      "-o m.npy && maskctl diff m.npy seg.npy --as-b segments --transform-b causal && "
      "maskctl diff seg.npy m.npy --as segments -t causal --as-b dense --transform-b '' && "
      "maskctl combine --op and gen:causal:n=8 seg.npy --as-b segments -o c.npy && "
      "maskctl diff c.npy m.npy && "
      "maskctl show m.npy --overlay seg.npy --as-b segments --transform-b causal --ascii");
  CHECK(outcome.status == 0);
}

TEST_CASE("a named pipe is opened once: who writes into it is heard to the end") {
  const Sandbox sandbox;
  const std::string command = GENERATE("info", "stats", "show", "check --exit-zero", "recognise");
  const Outcome outcome = sandbox.run(
      "maskctl gen causal:n=300 -o m.npy && mkfifo p && (cat m.npy > p &) && "
      "timeout 20 maskctl " +
      command + " p > out && test -s out");
  CHECK(outcome.status == 0);
}

}  // namespace
}  // namespace maskctl::test
