// Tests commands on several SOURCEs, and on containers of several masks.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("stats prints each SOURCE under its name, and goes on after a bad one") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("maskctl stats gen:causal:n=4 nope.npy samples/heads.npy");
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "maskctl: error: cannot read nope.npy: No such file or directory\n");
  CHECK(outcome.out.starts_with("gen:causal:n=4:\nshape       [B 1, H 1, Q 4, K 4]\n"));
  CHECK(contains(outcome.out, "\n\nsamples/heads.npy:\nshape       [B 1, H 4, Q 16, K 16]"));
}

TEST_CASE("JSON of several SOURCEs is one list, with an error for each that cannot be read") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "maskctl stats gen:causal:n=4 nope.npy --json | "
      "/usr/bin/python3 -c 'import json,sys; d=json.load(sys.stdin); "
      "print(d[\"schema\"], [r.get(\"schema\", r.get(\"error\")) for r in "
      "d[\"reports\"]])'");
  CHECK(outcome.out ==
        "maskctl.list/1 ['maskctl.stats/1', 'cannot read nope.npy: No such file or directory']\n");
}

TEST_CASE("a container is read as all of its masks; other arrays are skipped with a note") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run("maskctl recognise samples/batch.npz");
  CHECK(outcome.status == 1);  // one of the masks has a leak
  CHECK(contains(outcome.out, "samples/batch.npz:attention_mask:\n"));
  CHECK(contains(outcome.out, "samples/batch.npz:heads:\n"));
  CHECK(contains(outcome.err, "maskctl: note: samples/batch.npz:cu_seqlens: "));
  CHECK(contains(outcome.err, "; left out\n"));
}

TEST_CASE("a damaged array of a container gives an error, and the other arrays are answered") {
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

TEST_CASE("a container without a mask is an error, and a container with one mask is read as it") {
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

TEST_CASE("check writes one JUnit document with a suite for each SOURCE") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run("maskctl check samples/heads.npy samples/leaked.npy --format junit");
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "<testsuites tests=\"3\" failures=\"1\" errors=\"0\">"));
  CHECK(contains(outcome.out, "<testsuite name=\"samples/leaked.npy\""));
  const Outcome sarif =
      sandbox.run("maskctl check samples/heads.npy samples/leaked.npy --format sarif --exit-zero");
  CHECK(sarif.status == 0);
  CHECK(contains(sarif.out, "samples/leaked.npy"));
}

TEST_CASE("check of a folder names each file, and goes on after files that cannot be read") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("mkdir -p folder/below && maskctl gen causal:n=8 -o folder/a.npy && maskctl "
                   "apply folder/a.npy -t open:q=2,k=5 -o folder/below/c.npy && printf text "
                   ">folder/b.npy && printf text >folder/notes.txt")
              .status == 0);
  const Outcome text = sandbox.run("maskctl check folder");
  CHECK(text.status == 2);
  CHECK(text.out.starts_with("folder/a.npy:\nno findings\n"));
  CHECK(contains(text.out, "\nfolder/below/c.npy:\nwarning: future-part: "));
  CHECK(contains(text.err, "error: folder/b.npy: it looks like text"));
  CHECK(contains(text.err, "note: folder: 1 file of other suffixes left out"));
  const Outcome json = sandbox.run("maskctl -q check folder --json");
  CHECK(json.status == 2);
  CHECK(contains(json.out, "\"schema\": \"maskctl.list/1\""));
  CHECK(contains(json.out, "\"source\": \"folder/b.npy\",\n      \"error\": "));
  const Outcome junit = sandbox.run("maskctl -q check folder --format junit");
  CHECK(contains(junit.out, "<testsuites tests=\"3\" failures=\"1\" errors=\"1\">"));
  const Outcome sarif = sandbox.run("maskctl -q check folder --format sarif");
  CHECK(contains(sarif.out, "\"executionSuccessful\": false"));
  CHECK(contains(sarif.out, "folder/b.npy: it looks like text"));
  CHECK(sandbox.run("rm folder/b.npy; maskctl -q check folder").status == 1);
  CHECK(sandbox.run("maskctl -q check folder/a.npy folder/below").status == 1);
  CHECK(
      sandbox.run("rm -r folder/below; maskctl -q check folder").out.starts_with("folder/a.npy:"));
}

