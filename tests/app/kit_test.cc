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
numpy.savez("given/row.empty-2.npz", output=out)
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
  CHECK(outcome_of("causal.square-3") == "fails");
  CHECK(outcome_of("causal.square-4") == "skipped");
  CHECK(outcome_of("row.empty-1") == "obeys");
  CHECK(outcome_of("row.empty-2") == "fails");
  CHECK(contains(verdicts, "\"wrote an .npz without out; it has output\""));
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
  CHECK(contains(outcome.out, "tests=\"4\" failures=\"0\" errors=\"1\" skipped=\"0\" time=\""));
  CHECK(contains(outcome.out, "<error type=\"refuses\" message=\"exit status 3: not today\"/>"));
  CHECK(contains(outcome.out, "name=\"causal.top-left-1\" time=\""));
}

TEST_CASE("kit run --judge: an output that cannot be read names no scratch file") {
  const Sandbox sandbox;
  const auto text_of = [&sandbox](const std::string& judge) {
    const Outcome outcome =
        sandbox.run("maskctl kit run --rule window.zero --judge '" + judge + "'");
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 1);
    CHECK(contains(outcome.out, "window.zero-1: fails: "));
    CHECK_FALSE(contains(outcome.out, "/out.npz"));
    return outcome.out;
  };
  CHECK(contains(text_of("true {case} {out}"), "wrote no out.npz"));
  CHECK(contains(text_of("echo text > {out}; true {case}"), "out.npz: "));
  CHECK(contains(text_of("cp samples/cross.npy {out}; : {case}"), "wrote an array without a name"));
  CHECK(contains(text_of("cp {case} {out}"), "wrote an .npz without out; it has key, query"));
}

TEST_CASE("kit run --judge: a signal is no refusal") {
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run("maskctl kit run --rule window.zero --judge 'kill -s SEGV $$; : {case} {out}'");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "window.zero-1: fails: ended by signal 11"));
}

TEST_CASE("kit judge: two files of a case are an error, and one of no case is said") {
  const Sandbox sandbox;
  const std::string chosen = "--rule causal.square-1";
  REQUIRE(sandbox.run("maskctl -q kit make cases " + chosen).status == 0);
  for (const std::string end : {"txt", "timeout", "failed"}) {
    const Outcome both =
        sandbox.run("rm -rf given; mkdir given; cp cases/*.npz given; echo no > " +
                    ("given/causal.square-1." + end) + "; maskctl kit judge given " + chosen);
    INFO(both.err);
    CHECK(both.status == 2);
    CHECK(contains(both.err, "given has causal.square-1.npz and causal.square-1." + end));
  }
  const Outcome unknown = sandbox.run(
      "rm given/*; echo segv > given/causal.square-1.failed; touch "
      "given/causal.square-2.npz given/causal.sqare-1.npz; maskctl kit judge given " +
      chosen);
  CHECK(unknown.status == 1);
  CHECK(contains(unknown.out, "causal.square-1: fails: segv"));
  CHECK(
      contains(unknown.err, "1 file is not read, first causal.sqare-1.npz: no case has this name"));
}

TEST_CASE(
    "kit run --timeout: a program that runs longer is ended with its children, which is said") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "maskctl kit run --rule window.zero --timeout 1 --judge "
      "'cat; (sleep 4; echo late >> late.txt) & sleep 60; : {case} {out}'; s=$?; sleep 3; exit $s");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 1);
  CHECK(contains(outcome.out, "window.zero-1: timed out: ran longer than 1 s"));
  CHECK_FALSE(fs::exists(sandbox.work() / "late.txt"));
}

