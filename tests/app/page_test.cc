// Tests `show -o page.html`: the page has all batches and heads, the findings of check, and the
// cells.
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl::test {
namespace {

/// Returns what page_cells.py prints about the page and the mask that these arguments make.
std::string cells_of(const Sandbox& sandbox, const std::string& words) {
  const Outcome shown = sandbox.run("maskctl show " + words + " -f -o p.html");
  if (shown.status != 0) return shown.err;
  const Outcome made = sandbox.run("maskctl convert " + words + " -f -o m.npy");
  if (made.status != 0) return made.err;
  const Outcome said =
      sandbox.run("/usr/bin/python3 " MASKCTL_SOURCE_DIR "/tests/app/page_cells.py p.html m.npy");
  return said.out + said.err;
}

TEST_CASE("page: its runs are the cells of the mask, and equal planes are stored once", "[page]") {
  const Sandbox sandbox;
  for (const auto& [words, planes] :
       {std::pair{"samples/leaked.npy", "1 planes"},
        {"samples/heads.npy", "4 planes"},
        {"gen:causal:n=300,b=3,h=2 -t 'batch:1{heads:1{window:keys=9}}'", "2 planes"},
        {"gen:full:n=70,b=2 -t random:sparsity=0.4,seed=3", "2 planes"},
        {"gen:causal:n=200 -t dilated:stride=3 -t 'doc:lens=40+50+110' -t "
         "slice:q=5:80,k=3:199",
         ""}}) {
    INFO(words);
    const std::string said = cells_of(sandbox, words);
    INFO(said);
    CHECK(said.find(" cells\n") != std::string::npos);
    CHECK(said.starts_with(planes));
  }
}

TEST_CASE("page: a batch of 32 x 4 masks of 4096 x 4096 takes less than 2 MB", "[page]") {
  const Sandbox sandbox;
  const std::string ids = "gen:segments:n=4096,docs=9,seed=7,b=32";
  REQUIRE(sandbox
              .run("maskctl show gen:full:n=4096,b=32,h=4 -t \"doc:q='" + ids + "',kv='" + ids +
                   "' | causal | heads:1{window:keys=400} | heads:2{window:keys=800} | "
                   "heads:3{window:keys=1200}\" --segments " +
                   ids + " -o p.html")
              .status == 0);
  CHECK(sandbox.run("test $(stat -c %s p.html) -lt 2000000").status == 0);
  CHECK(sandbox.run("grep -o '\"members\"' p.html | wc -l").out == "128\n");
}

TEST_CASE("page: it has the findings of check, each step, and a note about what is left out",
          "[page]") {
  const Sandbox sandbox;
  REQUIRE(sandbox
              .run("maskctl show samples/leaked.npy --segments samples/leaked_ids.npy --tokens "
                   "samples/leaked_tokens.txt -t close:q=5,k=2 -o p.html")
              .status == 0);
  const std::string page = sandbox.run("cat p.html").out;
  for (const char* part :
       {"\"message\":\"1 cell across documents\",\"batch\":0,\"head\":0,\"query\":17,\"key\":3",
        "\"steps\":[\"close:q=5,k=2\"]", "\"tokens\":[[\"The\",\"cat\"", "\"decided\":[2]"}) {
    INFO(part);
    CHECK(page.find(part) != std::string::npos);
  }
  // The list of steps begins with the step of a generated SOURCE, as in `why`.
  REQUIRE(sandbox.run("maskctl show gen:causal:n=9 -t window:keys=3 -f -o p.html").status == 0);
  CHECK(sandbox.run("cat p.html").out.find("\"steps\":[\"causal\",\"window:keys=3\"]") !=
        std::string::npos);
  const Outcome many =
      sandbox.run("maskctl show gen:full:n=4,b=40,h=20 -t random:sparsity=0.5 -f -o p.html");
  CHECK(contains(many.err, "The page shows 256 of 800 batches and heads; --batch and --head"));
  CHECK(sandbox
            .run("maskctl show gen:full:n=4,b=4 --batch 2 -f -o p.html; grep -c "
                 "'\"members\":\\[\\[2,0\\]\\]' p.html")
            .out == "1\n");
}

TEST_CASE("page: a mask of too many runs is drawn in units of several cells, with a note",
          "[page]") {
  const Sandbox sandbox;
  const Outcome shown =
      sandbox.run("maskctl show gen:random:n=10000,sparsity=0.5 -o p.html && stat -c %s p.html");
  CHECK(shown.status == 0);
  CHECK(contains(shown.err, "so the page shows units of "));
  CHECK(std::stol(shown.out) < 24'000'000);
}

TEST_CASE("page: options that a page does not read are refused", "[page]") {
  const Sandbox sandbox;
  for (const char* option : {"--scale 3", "--size 300"}) {
    const Outcome refused =
        sandbox.run(std::string("maskctl show samples/heads.npy -o p.html ") + option);
    CHECK(refused.status == 2);
    CHECK(contains(refused.err, "goes with .png and .svg; a page zooms"));
  }
  CHECK(sandbox.run("test -e p.html").status == 1);
}

}  // namespace
}  // namespace maskctl::test
