// Tests golden manifests: entries of kernels, expectations, how sources are read; `golden init`;
// the workflow of docs/ci.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Shell lines that write run.npz with q, k, v and out of a causal kernel with a window of 8 keys:
/// 2 batches, 32 tokens, 2 heads.
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

TEST_CASE("golden: entries may state expectations, a shape, and numbers that close") {
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
  CHECK(contains(made.out, "ci/golden.toml: 3 entries\nok      samples/heads.npy\n"));
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

TEST_CASE("golden: the first failed check of a new manifest names a cause") {
  const Sandbox sandbox;
  const Outcome red = sandbox.run(
      "mkdir -p masks && maskctl gen window:keys=100,n=5000 -o masks/win.npz --to runs\n"
      "maskctl golden init ci/golden.toml masks/win.npz samples/heads.npy\n"
      "maskctl gen window:keys=101,n=5000 -o masks/win.npz --to runs -f\n"
      "GITHUB_ACTIONS=true maskctl golden check ci/golden.toml");
  CHECK(red.status == 1);
  CHECK(contains(red.out,
                 "differs masks/win.npz: the content differs from its sha256\n"
                 "        0 cells only in the golden mask (A), 4900 only in this one (B)\n"
                 "        first: batch 0, head 0, query 100, key 0: open in B only\n"
                 "        cause: B = A with window left 100 instead of 99\n"));
  CHECK(contains(red.out,
                 "title=golden masks/win.npz::the content differs from its sha256: 0 cells"));
  CHECK(contains(red.out, "ok      samples/heads.npy\n"));
  // An entry can be named as in the manifest, or by its path from the current folder.
  CHECK(sandbox.run("cd ci && maskctl golden update golden.toml ../masks/win.npz").out ==
        "updated   masks/win.npz\n");
  CHECK(sandbox.run("maskctl golden check ci/golden.toml masks/win.npz").status == 0);
}

TEST_CASE("golden: init writes down how its SOURCEs are read") {
  const Sandbox sandbox;
  const Outcome made = sandbox.run(
      "cp samples/packed.npy ids.npy\n"
      "maskctl golden init ci/m.toml samples/packed.npy --as segments --pad-id 2 -t causal "
      "-t 'doc:ids.npy | heads:0{doc:ids.npy}'\n"
      "maskctl golden init ci/b.toml samples/alibi.npy --closed-below -1e4 && cat ci/*.toml\n"
      "maskctl golden check ci/m.toml && maskctl golden check ci/b.toml");
  CHECK(made.status == 0);
  CHECK(contains(made.out,
                 "source = \"../samples/packed.npy\"\nas = \"segments\"\npad_id = 2\n"
                 "transforms = [\"causal\", \"doc:../ids.npy | heads:0{doc:../ids.npy}\"]\n"));
  CHECK(contains(made.out, "closed_below = -10000\n"));
  const Outcome stdin_refused =
      sandbox.run("cat samples/heads.npy | maskctl golden init ci/s.toml -");
  CHECK(stdin_refused.status == 2);
  CHECK(contains(stdin_refused.err, "cannot read standard input again"));
  CHECK_FALSE(fs::exists(sandbox.work() / "ci/s.toml"));
  const Outcome elsewhere = sandbox.run("maskctl golden check ci/m.toml --pad-id 0");
  CHECK(elsewhere.status == 2);
  CHECK(contains(elsewhere.err, "the manifest says how a mask is read: its keys transforms, as,"));
}

TEST_CASE("golden: if one entry cannot be updated, update changes no entry") {
  const Sandbox sandbox;
  const std::string text =
      "[[golden]]\nname = \"first\"\nsource = \"gen:causal:n=8\"\n"
      "expect = { array = \"first.npz\", sha256 = \"\", holds = [\"causal\"] }\n"
      "[[golden]]\nname = \"second\"\nsource = \"gen:full:n=8\"\nexpect.holds = [\"causal\"]\n";
  spit(sandbox.work() / "m.toml", text);
  const Outcome refused = sandbox.run("maskctl golden update m.toml");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "'second': 1 of 1 expectations do not hold"));
  CHECK(slurp(sandbox.work() / "m.toml") == text);
  CHECK_FALSE(fs::exists(sandbox.work() / "first.npz"));
  const Outcome done = sandbox.run(
      "maskctl golden update m.toml first && maskctl golden check m.toml first && "
      "maskctl golden list m.toml first --json");
  CHECK(done.status == 0);
  CHECK(contains(done.out, "updated   first\nok      first\n"));
  CHECK(contains(done.out, "\"expect\": \"sha256+array+holds\""));
  CHECK(fs::exists(sandbox.work() / "first.npz"));
}

TEST_CASE("golden: the array that a failed check writes is removed by the next passed one") {
  const Sandbox sandbox;
  spit(sandbox.work() / "m.toml",
       "[[golden]]\nname = \"win\"\nsource = \"win.npy\"\nexpect.array = \"golden/win.npz\"\n");
  const std::string make = "maskctl gen window:n=9,keys=";
  CHECK(sandbox.run(make + "4 -o win.npy && CI= maskctl golden update m.toml").status == 0);
  CHECK(sandbox.run(make + "5 -o win.npy -f && CI= maskctl golden check m.toml").status == 1);
  CHECK(fs::exists(sandbox.work() / "golden/win.new.npz"));
  CHECK(sandbox.run(make + "4 -o win.npy -f && CI= maskctl golden check m.toml").status == 0);
  CHECK_FALSE(fs::exists(sandbox.work() / "golden/win.new.npz"));
}

TEST_CASE("golden: errors name keys of the manifest, and a kernel may set its layout") {
  const Sandbox sandbox;
  const auto turned = [&](const std::string& layout) {
    std::string out = entry("turned", "8");
    out.replace(out.find("kernel = {"), 10, "kernel = {" + layout);
    return out;
  };
  spit(sandbox.work() / "m.toml", turned(""));
  const std::string turn =
      "python3 -c \"import numpy as np; a = np.load('run.npz'); np.savez('run.npz', **{n: "
      "a[n].transpose(0, 2, 1, 3) for n in a})\"\n";
  const Outcome asked = sandbox.run(kMakeRun + turn + "maskctl golden check m.toml");
  CHECK(asked.status == 2);
  CHECK(contains(asked.out, "give the kernel layout = \"bhtd\""));
  spit(sandbox.work() / "m.toml", turned(" layout = \"bhtd\","));
  CHECK(sandbox.run("maskctl golden check m.toml").status == 0);
  spit(sandbox.work() / "m.toml", turned(" layout = \"bhdt\","));
  CHECK(contains(sandbox.run("maskctl golden check m.toml").out, "key 'layout'"));
  spit(sandbox.work() / "p.toml",
       "[[golden]]\nname = \"p\"\nsource = \"samples/padded.npy\"\nexpect.sha256 = \"\"\n");
  CHECK(contains(sandbox.run("maskctl golden check p.toml").out, "give as = \"dense\""));
}

TEST_CASE("golden: the workflow of the documentation checks a manifest") {
  const Sandbox sandbox;
  // Extracts the steps of the workflow that call maskctl.
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
  CHECK(contains(bad.out, "golden [B 1, H 4, Q 16, K 16]"));
}

}  // namespace
}  // namespace maskctl::test