TEST_CASE("kit make: existing files need --force, and no parent is made") {
  const Sandbox sandbox;
  const std::string make = "maskctl -q kit make cases/ --rule window.zero";
  REQUIRE(sandbox.run(make).status == 0);
  REQUIRE(sandbox.run("rm cases/*-1.npz cases/manifest.json; echo mine > cases/window.zero-2.npz")
              .status == 0);
  const Outcome again = sandbox.run(make);
  INFO(again.err);
  CHECK(again.status == 2);
  CHECK(contains(again.err, "cases/window.zero-2.npz exists; use --force to overwrite"));
  CHECK_FALSE(fs::exists(sandbox.work() / "cases/window.zero-1.npz"));
  CHECK(slurp(sandbox.work() / "cases/window.zero-2.npz") == "mine\n");
  CHECK(sandbox.run(make + " --force").status == 0);
  CHECK(sandbox.run("maskctl show cases/window.zero-2.npz:mask").status == 0);
  const Outcome nowhere = sandbox.run("maskctl kit make no/cases");
  CHECK(nowhere.status == 2);
  CHECK(contains(nowhere.err, "cannot make the folder no/cases: No such file"));
  CHECK(sandbox.run("maskctl kit make new --force --rule casual").status == 2);
  CHECK_FALSE(fs::exists(sandbox.work() / "new"));
  const Outcome file = sandbox.run("echo > file; maskctl kit make file");
  CHECK(file.status == 2);
  CHECK(contains(file.err, "cannot make the folder file: "));
}

TEST_CASE("kit list: --rule chooses what is listed") {
  const Sandbox sandbox;
  CHECK(contains(sandbox.run("maskctl kit list").out, "window.zero"));
  const std::string chosen =
      sandbox.run("maskctl kit list --rule causal --without causal.square").out;
  INFO(chosen);
  CHECK(chosen.starts_with("causal.top-left "));
  CHECK_FALSE(contains(chosen, "window"));
}

TEST_CASE("kit: --rule and --without take cases, too") {
  const Sandbox sandbox;
  CHECK(sandbox
            .run("maskctl kit list --rule causal.square-2 --rule window.zero --without "
                 "window.zero-1 | awk '{ print $1, $2 }'")
            .out == "causal.square 1\nwindow.zero 2\n");
  REQUIRE(sandbox.run("maskctl -q kit make cases --rule causal.square-2").status == 0);
  CHECK(sandbox.run("ls cases").out == "causal.square-2.npz\nmanifest.json\n");
}

/// Writes results of three cases: `wrong` is not obeyed, `refused` is refused, "" has none.
std::string results_of(const std::string& wrong, const std::string& refused) {
  return fmt::format(R"(
    rm -rf given; mkdir given
    /usr/bin/python3 - << 'END'
import numpy
for n in "123":
    with numpy.load(f"cases/causal.square-{{n}}.npz") as case:
        out = case["expected_out"].astype("float32")
    if n in "{}":
        out = out * 0
    if n not in "{}":
        numpy.savez(f"given/causal.square-{{n}}.npz", out=out)
END
    for n in $(echo '{}' | sed 's/./& /g'); do echo no > given/causal.square-$n.txt; done
)",
                     wrong, refused, refused);
}

TEST_CASE("kit --baseline: what was so before is allowed, and what is worse fails") {
  const Sandbox sandbox;
  const std::string chosen =
      " --rule causal.square --without causal.square-4 --without "
      "causal.square-5 ";
  REQUIRE(sandbox.run("maskctl -q kit make cases" + chosen).status == 0);
  const auto judged = [&](const std::string& wrong, const std::string& refused,
                          const std::string& options) {
    const Outcome outcome =
        sandbox.run(results_of(wrong, refused) + "maskctl kit judge given" + chosen + options);
    INFO(outcome.out << outcome.err);
    REQUIRE(outcome.status != 2);
    return outcome;
  };
  spit(sandbox.work() / "kit.json", judged("1", "2", "--json").out);
  const std::string known = "--baseline kit.json";
  const Outcome same = judged("1", "2", known);
  CHECK(same.status == 0);
  CHECK(contains(same.out, "baseline  kit.json: 0 worse, 0 better\n"));
  const Outcome better = judged("", "1", known);
  CHECK(better.status == 0);
  CHECK(contains(better.out, "better  causal.square-1: wrong numbers, now refuses: no\n"));
  CHECK(contains(better.out, "better  causal.square-2: refuses, now obeys\n"));
  const Outcome worse = judged("12", "", known);
  CHECK(worse.status == 1);
  CHECK(contains(worse.out, "worse   causal.square-2: refuses, now wrong numbers: rows of zeros"));
  CHECK(judged("13", "2", known).status == 1);

  const Outcome skipped = sandbox.run(results_of("", "2") + "rm given/*-1.npz; maskctl kit judge " +
                                      "given" + chosen + known);
  CHECK(skipped.status == 1);
  CHECK(contains(skipped.out, "worse   causal.square-1: wrong numbers, now skipped: no result\n"));
  // A case that the baseline lacks has to obey.
  CHECK(judged("3", "2", "--rule window.zero --without causal " + known).status == 1);

  const std::string junit = judged("13", "2", known + " --format junit").out;
  CHECK(contains(junit, "tests=\"3\" failures=\"1\" errors=\"0\" skipped=\"2\""));
  CHECK(contains(junit, "<skipped message=\"as before: refuses: no\"/>"));
  CHECK(contains(junit, "<failure type=\"wrong numbers\""));
  CHECK(contains(judged("", "1", known + " --format junit").out,
                 "<system-out>better: before: refuses</system-out>"));
  const std::string none = sandbox
                               .run(results_of("", "2") + "rm given/*-1.npz; maskctl kit judge " +
                                    "given --format junit" + chosen)
                               .out;
  CHECK(contains(none, "errors=\"2\" skipped=\"0\""));
  CHECK(contains(none, "<error type=\"skipped\" message=\"no result\"/>"));
}

