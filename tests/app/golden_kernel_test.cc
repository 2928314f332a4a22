// Golden entries of kernels, expectations and how sources are read; init; the workflow of docs/ci.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// A run of a kernel that keeps 8 keys: q, k, v and out of 2 batches, 32 tokens and 2 heads.
const std::string kMakeRun = R"(cat >run.py <<'END'
import numpy as np
rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal((2, 32, 2, 16)).astype(np.float32) for _ in range(3))
i = np.arange(32)
open_cells = (i[None] <= i[:, None]) & (i[:, None] - i[None] < 8)
s = np.einsum('bqhd,bkhd->bhqk', q, k) / 4
s = np.where(open_cells, s, -np.inf)
p = np.exp(s - s.max(-1, keepdims=True))
out = np.einsum('bhqk,bkhd->bqhd', p / p.sum(-1, keepdims=True), v).astype(np.float32)
np.savez('run.npz', q=q, k=k, v=v, out=out)
END
python3 run.py
)";

std::string entry(const std::string& name, const std::string& keys) {
  return "[[golden]]\nname = \"" + name +
         "\"\nsource = \"gen:causal:n=32\"\ntransforms = [\"window:keys=" + keys +
         "\"]\nkernel = { q = \"run.npz:q\", k = \"run.npz:k\", v = \"run.npz:v\", out = "
         "\"run.npz:out\" }\nexpect = { verdict = \"obeys\" }\n";
}

TEST_CASE("golden: a kernel's run is judged under the mask that it declares") {
  const Sandbox sandbox;
  spit(sandbox.work() / "m.toml", entry("right", "8"));
  const Outcome right = sandbox.run(kMakeRun + "maskctl golden check m.toml");
  CHECK(right.out == "ok      right\n1 passed, 0 differ, 0 errors\n");
  CHECK(right.status == 0);
  spit(sandbox.work() / "m.toml", entry("right", "8") + entry("wrong", "9"));
  const Outcome wrong = sandbox.run("CI=1 GITHUB_ACTIONS=true maskctl golden check m.toml");
  CHECK(wrong.status == 1);
  CHECK(contains(wrong.out, "ok      right\ndiffers wrong: "));
  CHECK(contains(wrong.out, "::error file=m.toml,line=7,title=golden wrong::the kernel "));
  CHECK(sandbox.run("maskctl golden update m.toml wrong").status == 2);
}

TEST_CASE("golden: a kernel's entry that cannot be judged says what is missing") {
  const Sandbox sandbox;
  std::string text = entry("no output", "8");
  text.erase(text.find(", out"), text.find(" }\nexpect") - text.find(", out"));
  spit(sandbox.work() / "m.toml", text);
  const Outcome outcome = sandbox.run(kMakeRun + "maskctl golden check m.toml");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.out, "name its output, out = \"run.npz:out\""));
}

TEST_CASE("golden: expectations, shapes and numbers that close") {
  const Sandbox sandbox;
  spit(sandbox.work() / "m.toml", R"([[golden]]
name = "bert"
source = "bert.npy"
shape = [2, 1, 4, 4]
expect.holds = ["no-empty-rows", "equals:pad:lens=4+3"]

[[golden]]
name = "leaky"
source = "samples/leaked.npy"
expect.holds = ["causal", "subset-of:gen:window:keys=4,n=24"]

[[golden]]
name = "turned"
source = "turned.npy"
keep_value = 0
expect.holds = "causal"

[[golden]]
name = "alibi"
source = "samples/alibi.npy"
closed_below = -1e4
expect.holds = "equals:causal"
)");
  const Outcome outcome = sandbox.run(
      "python3 -c \"import numpy as np; b = np.zeros((2, 1, 1, 4), np.float32); b[1, 0, 0, 3] = "
      "-10000; np.save('bert.npy', b); np.save('turned.npy', ~np.tri(4, dtype=bool))\"\n"
      "GITHUB_ACTIONS=true maskctl golden check m.toml");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "ok      bert\ndiffers leaky: 1 of 2 expectations do not hold\n"));
  CHECK(contains(outcome.out, "ok      turned\nok      alibi\n"));
  CHECK(contains(outcome.out, "title=golden leaky::1 of 2 expectations do not hold: subset-of:"));
}

TEST_CASE("golden: init writes a manifest of masks as they are now") {
  const Sandbox sandbox;
  const Outcome made = sandbox.run(
      "maskctl golden init ci/golden.toml samples/heads.npy gen:causal:n=8 "
      "samples/batch.npz:heads\n"
      "maskctl golden check ci/golden.toml");
  CHECK(made.status == 0);
  CHECK(contains(made.out, "ci/golden.toml: 3 entries\nok      ../samples/heads.npy\n"));
  CHECK(contains(made.out, "3 passed, 0 differ, 0 errors"));
  const Outcome again = sandbox.run("maskctl golden init ci/golden.toml samples/heads.npy");
  CHECK(again.status == 2);
  CHECK(contains(again.err, "ci/golden.toml exists; use --force"));
  CHECK(sandbox
            .run("maskctl golden init seg.toml samples/packed.npy --as segments && "
                 "maskctl golden check seg.toml")
            .status == 0);
  CHECK(sandbox.run("maskctl golden init none.toml samples/padded.npy").status == 2);
  CHECK_FALSE(fs::exists(sandbox.work() / "none.toml"));
  CHECK(contains(sandbox.run("maskctl golden init none.toml").err, "which masks?"));
}

TEST_CASE("golden: the workflow of the documentation checks a manifest") {
  const Sandbox sandbox;
  // Its steps that call maskctl, as the runner calls them.
  const std::string steps =
      "sed -n 's/^          \\(maskctl .*\\)$/\\1/p' " MASKCTL_SOURCE_DIR "/docs/ci/masks.yml";
  CHECK(contains(sandbox.run(steps).out, "maskctl golden check"));
  const Outcome good = sandbox.run(
      "maskctl golden init ci/golden.toml samples/heads.npy\n"
      "export CI=true GITHUB_ACTIONS=true MANIFEST=ci/golden.toml\n" +
      steps + " >step.sh && bash -e step.sh && ls golden.xml");
  CHECK(good.status == 0);
  const Outcome bad = sandbox.run(
      "sed -i 's/heads.npy\"$/cross.npy\"/' ci/golden.toml\n"
      "export CI=true GITHUB_ACTIONS=true MANIFEST=ci/golden.toml\nbash -e step.sh");
  CHECK(bad.status == 1);
  CHECK(contains(bad.out, "::error file=ci/golden.toml,line=3,"));
  CHECK(contains(bad.out, "cells open"));
}

}  // namespace
}  // namespace maskctl::test
