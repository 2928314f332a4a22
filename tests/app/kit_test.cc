// Tests the command kit, and docs/semantics.md, which has the sentences of its rules.
// MASKCTL_UPDATE_GOLDEN=1 writes them.
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "app/process.h"
#include "maskctl/kit/rules.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const fs::path kPage = fs::path(MASKCTL_SOURCE_DIR) / "docs/semantics.md";

/// The table below the heading of a section.
std::string table_of(const kit::Section& section) {
  std::string out = "| id | holds | read otherwise by |\n| --- | --- | --- |\n";
  for (const kit::Rule& rule : section.rules) {
    std::string says(rule.says), others(rule.others);
    for (std::string* text : {&says, &others}) {
      for (std::size_t at = 0; (at = text->find('|', at)) != text->npos; at += 2) {
        text->insert(at, "\\");
      }
    }
    out += fmt::format("| `{}` | {} | {} |\n", rule.id, says, others);
  }
  return out;
}

TEST_CASE("docs/semantics.md has the sentence of each rule of the kit", "[golden]") {
  std::string page = slurp(kPage);
  for (const kit::Section& section : kit::sections()) {
    INFO(section.title);
    const std::size_t heading = page.find(fmt::format("\n## {}\n", section.title));
    REQUIRE(heading != page.npos);
    const std::size_t begin = page.find("| id |", heading), end = page.find("\n\n", begin) + 1;
    if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) {
      page.replace(begin, end - begin, table_of(section));
    } else {
      CHECK(page.substr(begin, end - begin) == table_of(section));
    }
  }
  if (std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr) spit(kPage, page);
}

TEST_CASE("kit run: our CPU obeys every case in each precision", "[values]") {
  const Sandbox sandbox;
  for (const std::string dtype : {"f32", "f16", "bf16"}) {
    const Outcome outcome = sandbox.run("maskctl kit run --dtype " + dtype);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
  }
}

TEST_CASE("kit make and kit judge: cases as files, verdicts on files") {
  const Sandbox sandbox;
  REQUIRE(sandbox.run("maskctl -q kit make cases --rule causal.square --rule row.empty").status ==
          0);
  CHECK(contains(slurp(sandbox.work() / "cases/manifest.json"), "\"maskctl.kit-cases/1\""));
  // What is expected is given for one case as it is, for one as zeros; one is refused.
  const Outcome outcome = sandbox.run(R"(
    /usr/bin/python3 - << 'END'
import numpy, os
os.mkdir("given")
for name in "causal.square-2", "row.empty-1":
    with numpy.load(f"cases/{name}.npz") as case:
        out = case["expected_out"].astype("float32")
        numpy.savez(f"given/{name}.npz", out=out * 0 if name[0] == "c" else out)
open("given/causal.square-1.txt", "w").write("too small\n")
open("given/causal.square-3.npz", "w").write("no archive")
END
    maskctl kit judge given --rule causal.square --rule row.empty --json > verdicts.json; echo $?)");
  INFO(outcome.err);
  CHECK(outcome.out == "1\n");
  const std::string verdicts = slurp(sandbox.work() / "verdicts.json");
  INFO(verdicts);
  const auto outcome_of = [&verdicts](const std::string& id) {
    const std::size_t at = verdicts.find("\"outcome\": \"", verdicts.find('"' + id + '"')) + 12;
    return verdicts.substr(at, verdicts.find('"', at) - at);
  };
  CHECK(outcome_of("causal.square-1") == "refuses");
  CHECK(outcome_of("causal.square-2") == "wrong numbers");
  CHECK(outcome_of("causal.square-3") == "wrong numbers");
  CHECK(outcome_of("causal.square-4") == "skipped");
  CHECK(outcome_of("row.empty-1") == "obeys");
}

TEST_CASE("kit run --judge: a program gets files and gives files") {
  const Sandbox sandbox;
  spit(sandbox.work() / "mine.sh",
       "case $(cat $2) in *top-left-2*) echo not today; exit 3;; esac\n"
       "maskctl -q attend flash_attention query=$1:query key=$1:key value=$1:value --mask $1:mask "
       "-o $3\n");
  const Outcome outcome = sandbox.run(
      "maskctl kit run --rule causal.top-left --judge 'sh mine.sh {case} {json} {out}' --format "
      "junit");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "tests=\"4\" failures=\"1\" skipped=\"0\""));
  CHECK(contains(outcome.out, "<failure type=\"refuses\" message=\"exit status 3: not today\"/>"));
}

TEST_CASE("kit: what cannot be asked is one clear line") {
  const Sandbox sandbox;
  const auto refused = [&sandbox](const std::string& words, const std::string& line) {
    const Outcome outcome = sandbox.run("maskctl kit " + words);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, line));
  };
  refused("run --rule casual", "no rule 'casual'; `maskctl kit list` has all");
  refused("run --judge 'mine {case}'", "where is {out}?");
  refused("judge nowhere", "'nowhere' is no folder");
  refused("make", "no FOLDER");
}

}  // namespace
}  // namespace maskctl::test
