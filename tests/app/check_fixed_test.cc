// check --write-fixed as a process: what it writes passes the same check, and what it refuses.
#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

TEST_CASE("the mask that check --write-fixed writes passes the same check") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("python() { /usr/bin/python3 -c \"import numpy as np; $1\"; }; "
                   "maskctl gen causal:n=24 -o c.npy && maskctl apply c.npy -t not -o not.npy && "
                   "maskctl apply c.npy -t open:q=5 -o row.npy && "
                   "maskctl convert row.npy --to bias --fill min --dtype float16 -o bias.npy && "
                   "maskctl convert not.npy --to runs -o runs.npz && "
                   "maskctl gen segments:lens=9+15 -o ids.npy && "
                   "python 'np.save(\"u8.npy\", 1 - np.load(\"not.npy\").astype(\"u1\"))' && "
                   "python 'np.save(\"cu.npy\", np.array([0, 3, 8]))' && "
                   "python 'np.save(\"axes.npy\", np.tri(6, dtype=bool)[None, :, None])'")
              .status == 0);
  const struct {
    std::string source, options, id;
  } kCases[] = {
      {"c.npy", "--segments ids.npy", "document-leak"}, {"not.npy", "", "polarity"},
      {"u8.npy", "--keep-value 0", "polarity"},         {"row.npy", "", "rows-opened"},
      {"bias.npy", "--as bias", "rows-opened"},         {"runs.npz", "", "polarity"},
      {"cu.npy", "--as cu_seqlens", "cu-dtype"},        {"axes.npy", "", "axes-exchanged"},
  };
  for (const auto& one : kCases) {
    CAPTURE(one.source, one.options);
    const std::string file = one.source.ends_with("npz") ? "fixed.npz" : "fixed.npy";
    const std::string check = "maskctl -q check ", options = " " + one.options;
    CHECK(sandbox.run("cp " + one.source + " before").status == 0);
    const Outcome seen = sandbox.run(check + one.source + options);
    CHECK(contains(seen.out, ": " + one.id + ": "));
    const Outcome fixed =
        sandbox.run(check + one.source + options + " --write-fixed " + file + " -f");
    CHECK(fixed.status == 0);
    CHECK(contains(fixed.out, "\nchanged: "));
    CHECK(contains(fixed.out, ", for " + one.id + "\n"));
    const std::string last = " is written; checked again, it has no error and no warning\n";
    CHECK(contains(fixed.out, "\n" + file + last));
    CHECK(sandbox.run("cmp before " + one.source).status == 0);
    const Outcome again = sandbox.run(check + file + options);
    CHECK(again.status == 0);
    CHECK_FALSE(contains(again.out, one.id));
    const std::string type = "maskctl info " + options + " ";
    const auto array = [&](const std::string& source) {
      const std::string text = sandbox.run(type + source).out;
      const std::size_t at = text.find("  array "),
                        end = text.find(' ', text.find("  ", at + 8) + 5);
      return at == text.npos ? "" : text.substr(at, end - at);
    };
    if (one.id != "cu-dtype") CHECK(array(one.source) == array(file));
  }
  CHECK(sandbox.run("maskctl diff fixed.npy gen:causal:n=6").status == 0);  // axes.npy
  CHECK(
      contains(sandbox.run("maskctl -q check c.npy --segments ids.npy --write-fixed fixed.npy").err,
               "fixed.npy exists"));
}

TEST_CASE(
    "check --write-fixed lists faults that it cannot fix, and writes no file if it fixes none") {
  const Sandbox sandbox;
  REQUIRE(
      sandbox.run("maskctl gen empty:n=6 -o empty.npy && maskctl gen causal:n=6 -o c.npy").status ==
      0);
  const Outcome empty = sandbox.run("maskctl check empty.npy --write-fixed f.npy");
  CHECK(empty.status == 1);
  CHECK(
      empty.out.ends_with("left: mask-empty: what it should see is not known\n"
                          "f.npy is not written: no fix can be applied\n"));
  const Outcome sound = sandbox.run("maskctl check c.npy --write-fixed f.npy");
  CHECK(sound.status == 0);
  CHECK(sound.out.ends_with("f.npy is not written: there is nothing to fix\n"));
  CHECK(sandbox.run("test -e f.npy").status == 1);
  const Outcome json = sandbox.run("maskctl check empty.npy --write-fixed f.npy --json");
  CHECK(json.status == 1);
  CHECK(contains(json.out, "\"file\": null"));
  CHECK(contains(json.out, "\"why\": \"what it should see is not known\""));
}

TEST_CASE("check --write-fixed says which findings are gone, and what its check did not look at") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("maskctl gen segments:lens=9+15 -o ids.npy && maskctl gen causal:n=24 -t "
                   "doc:lens=9+15 -o sound.npy && maskctl apply sound.npy -t not -o not.npy")
              .status == 0);
  const std::string line = "maskctl -q check not.npy --segments ids.npy --write-fixed f.npy";
  const Outcome fixed = sandbox.run(line);
  CHECK(fixed.status == 0);
  CHECK(
      fixed.out.ends_with("changed: 411 cells closed, 165 cells opened, for polarity\n"
                          "gone: document-leak, without a fix of its own\n"
                          "f.npy is written; checked again, it has no error and no warning\n"
                          "not looked at: bias (--bias), intent (--expect)\n"));
  CHECK(sandbox.run("maskctl diff f.npy sound.npy").status == 0);
  const Outcome json = sandbox.run(line + " -f --json");
  CHECK(json.out.find("\"document-leak\"", json.out.find("\"gone\"")) != std::string::npos);
}

TEST_CASE("check --write-fixed accepts only a single mask that is read from a file") {
  const Sandbox sandbox;
  REQUIRE(
      sandbox
          .run("mkdir d; maskctl gen full:n=6 -o d/a.npy; maskctl gen full:n=6 -o b.npy; maskctl "
               "gen full:n=6 -o two.npz:a; maskctl gen causal:n=6 -o two.npz:b")
          .status == 0);
  const struct {
    const char *line, *why;
  } kRefused[] = {
      {"d/a.npy b.npy --write-fixed f.npy", "takes one SOURCE"},
      {"d --write-fixed f.npy", "takes one SOURCE"},
      {"'*.npy' --write-fixed f.npy", "takes one SOURCE"},
      {"two.npz --write-fixed f.npy", "2 arrays"},
      {"b.npy -t causal --write-fixed f.npy", "cannot be combined with -t"},
      {"b.npy -e causal --write-fixed f.npy", "cannot be combined with --expect"},
      {"b.npy --format sarif --write-fixed f.npy", "text and json"},
      {"b.npy --write-fixed -", "names a file"},
      {"b.npy -f", "--force goes with --write-fixed"},
  };
  for (const auto& [line, why] : kRefused) {
    CAPTURE(line);
    const Outcome refused = sandbox.run(std::string("maskctl check ") + line);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, why));
    CHECK(refused.out.empty());
  }
  CHECK(sandbox.run("test -e f.npy").status == 1);
}

}  // namespace
}  // namespace maskctl::test