TEST_CASE("kit --baseline: a lower precision than before is worse, in JUnit too") {
  const Sandbox sandbox;
  const std::string chosen = " --rule causal.square-2 ";
  REQUIRE(sandbox.run("maskctl -q kit make cases" + chosen).status == 0);
  const auto judged = [&](const std::string& dtype, const std::string& options) {
    return sandbox.run(
        "rm -rf given; mkdir given; /usr/bin/python3 -c \"import numpy; "
        "numpy.savez('given/causal.square-2.npz', out=numpy.load("
        "'cases/causal.square-2.npz')['expected_out'].astype('" +
        dtype + "'))\"; maskctl kit judge given" + chosen + options);
  };
  spit(sandbox.work() / "full.json", judged("float32", "--json").out);
  spit(sandbox.work() / "low.json", judged("float16", "--json").out);
  const std::string note = "out holds float16 for arrays of float32, and is judged as that";
  const Outcome worse = judged("float16", "--baseline full.json");
  CHECK(worse.status == 1);
  CHECK(contains(worse.out, "worse   causal.square-2: obeys, now obeys: " + note));
  CHECK(contains(judged("float16", "--baseline full.json --format junit").out,
                 "<failure type=\"lower precision\" message=\"" + note));
  CHECK(contains(judged("float16", "--baseline low.json --format junit").out,
                 "<system-out>" + note + "</system-out>"));
  const Outcome better = judged("float32", "--baseline low.json");
  CHECK(better.status == 0);
  CHECK(contains(better.out, "0 worse, 1 better"));
}

TEST_CASE("kit --baseline: what makes a baseline doubtful is said") {
  const Sandbox sandbox;
  spit(sandbox.work() / "kit.json",
       R"({"schema": "maskctl.kit/1", "dtype": "float32", "library": "theirs", "version": "0.0",
           "cases": [{"id": "window.zero-1", "outcome": "refuses"},
                     {"id": "window.none-7", "outcome": "refuses"}]})");
  const Outcome text = sandbox.run("maskctl kit run --rule window.zero --baseline kit.json");
  INFO(text.out);
  CHECK(text.status == 0);
  CHECK(contains(text.out, "  note    is of another library, theirs\n"));
  CHECK(contains(text.out, "  note    was made by maskctl 0.0; this is "));
  CHECK(contains(text.out,
                 "  note    no case of it obeys; expected a run of a library that works\n"));
  CHECK(contains(text.out, "  note    has 1 case that the kit does not have, first window.none-7"));
  const std::string run = "maskctl kit run --rule window.zero --baseline kit.json --format ";
  CHECK(contains(sandbox.run(run + "json").out, "\"is of another library, theirs\""));
  CHECK(contains(sandbox.run(run + "junit").out,
                 "<property name=\"baseline.note\" value=\"is of another library, theirs\"/>"));
  REQUIRE(sandbox.run("maskctl kit run --rule window.zero --json > own.json").status == 0);
  CHECK_FALSE(
      contains(sandbox.run("maskctl kit run --rule window.zero --baseline own.json").out, "note"));
}