TEST_CASE("a pattern of files is read as the matching files, in the order of their names") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("mkdir m && for n in 3 10 2; do maskctl gen causal:n=$n -o m/$n.npy; done && "
                   "printf text >m/bad.npy && maskctl gen full:n=2 -o 'm/[x].npy'")
              .status == 0);
  const Outcome shell = sandbox.run("maskctl -q stats m/10.npy m/2.npy m/3.npy");
  const Outcome quoted = sandbox.run("maskctl -q stats 'm/[0-9]*.npy'");
  CHECK(quoted.status == 0);
  CHECK(quoted.out == shell.out);
  const Outcome bad = sandbox.run("maskctl recognise 'm/?*.npy'");
  CHECK(bad.status == 2);
  CHECK(bad.err.starts_with("maskctl: error: m/bad.npy: it looks like text; "));
  CHECK(contains(bad.out, "m/3.npy:\n"));
  CHECK(sandbox.run("maskctl show 'm/[x].npy' --ascii").out.starts_with("m/[x].npy\n"));
  CHECK(sandbox.run("maskctl check 'm/2*.npy'").out.starts_with("m/2.npy:\n"));  // one of a pattern
  CHECK(contains(sandbox.run("maskctl check 'm/2*.npy' --json").out, "maskctl.list/1"));
  CHECK_FALSE(contains(sandbox.run("maskctl check m/2.npy --json").out, "maskctl.list/1"));
  for (const char* command :
       {"info", "stats", "check", "show", "recognise", "combine --op or -o x.npy"}) {
    const Outcome none = sandbox.run(std::string("maskctl ") + command + " 'm/*.npz'");
    CAPTURE(command);
    CHECK(none.status == 2);
    CHECK(none.err == "maskctl: error: m/*.npz: no file matches\n");
  }
  CHECK(sandbox.run("maskctl golden init g.toml 'm/[23]*.npy'").out == "g.toml: 2 entries\n");
  const Outcome info = sandbox.run("maskctl info m");
  CHECK(info.status == 2);
  CHECK(contains(info.out, "m/10.npy\n  shape"));
  CHECK(contains(info.err, "error: m/bad.npy: "));
  const std::string joined = "maskctl combine --op and 'm/[23].npy' m/2.npy -o and.npy";
  CHECK(contains(sandbox.run(joined).err, "m/3.npy: "));  // named: its shape is another
  CHECK(
      sandbox
          .run("maskctl combine --op or 'm/2.npy' 'm/[[]x].npy' -o or.npy && maskctl stats or.npy")
          .status == 0);
}

TEST_CASE("a pattern of arrays is read as the matching arrays of a container") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("maskctl gen causal:n=4 -o m.npz:a/0 && maskctl gen full:n=4 -o m.npz:a/1 && "
                   "maskctl gen causal:n=6 -o m.npz:b && maskctl gen segments:lens=2+2 -o "
                   "qkv.npz:q && maskctl gen segments:lens=2+2 -o qkv.npz:kv")
              .status == 0);
  CHECK(sandbox.run("maskctl -q stats 'm.npz:*'").out == sandbox.run("maskctl -q stats m.npz").out);
  CHECK(sandbox.run("maskctl -q stats 'm.npz:a/*'").out ==
        sandbox.run("maskctl -q stats m.npz:a/0 m.npz:a/1").out);
  CHECK(sandbox.run("maskctl -q stats '*.npz:b'").status == 2);  // qkv.npz has no b
  const Outcome none = sandbox.run("maskctl check 'm.npz:c*'");
  CHECK(none.status == 2);
  CHECK(none.err == "maskctl: error: m.npz: no array matches 'c*'; the file holds a/0, a/1, b\n");
  const Outcome sides = sandbox.run("maskctl -q stats 'qkv.npz:*' --as segments");
  CHECK(contains(sides.out, "qkv.npz:kv:\n"));  // each on its own
  CHECK(contains(sides.out, "qkv.npz:q:\n"));
}

TEST_CASE("a pattern of HDF5 datasets is read as the matching datasets of a group", "[hdf5]") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("maskctl gen causal:n=4 -o m.h5:/l/0 && maskctl gen full:n=4 -o m.h5:/l/1 && "
                   "maskctl gen causal:n=6 -o m.h5:/x")
              .status == 0);
  const Outcome group = sandbox.run("maskctl -q stats 'm.h5:/l/*'");
  CHECK(group.status == 0);
  CHECK(contains(group.out, "m.h5:/l/0:\n"));
  CHECK(contains(group.out, "m.h5:/l/1:\n"));
  CHECK_FALSE(contains(group.out, "m.h5:/x"));
}

