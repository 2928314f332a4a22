// Tests that the pipeline that `recognise` prints makes the mask again.
#include <cstdio>
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

/// Returns the text after a label, up to the end of the line.
std::string field(const std::string& out, const std::string& label) {
  const auto at = out.find(label);
  if (at == std::string::npos) return "";
  const auto begin = out.find_first_not_of(' ', at + label.size());
  return out.substr(begin, out.find('\n', begin) - begin);
}

TEST_CASE("the printed pipeline, applied to an all-open mask, makes the mask again") {
  const std::string cases[] = {
      "gen:window:keys=12,n=90 -t sinks:n=3 -t causal",
      "gen:causal:q=40,k=70,align=bottom-right",
      "gen:doc:lens=20+30+40 -t causal -t pad:lens=80",
      "gen:segments:n=90,docs=5,interleave=token,seed=4 -t causal",
      "gen:full:n=24,b=2,h=3 -t 'heads:0{causal} | batch:1{heads:2{window:both=3}}'",
      "gen:full:n=24,b=3 -t pad:lens=24+10+3 -t causal",
      "gen:empty:n=64",
      "gen:dilated:stride=3,q=30,k=50 -t prefix:n=4",
  };
  for (const std::string& source : cases) {
    CAPTURE(source);
    const Sandbox box;
    const Outcome found = box.run("maskctl recognise " + source + " --write ids.npz");
    REQUIRE(found.status == 0);
    const std::string shape = field(found.out, "shape");
    const std::string pipeline = field(found.out, "pipeline");
    CHECK(field(found.out, "unexplained").starts_with("0 of "));
    long extents[4] = {};
    REQUIRE(std::sscanf(shape.c_str(), "[B %ld, H %ld, Q %ld, K %ld]", &extents[0], &extents[1],
                        &extents[2], &extents[3]) == 4);
    const std::string full =
        "gen:full:b=" + std::to_string(extents[0]) + ",h=" + std::to_string(extents[1]) +
        ",q=" + std::to_string(extents[2]) + ",k=" + std::to_string(extents[3]);
    const Outcome again = box.run("maskctl apply " + source + " -o a.npy && maskctl apply " + full +
                                  " -t '" + pipeline + "' -o b.npy && cmp a.npy b.npy");
    CHECK(again.err == "");
    CHECK(again.status == 0);
  }
}

TEST_CASE("the exit status is 0 for a recognised mask, 1 for another, 2 for an error") {
  const Sandbox box;
  CHECK(box.run("maskctl recognize gen:causal:n=16").status == 0);
  const Outcome irregular = box.run("maskctl recognise gen:random:sparsity=0.5,n=64,seed=3");
  CHECK(irregular.status == 1);
  CHECK(field(irregular.out, "pipeline") == "no rule; counted from every cell open");
  const Outcome near =
      box.run("maskctl recognise gen:random:sparsity=0.8,n=64,seed=3 -t \"or:'gen:causal:n=64'\"");
  CHECK(field(near.out, "pipeline") == "no rule; nearest: causal");
  CHECK(box.run("maskctl recognise missing.npy").status == 2);
  CHECK(box.run("maskctl recognise").status == 2);
}

TEST_CASE(
    "arrays are written to the file of --write, or named with the option that would write them") {
  const Sandbox box;
  const std::string source = "gen:segments:n=60,docs=4,interleave=token,seed=4 -t causal";
  const Outcome kept = box.run("maskctl recognise " + source);
  CHECK(field(kept.out, "pipeline") == "doc:recognised.npz:ids1 | causal");
  CHECK(contains(kept.err, "--write recognised.npz"));
  CHECK_FALSE(fs::exists(box.work() / "recognised.npz"));
  const Outcome single = box.run("maskctl recognise " + source + " --write ids.npy");
  CHECK(field(single.out, "pipeline") == "doc:ids.npy | causal");
  CHECK(fs::exists(box.work() / "ids.npy"));
  CHECK(box.run("maskctl recognise " + source + " --write ids.npy").status == 2);
  CHECK(box.run("maskctl recognise " + source + " --write ids.npy --force").status == 0);
}

TEST_CASE("JSON lists the cells that the pipeline does not explain") {
  const Sandbox box;
  const Outcome found =
      box.run("maskctl recognise gen:causal:n=100 -t pad:lens=99 --max-steps 1 --json");
  CHECK(found.status == 1);
  CHECK(contains(found.out, "\"schema\": \"maskctl.recognise/1\""));
  CHECK(contains(found.out, "\"pipeline\": \"causal\""));
  CHECK(contains(found.out, "\"residue\": [\n"));
}

}  // namespace
}  // namespace maskctl::test
