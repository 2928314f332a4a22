// Tests the command mutants as a process: its files, its judges, its answers and its refusals.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "app/process.h"
#include "support/catch_compat.h"
#include "support/contains.h"

namespace maskctl::test {
namespace {

using Json = nlohmann::json;

Json json_of(const Outcome& outcome) {
  CAPTURE(outcome.err);
  return Json::parse(outcome.out);
}

TEST_CASE("mutants counts what a command accepts, refuses, and cannot judge") {
  const Sandbox sandbox;
  const std::string mutants = "maskctl mutants gen:causal:n=24 --count 10 --dim 8 --json ";
  const Json all = json_of(sandbox.run(mutants + "--judge 'test -s {}'"))["rules"][0];
  CHECK(all["wrong_accepted"] == 8);
  CHECK(all["above_bound"] == 8);
  CHECK(all["right_refused"] == 0);
  CHECK(all["fails"] == true);
  const Outcome none = sandbox.run(mutants + "--judge 'test ! -s {}'");
  CHECK(none.status == 1);
  const Json refused = json_of(none)["rules"][0];
  CHECK(refused["wrong_accepted"] == 0);
  CHECK(refused["right_refused"].get<int>() + refused["coarse_refused"].get<int>() == 2);
  const Outcome broken = sandbox.run(mutants + "--judge 'echo no torch >&2; exit 3 # {}'");
  CHECK(broken.status == 2);
  const Json errors = json_of(broken)["rules"][0];
  CHECK(errors["errors"] == 10);
  CHECK(errors["first_error"] == "exit status 3: no torch");
  CHECK(errors["wrong_accepted"] == 0);
  const Outcome killed = sandbox.run(mutants + "--judge 'kill -9 $$ # {}'");
  CHECK(json_of(killed)["rules"][0]["first_error"] == "ended by signal 9");
  const std::string left =
      "mkdir tmp && TMPDIR=$PWD/tmp maskctl mutants gen:causal:n=8 --count 1 --judge 'exit 0 # "
      "{}'; "
      "ls tmp | wc -l";
  CHECK(contains(sandbox.run(left).out, "\n0\n"));
}

TEST_CASE("mutants writes files that verify reads, and a manifest of their truths") {
  const Sandbox sandbox;
  const Outcome made = sandbox.run(
      "maskctl mutants gen:window:keys=9,n=40 --count 6 --heads 4 --kv-heads 2 --dim 16 --sinks 1 "
      "--bias --only window-wider --only right-rounded --out 'a folder'");
  CHECK(made.err.empty());
  CHECK(made.status == 0);
  const Json manifest = Json::parse(slurp(sandbox.work() / "a folder/mutants.json"));
  CHECK(manifest["made"] == 6);
  CHECK(manifest["mutants"].size() == 6);
  for (const Json& truth : manifest["mutants"]) {
    const std::string file = "'a folder/" + truth["file"].get<std::string>() + "'";
    CAPTURE(truth.dump());
    const bool right = truth["right"];
    CHECK((truth["weight"].get<double>() < 1e-6) == right);
    CHECK(truth["cells"].empty() == right);
    const Outcome verdict = sandbox.run("maskctl verify gen:window:keys=9,n=40 " + file);
    CHECK(verdict.status == (right ? 0 : 1));
  }
  const Outcome again = sandbox.run("maskctl mutants gen:causal:n=8 --count 1 --out 'a folder'");
  CHECK(again.status == 2);
  CHECK(contains(again.err, "is not empty"));
  CHECK(
      sandbox.run("maskctl mutants gen:causal:n=8 --count 2 --out b --judge 'test -s {}'").status ==
      1);
  CHECK(sandbox.run("ls b | wc -l").out == "3\n");
}

TEST_CASE("mutants tries rules; its exit status says if a rule accepts a wrong kernel") {
  const Sandbox sandbox;
  const std::string mutants = "maskctl mutants gen:causal:n=48 --count 6 --dim 16 ";
  const std::string gross = "--only mask-dropped --only right-rounded ";
  CHECK(sandbox.run(mutants + gross + "--rule fa --rule verify").status == 0);
  const Outcome wide = sandbox.run(mutants + gross + "--rule allclose:9,9");
  CHECK(wide.status == 1);
  CHECK(contains(wide.out, "allclose:9,9 accepts: mask-dropped, no mask is applied"));
  const Outcome usual =
      sandbox.run("maskctl mutants --usual --count 12 --rule kernelbench --dim 8");
  CHECK(contains(usual.out, "12 of 12 masks"));
  CHECK(sandbox
            .run(mutants + "--only right-exact --only cache-fp8 --without cache-fp8 "
                           "--rule allclose:1e-2,1e-2")
            .status == 0);
  const Outcome list = sandbox.run("maskctl mutants --list");
  CHECK(contains(list.out, "cap-after-mask"));
  CHECK(sandbox.run(mutants + "--seed 1 --rule fa --json | grep -v seconds").out ==
        sandbox.run(mutants + "--seed 1 --rule fa --json | grep -v seconds").out);
}

TEST_CASE("mutants refuses impossible requests in one line") {
  const Sandbox sandbox;
  const auto refused = [&](const std::string& words, const std::string& why) {
    const Outcome outcome = sandbox.run("maskctl mutants " + words);
    CAPTURE(words, outcome.err);
    CHECK(outcome.status == 2);
    CHECK(outcome.out.empty());
    CHECK(contains(outcome.err, why));
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  };
  refused("", "no SOURCE");
  refused("--usual gen:causal:n=8", "cannot be combined with a SOURCE");
  refused("--usual --heads 4", "masks and calls of its own");
  refused("gen:causal:n=8 --judge true", "{} stands for its path");
  refused("gen:causal:n=8 --rule flashinfer", "flashinfer-bench");
  refused("gen:causal:n=8 --rule allclose:1e-2", "allclose:R,A");
  refused("gen:causal:n=8 --only windows", "no kind of mutants");
  refused("gen:causal:n=8 --only window-wider", "needs a window");
  refused("gen:causal:n=8 --only cell-opened --without cell-opened", "no kind is left");
  refused("gen:causal:n=8 --heads 3 --kv-heads 2", "do not divide");
  refused("gen:causal:n=8,h=4 --heads 3", "the mask has 4");
  refused("gen:causal:n=8 --cap 0", "above 0");
  refused("gen:causal:n=8 --sinks 1000000000", "0 to 4096");
  refused("gen:causal:n=1000000", "more than");
  refused("gen:causal:n=8 --heads 100000000 --dim 100000000", "GiB");
  refused("gen:causal:n=8 --count 1 --out samples/README.md", "expected a folder");
}

TEST_CASE("mutants stops at once when it is interrupted, and ends the command of --judge") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "mkdir tmp && cat > stop.py <<'END'\n"
      "import os, signal, subprocess, time\n"
      "p = subprocess.Popen(['maskctl', 'mutants', 'gen:causal:n=8', '--judge',\n"
      "                      'echo $$ > started; sleep 300 # {}'],\n"
      "                     env=dict(os.environ, TMPDIR=os.path.abspath('tmp')))\n"
      "while not os.path.exists('started') or not open('started').read().strip():\n"
      "    time.sleep(0.002)\n"
      "judge = int(open('started').read())\n"
      "p.send_signal(signal.SIGINT)\n"
      "print(p.wait(30), os.path.exists(f'/proc/{judge}'), os.listdir('tmp'))\n"
      "END\n"
      "/usr/bin/python3 stop.py\n");
  CHECK(outcome.out == "130 False []\n");
}

}  // namespace
}  // namespace maskctl::test