TEST_CASE("answers of one line are printed without empty lines between them") {
  const Sandbox sandbox;
  const Outcome all =
      sandbox.run("maskctl -q check gen:causal:n=4 gen:full:n=4 gen:causal:n=5 -e causal");
  CHECK(all.status == 1);
  CHECK(all.out.starts_with("gen:causal:n=4: ok    causal\ngen:full:n=4: FAIL  causal: "));
  CHECK(all.out.ends_with("\ngen:causal:n=5: ok    causal\n"));
  CHECK_FALSE(contains(all.out, "\n\n"));
  const Outcome mixed =
      sandbox.run("maskctl -q check gen:causal:n=4 gen:causal:n=5 -e causal -e symmetric");
  CHECK(contains(mixed.out, "\n\ngen:causal:n=5:\nok    causal\n"));
}

TEST_CASE("check compares ids and lengths of one batch with each other, without a mask") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("maskctl gen segments:lens=3+2,pad=1 -o ids.npy && maskctl gen "
                   "segments:lens=2+4 -o other.npy && maskctl seq cu-seqlens ids.npy --as segments "
                   "-o cu.npy && maskctl seq cu-seqlens other.npy --as segments -o other_cu.npy")
              .status == 0);
  const Outcome agree = sandbox.run("maskctl check --segments ids.npy --cu-seqlens cu.npy");
  CHECK(agree.status == 0);
  CHECK(agree.out == "no findings\nnot looked at: the mask (SOURCE)\n");
  const Outcome differ = sandbox.run("maskctl check --cu-seqlens other_cu.npy --segments ids.npy");
  CHECK(differ.status == 1);
  CHECK(contains(differ.out,
                 "error: descriptions-differ: other_cu.npy says that token 5 is real, "
                 "ids.npy that it is padding\n      at batch 0, entry 5\n"));
  check_refused(sandbox, "maskctl check --segments ids.npy --cu-seqlens cu.npy -t causal",
                "check: no SOURCE");
  check_refused(sandbox,
                "maskctl check gen:causal:n=6 -e causal --segments ids.npy --cu-seqlens cu.npy",
                "check: --expect takes one of");
  const Outcome one = sandbox.run("maskctl check --segments ids.npy");
  CHECK(one.status == 2);
  CHECK(contains(one.err,
                 "check: no SOURCE; name a file, - for standard input, or gen:STEP; or two "
                 "of --segments"));
}

TEST_CASE("explain prints a finding, and suggests the closest id for a misspelled one") {
  const Sandbox sandbox;
  const Outcome page = sandbox.run("maskctl explain document-leak");
  CHECK(page.out.starts_with("error: document-leak: queries see keys of other documents\n"));
  CHECK(contains(page.out, "\nexample   python3 -c "));
  CHECK(contains(page.out, "\n          maskctl check gen:causal:n=6 --segments ids.npy\n"));
  CHECK(contains(sandbox.run("maskctl explain document-leek").err,
                 "explain: unknown finding 'document-leek'; did you mean 'document-leak'?"));
  CHECK(contains(sandbox.run("maskctl explain").out, "  polarity "));
  CHECK(contains(sandbox.run("maskctl __complete explain near").out, "nearly\t"));
}

TEST_CASE("a wrong step is reported once, not for each SOURCE") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run("maskctl stats gen:causal:n=4 gen:causal:n=5 -t sliding_window:keys=2");
  CHECK(outcome.status == 2);
  CHECK(outcome.out.empty());
  CHECK(contains(outcome.err, "unknown step 'sliding_window'; did you mean 'window'?"));
}

TEST_CASE("flags may precede the command, and words of other tools give a suggestion") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl --json stats gen:causal:n=4").out.starts_with("{"));
  CHECK(contains(sandbox.run("maskctl draw x").err, "did you mean 'show'?"));
  CHECK(contains(sandbox.run("maskctl translate -t causal --to torch").err, "'sdpa'?"));
  const Outcome head = sandbox.run("maskctl diff a b --head 0");
  CHECK_FALSE(contains(head.err, "did you mean"));
}

TEST_CASE("why names the step of a generated mask") {
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

TEST_CASE("both SOURCEs of diff, combine and an overlay have options for reading them") {
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

TEST_CASE("a named pipe is opened once and read to its end") {
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