TEST_CASE("kit --baseline: a file that is none is one clear line") {
  const Sandbox sandbox;
  const auto refused = [&sandbox](const std::string& text, const std::string& line) {
    spit(sandbox.work() / "kit.json", text);
    const Outcome outcome = sandbox.run("maskctl kit run --rule window.zero --baseline kit.json");
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, line));
  };
  const std::string start = R"({"schema": "maskctl.kit/1", "dtype": "float32", "cases": [)";
  refused("no json", "--baseline 'kit.json': no maskctl.kit/1; expected what --json");
  refused(R"({"schema": "maskctl.kit/1"})", "no maskctl.kit/1");
  refused(R"({"schema": "maskctl.kit/1", "dtype": "float16", "cases": []})",
          "--baseline 'kit.json': was made of float16, not of float32;");
  refused(start + R"({"id": "window.zero-1", "outcome": "fine"}]})",
          "the case 'window.zero-1' has the outcome 'fine'; expected one of maskctl.kit/1");
  refused(start + R"({"id": "window.zero-1", "outcome": "obeys"},)" +
              R"({"id": "window.zero-1", "outcome": "refuses"}]})",
          "has the case 'window.zero-1' twice; expected one run of the kit");
  refused(start + "3]}", "the case '' has the outcome ''");
  CHECK(contains(sandbox.run("maskctl kit run --baseline none.json").err, "none.json"));
}

TEST_CASE("kit: what cannot be asked is one clear line") {
  const Sandbox sandbox;
  const auto refused = [&sandbox](const std::string& words, const std::string& line) {
    const Outcome outcome = sandbox.run("maskctl kit " + words);
    INFO(outcome.err);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, line));
  };
  refused("run --rule casual", "no rule or case 'casual'; `maskctl kit list` has all");
  refused("run --judge 'mine {case}'", "where is {out}?");
  refused("judge nowhere", "'nowhere' is no folder");
  refused("make", "no FOLDER");
  refused("run --rule causal.square-99", "no rule or case 'causal.square-99'");
  refused("run --without causal.square-0", "no rule or case 'causal.square-0'");
  refused("run --rule causal.square --without causal",
          "no case is left to ask: causal, in --without, excludes all of causal.square, in --rule");
  for (const char* const action : {"run", "list", "make cases"}) {
    std::string all;
    for (const kit::Section& section : kit::sections()) {
      for (const kit::Rule& rule : section.rules) {
        all += " --without " + std::string(rule.id.substr(0, rule.id.find('.')));
      }
    }
    refused(action + all, " excludes every rule; drop one of --without");
  }
  refused("run --judge 'no-such-program {case} {out}'", "exit status 127: ");
  refused("run --judge './samples {case} {out}'", "expected a command that the shell can start");
}

TEST_CASE("kit: an option that an action does not read is refused") {
  const Sandbox sandbox;
  const auto refused = [&sandbox](const std::string& words, const std::string& line) {
    const Outcome outcome = sandbox.run("maskctl kit " + words);
    INFO(words << ": " << outcome.err);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, line));
  };
  refused("run folder --backend cpu", "kit run: a FOLDER goes with kit make and kit judge");
  refused("list folder", "kit list: a FOLDER goes with");
  refused("judge samples --judge 'a {case} {out}'", "kit judge: --judge goes with kit run");
  refused("run --backend cpu --judge 'a {case} {out}'",
          "--backend goes with kit run without --judge");
  refused("run --timeout 5", "--timeout goes with kit run with --judge");
  refused("run --judge 'a {case} {out}' --timeout 0", "--timeout");
  refused("make cases --baseline kit.json", "--baseline goes with kit run and kit judge");
  refused("make cases --library mine", "--library goes with kit run and kit judge");
  refused("run --force", "--force goes with kit make");
  refused("make cases --json", "--json goes with kit list, kit judge and kit run");
  refused("list --format junit", "--format junit goes with kit judge and kit run");
  refused("run --json --format junit", "--json goes with --format json");
}

}  // namespace
}  // namespace maskctl::test
