// Tests the program as a process: streams, exit statuses, wrong usage, limits, signals.
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"
#include "support/project_version.h"

namespace maskctl::test {
namespace {

void check_refused(const std::string& line, const std::string& part) {
  check_refused(Sandbox(), line, part);
}

TEST_CASE("version and help print on stdout") {
  const Sandbox sandbox;
  const Outcome version = sandbox.run("maskctl --version");
  CHECK(version.status == 0);
  CHECK(version.out.starts_with("maskctl " + project_version() + " ("));
  CHECK(version.err.empty());
  for (const char* line : {"maskctl --help", "maskctl -h", "maskctl help"}) {
    const Outcome help = sandbox.run(line);
    CHECK(help.status == 0);
    CHECK(contains(help.out, "Usage: maskctl COMMAND"));
    CHECK(help.out.find("maskctl show mask.npy") < help.out.find("Usage:"));
  }
}

/// Returns the names of all commands.
std::vector<std::string> commands(const Sandbox& sandbox) {
  std::vector<std::string> out;
  std::istringstream lines(sandbox.run("maskctl __complete help ''").out);
  for (std::string line; std::getline(lines, line);) out.push_back(line.substr(0, line.find('\t')));
  REQUIRE(out.size() == 32);
  return out;
}

/// Returns how many lines of a help page, without its examples, list an option, variable or
/// command.
std::ptrdiff_t times_listed(const std::string& page, const std::string& name) {
  std::ptrdiff_t out = 0;
  std::istringstream lines(page);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t end = line.find("  ", 2);
    const std::string label = " " + line.substr(0, end) + " ";
    const bool entry = line.starts_with("  ") && !line.starts_with("  maskctl ");
    if (entry && contains(label, " " + name + " ")) ++out;
  }
  return out;
}

TEST_CASE("help: each command has a page with examples before options") {
  const Sandbox sandbox;
  for (const std::string& name : commands(sandbox)) {
    const Outcome help = sandbox.run("maskctl " + name + " --help");
    INFO(name);
    CHECK(help.status == 0);
    CHECK(help.err.empty());
    CHECK(help.out.find("  maskctl " + name) < help.out.find("Options:"));
    CHECK(sandbox.run("maskctl help " + name).out == help.out);
  }
}

TEST_CASE("help: lists each command once, in groups") {
  const Sandbox sandbox;
  const std::vector<std::string> names = commands(sandbox);
  for (const std::string line : {"maskctl --help", "maskctl --help-all", "maskctl --quiet 2>&1"}) {
    const std::string page = sandbox.run(line).out;
    INFO(line);
    std::size_t last = 0;
    for (const char* group : {"Look", "Ask", "Change", "Judge kernels", "CI and shell"}) {
      const std::string heading = "\n\n" + std::string(group) + ":\n  ";
      const std::size_t at = page.find(heading);
      CHECK((at != page.npos && at > last));
      CHECK(page.rfind(heading) == at);
      last = at;
    }
    for (const std::string& name : names) CHECK(times_listed(page, name) == 1);
  }
}

TEST_CASE("help: the options of every command are in --help-all") {
  const Sandbox sandbox;
  const std::vector<std::string> shared = {"--threads",  "--max-bytes", "--color",   "--progress",
                                           "--strict",   "--quiet",     "--verbose", "--help",
                                           "--help-all", "--version"};
  std::vector<std::string> calls = {"maskctl"};
  for (const std::string& name : commands(sandbox)) calls.push_back("maskctl " + name);
  for (const std::string& call : calls) {
    const Outcome own = sandbox.run(call + " --help"), all = sandbox.run(call + " --help-all");
    INFO(call);
    CHECK(all.status == 0);
    CHECK(all.err.empty());
    CHECK(contains(own.out, "`" + call + " --help-all` shows the options of every command"));
    for (const std::string& option : shared) {
      INFO(option);
      CHECK(times_listed(own.out, option) == 0);
      CHECK(times_listed(all.out, option) == 1);
    }
  }
}

TEST_CASE("help: options of ejkernel are shown only for commands that have them") {
  const Sandbox sandbox;
  const std::set<std::string> readers = {"info", "show", "apply", "why"};
  const std::string heading = "\nejkernel, a JAX library of attention kernels:\n";
  for (const std::string& name : commands(sandbox)) {
    for (const std::string option : {" --help", " --help-all"}) {
      const std::string page = sandbox.run("maskctl " + name + option).out;
      INFO(name << option);
      for (const char* entry : {"--semantics", "--trace", "EJKERNEL_MASK_DEBUG"}) {
        CHECK(times_listed(page, entry) == (readers.contains(name) ? 1 : 0));
      }
      CHECK(times_listed(page, "EJKERNEL_AUTOTUNE_POLICY") == (name == "attend" ? 1 : 0));
      CHECK(contains(page, heading) == (readers.contains(name) || name == "attend"));
    }
  }
  CHECK_FALSE(contains(sandbox.run("maskctl --help").out, "ejkernel"));
  const std::string all = sandbox.run("maskctl --help-all").out;
  CHECK(contains(all, heading));
  CHECK(times_listed(all, "EJKERNEL_MASK_DEBUG") == 1);
}

TEST_CASE("help: options that a help page leaves out still work") {
  const Sandbox sandbox;
  for (const std::string line : {"maskctl stats samples/heads.npy --trace",
                                 "maskctl --trace -j 1 stats samples/heads.npy"}) {
    CHECK(sandbox.run(line).out == sandbox.run("maskctl stats samples/heads.npy").out);
  }
  CHECK(sandbox.run("maskctl help stats --help-all").out ==
        sandbox.run("maskctl --help-all stats").out);
  check_refused("maskctl stats --help-al", "did you mean '--help-all'?");
  check_refused("maskctl --help-all stats --frobnicate", "see maskctl stats --help");
}

TEST_CASE("the program without arguments draws the mask of demo, and names commands to try") {
  const Sandbox sandbox;
  const Outcome alone = sandbox.run("maskctl");
  CHECK(alone.status == 0);
  CHECK(alone.err.empty());
  CHECK(contains(alone.out, "24 queries x 24 keys, 95 open (16.5%), 1 leak"));
  CHECK(contains(alone.out, "maskctl demo"));
  CHECK(contains(sandbox.run("maskctl --quiet").err, "`maskctl COMMAND --help` say more"));

  const Outcome demo = sandbox.run("maskctl demo masks");
  CHECK(demo.status == 0);
  CHECK(sandbox.run("cmp masks/leaked.npy samples/leaked.npy").status == 0);
  const Outcome found =
      sandbox.run("maskctl check masks/leaked.npy --segments masks/leaked_ids.npy");
  CHECK(found.status == 1);
  CHECK(found.out.starts_with("error: document-leak: 1 cell across documents\n"));
  check_refused("maskctl demo samples", "samples/leaked.npy exists");
  check_refused("maskctl demo samples/leaked.npy", "cannot make the folder");
}

TEST_CASE("gen draws the mask if it has no destination") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl gen causal:n=8 -t window:keys=2").out ==
        sandbox.run("maskctl show gen:causal:n=8 -t window:keys=2").out);
  const std::string ids = sandbox.run("maskctl gen segments:n=12,docs=3,seed=1").out;
  CHECK(contains(ids, "12 queries x 12 keys, "));
  check_refused(sandbox, "maskctl gen cusal:n=8", "did you mean 'causal'?", 3);
  for (const char* option : {"--dtype int32", "--to runs", "--gzip 3", "--append", "--force"}) {
    check_refused(std::string("maskctl gen causal:n=8 ") + option, "gen: no destination");
  }
}

TEST_CASE("the error about a mistyped name suggests the nearest one") {
  check_refused("maskctl shw x.npy", "unknown command 'shw'; did you mean 'show'?");
  check_refused("maskctl see x.npy",
                "'see' is a command of the Python package: run `pip install .`");
  check_refused("maskctl version", "unknown command 'version'; did you mean '--version'?");
  check_refused("maskctl show --hlep", "unknown option '--hlep'; did you mean '--help'?");
  check_refused("maskctl stats --blok 64 x.npy",
                "unknown option '--blok'; did you mean '--block'?");
  check_refused("maskctl stats x.npy --blok=64", "did you mean '--block'?");
  check_refused("maskctl --colour=never show x", "did you mean '--color'?");
  check_refused("maskctl info x --as segmnts", "did you mean 'segments'?");
  check_refused("maskctl show x --style hlf", "did you mean 'half'?");
  check_refused("maskctl gen causal:n=4 --dtype in32 -o -", "did you mean 'int32'?");
  check_refused("maskctl ops windw", "did you mean 'window'?");
  check_refused(Sandbox(), "maskctl show samples/heads.npy -t cauzal", "did you mean 'causal'?", 3);
}

TEST_CASE("the error about an unknown word without a near name refers to the help") {
  check_refused("maskctl frobnicate", "see maskctl --help");
  check_refused("maskctl show --frobnicate x", "see maskctl show --help");
  check_refused("maskctl apply a b", "unexpected argument 'b'");
  check_refused("maskctl show x -Z", "unknown option '-Z'");
}

TEST_CASE("an option in the wrong place gives an error that names the right one") {
  check_refused("maskctl -t causal show x", "options of a command stand after its name");
  check_refused("maskctl diff x y --head 0", "every head is read; -t slice:h=0 keeps one");
  check_refused("maskctl check x --batch 0", "every batch is read; -t slice:b=0 keeps one");
}

TEST_CASE("a word of another library gives an error that suggests ours") {
  check_refused("maskctl convert x --dtype bf16", "did you mean 'bfloat16'?");
  check_refused("maskctl info x --as position_ids", "did you mean 'positions'?");
  check_refused("maskctl seq lengths x", "did you mean 'lens'?");
  check_refused("maskctl export x", "did you mean 'convert'?");
}

TEST_CASE("columns stay apart where numbers are long") {
  const Sandbox sandbox;
  const Outcome stats = sandbox.run("maskctl stats gen:causal:n=1M --block 64");
  CHECK(contains(stats.out, " 15,625      122,062,500  500,032,000,000 "));
  const Outcome table = sandbox.run("maskctl translate --table 1M");
  CHECK(contains(table.out, "LocalAttentionFromBottomRightMask(1000000, 0) "));
}

TEST_CASE("the error of a step names only the head that is out of range") {
  check_refused(Sandbox(), "maskctl show samples/heads.npy -t 'heads:9{not}'",
                "step heads: 9 is out of range: there are 4");
}

TEST_CASE("messages write 1 query in the singular") {
  const Sandbox sandbox;
  check_refused(sandbox, "maskctl show gen:full:q=1,k=4 -t causal",
                "1 query and 4 keys do not fix");
  CHECK(contains(sandbox.run("maskctl show gen:full:q=1,k=4").out, "\n1 query x 4 keys, "));
}

TEST_CASE("an empty pipeline is left out of the title") {
  CHECK(Sandbox().run("maskctl show gen:causal:n=4 -t ''").out.starts_with("gen:causal:n=4\n"));
}

TEST_CASE("missing and repeated values are named") {
  check_refused("maskctl show", "show: no SOURCE");
  check_refused("maskctl info", "info: no SOURCE");
  check_refused("maskctl apply", "apply: no SOURCE");
  check_refused("maskctl stats", "stats: no SOURCE");
  check_refused("maskctl convert", "convert: no SOURCE");
  check_refused("maskctl blockmap", "blockmap: no SOURCE");
  check_refused("maskctl seq", "seq: no WHAT; usage: maskctl seq WHAT SOURCE");
  check_refused("maskctl seq lens", "seq: no SOURCE");
  check_refused("maskctl gen", "gen: no STEP");
  check_refused("maskctl apply samples/heads.npy", "apply: no destination");
  check_refused("maskctl combine a b -o c", "--op is missing");
  check_refused("maskctl combine --op and a -o c", "two or more SOURCEs");
  check_refused("maskctl combine --op and a b", "combine: no destination");
  check_refused("maskctl show x --head", "--head: a value is missing");
  check_refused("maskctl show x --head 1 --head 2", "--head: given more than once");
  check_refused("maskctl apply x --print -o -", "both use standard output");
}

TEST_CASE("values of options are checked") {
  check_refused("maskctl show x --head one", "--head 'one': expected whole numbers");
  check_refused("maskctl show x --max-rows -1", "--max-rows '-1'");
  check_refused("maskctl show x --block 0x4", "expected a block size");
  check_refused("maskctl stats x --block 64+", "expected a block size");
  check_refused("maskctl stats x --block 1x2x3", "expected a block size");
  check_refused("maskctl info x --shape 1+2", "expected four extents");
  check_refused("maskctl info x --keep-value 2", "--keep-value '2'");
  check_refused("maskctl info x --pad-id 99999999999", "--pad-id '99999999999'");
  check_refused("maskctl --threads=many info x", "--threads 'many'");
  check_refused("maskctl -j 1 --max-bytes 5parsec info x", "expected a size");
  check_refused("maskctl info x --max-bytes 99999999999TiB", "expected a size");
  check_refused("maskctl info x --color sometimes", "auto, always, never");
  check_refused("MASKCTL_MAX_BYTES=x maskctl info y", "MASKCTL_MAX_BYTES 'x'");
  check_refused("MASKCTL_THREADS=x maskctl info y", "MASKCTL_THREADS 'x'");
  check_refused("MASKCTL_COLOR=x maskctl info y", "MASKCTL_COLOR 'x'");
  check_refused("maskctl gen causal:n=4 --to runs --dtype int8 -o x.npz", "--dtype");
  check_refused("maskctl gen segments:n=4,docs=1 --to runs -o x.npz", "segment ids");
}

TEST_CASE("the error about a head or batch out of range gives the range") {
  check_refused("maskctl show samples/heads.npy --head 4", "the mask has 0 to 3");
  check_refused("maskctl show samples/heads.npy --head -1", "expected whole numbers from 0 on");
  check_refused("maskctl show samples/heads.npy --batch 1", "only batch 0");
}

TEST_CASE("batches out of range are refused in ejkernel's style too", "[ejkernel]") {
  check_refused("maskctl show samples/heads.npy --batch 1 --style ejkernel", "only batch 0");
}

TEST_CASE("a wrong step is reported before a missing destination") {
  for (const char* line :
       {"apply samples/heads.npy -t casual", "convert samples/heads.npy -t casual",
        "combine samples/heads.npy samples/heads.npy --op and -t casual",
        "combine samples/heads.npy samples/heads.npy --op and --transform-b casual",
        "gen casual:n=8 --gzip 1"}) {
    check_refused(Sandbox(), std::string("maskctl ") + line,
                  "unknown step 'casual'; did you mean 'causal'?", 3);
  }
  check_refused("maskctl apply samples/heads.npy -t causal", "apply: no destination");
  check_refused("maskctl golden chek", "golden 'chek': expected one of");
  check_refused("maskctl seq foo", "seq 'foo': expected one of");
}

TEST_CASE("errors name the option that was given, and the one that was likely meant") {
  check_refused("maskctl diff gen:full:n=4 gen:full:n=4 --as-b seg",
                "--as-b 'seg': expected one of");
  check_refused("maskctl info samples/heads.npy --as seg", "did you mean 'segments'?");
  const Outcome red = Sandbox().run("maskctl show gen:full:n=4 --palette red");
  CHECK_FALSE(contains(red.err, "did you mean"));
  check_refused("maskctl gen samples/heads.npy", "samples/heads.npy is a file");
  check_refused("maskctl translate --table x", "--table 'x': expected a number of keys, or all");
  check_refused("maskctl recognise gen:causal:n=8 --write x.txt", "no .txt is written");
}

TEST_CASE("an error says if the file of a call's arrays does not exist") {
  check_refused("maskctl verify gen:causal:n=8 no.npz", "cannot read no.npz: No such file");
  check_refused("maskctl verify-merge no.npz",
                "verify-merge: no.npz is no file: expected part0_out");
}

TEST_CASE("a note says if the file of --write is not written") {
  for (const char* line : {"recognise gen:causal:n=8", "diff gen:causal:n=8 gen:causal:n=8"}) {
    const Outcome none = Sandbox().run(std::string("maskctl ") + line + " --write x.npz");
    CHECK(none.status == 0);
    CHECK(contains(none.err, "note: x.npz is not written: "));
  }
}

TEST_CASE("--transform-b none leaves the second SOURCE as it is") {
  const Sandbox sandbox;
  const std::string diff =
      "maskctl diff gen:causal:n=8 gen:causal:q=4,k=8,align=bottom-right -t slice:q=4:8 ";
  CHECK(sandbox.run(diff + "--transform-b none").status == 0);
  CHECK(sandbox.run(diff + "--transform-b ''").status == 0);
  const Outcome both = sandbox.run(diff);
  CHECK(both.status == 2);
  CHECK(contains(both.err,
                 "gen:causal:q=4,k=8,align=bottom-right: step slice: q=4-7 does not lie in 0-3; "
                 "-t is for both SOURCEs: --transform-b none leaves B as it is"));
}

TEST_CASE("ranges in options can be written in both spellings") {
  const Sandbox sandbox;
  const auto out = [&sandbox](const std::string& words) {
    return sandbox.run("maskctl show samples/heads.npy --title '' " + words).out;
  };
  CHECK(out("--head 0:2") == out("--head 0-1"));
  CHECK(out("-t slice:q=2:6,h=0:1") == out("-t slice:q=2-5,h=0"));
  CHECK(out("-t 'heads:0:2{close:q=0:3}'") == out("-t 'heads:0-1{close:q=0-2}'"));
}

TEST_CASE("a bad file gives one error line and exit status 2") {
  check_refused("maskctl info nothing.npy", "cannot read nothing.npy: No such file");
  check_refused("mkdir no; maskctl info no", "no: a folder without .npy, .npz");
  check_refused("printf 'hello there' >t.npy; maskctl show t.npy", "t.npy: ");
  check_refused(": >e.npy; maskctl show e.npy", "empty file");
  check_refused("head -c 140 samples/heads.npy >cut.npy; maskctl stats cut.npy", "cut.npy: ");
  check_refused("maskctl show samples/padded.npy", "--as padding");
  check_refused("maskctl show samples/heads.npy --segments samples/cross.npy", "samples/cross.npy");
  check_refused("maskctl combine --op and samples/heads.npy samples/cross.npy -o x.npy",
                "samples/cross.npy: ");
}

TEST_CASE("a pipeline error shows the place") {
  const Outcome outcome = Sandbox().run("maskctl show samples/heads.npy -t 'causal | win dow'");
  CHECK(outcome.status == 2);
  CHECK(outcome.err ==
        "maskctl: error: pipeline: expected '|' or end, got 'd'\n"
        "  causal | win dow\n"
        "               ^\n");
}

TEST_CASE("limits are checked before memory is taken") {
  check_refused("maskctl --max-bytes 10 info samples/packed.npy --as segments", "the limit is 10");
  check_refused("MASKCTL_MAX_BYTES=10 maskctl info samples/packed.npy --as segments",
                "the limit is 10");
  const Outcome flag_wins = Sandbox().run(
      "MASKCTL_MAX_BYTES=10 maskctl info --max-bytes 1MiB samples/packed.npy --as segments");
  CHECK(flag_wins.status == 0);
}

TEST_CASE("a full disk is an error") {
  for (const std::string line :
       {"maskctl --version", "maskctl --help", "maskctl ops", "maskctl info samples/heads.npy",
        "maskctl ops --json", "maskctl show samples/heads.npy", "maskctl stats samples/heads.npy",
        "maskctl gen causal:n=64 -o -"}) {
    const Outcome outcome = Sandbox().run(line + " >/dev/full");
    INFO(line);
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, "No space left on device"));
  }
}

TEST_CASE("a closed output pipe ends the program silently") {
  const Outcome outcome = Sandbox().run(
      "{ maskctl gen full:n=4096 -o -; echo $? >status; } | head -c 10 >/dev/null; cat status");
  CHECK(outcome.out == "141\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("an interrupt removes half-written files") {
  const Outcome outcome = Sandbox().run(
      "mkdir out; env --default-signal=INT timeout --preserve-status -k 20 -s INT 0.4 "
      "maskctl -j 1 gen random:n=60000,sparsity=0.5,seed=1 -o out/big.npy; echo $?; ls -A out");
  CHECK(outcome.out == "130\n");
  CHECK(outcome.err.empty());
}

TEST_CASE("existing files are kept without --force") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl gen causal:n=4 -o m.npy").status == 0);
  const std::string before = slurp(sandbox.work() / "m.npy");
  const Outcome refused = sandbox.run("maskctl gen full:n=4 -o m.npy");
  CHECK(refused.status == 2);
  CHECK(contains(refused.err, "--force"));
  CHECK(slurp(sandbox.work() / "m.npy") == before);
  CHECK(sandbox.run("maskctl gen full:n=4 -o m.npy --force").status == 0);
  CHECK(slurp(sandbox.work() / "m.npy") != before);
}

TEST_CASE("masks flow through pipes") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl gen causal:n=8 -o c.npy").status == 0);
  CHECK(sandbox.run("maskctl gen causal:n=8 -o - | cmp - c.npy").status == 0);
  CHECK(sandbox.run("maskctl apply c.npy -o - --to runs | maskctl apply - -o - | cmp - c.npy")
            .status == 0);
  CHECK(sandbox
            .run("maskctl gen causal:n=8 -o - --to runs | maskctl apply - -o - | maskctl combine "
                 "--op xor - c.npy -o x.npy && maskctl info x.npy --json")
            .out.find("\"open\": 0") != std::string::npos);
  check_refused("maskctl combine --op and - - -o x.npy <samples/heads.npy", "only once");
}

TEST_CASE("equal chains give equal files however they are spelled") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl apply samples/heads.npy -t causal -t window:keys=3 -o a.npy")
            .err.empty());
  sandbox.run("maskctl apply samples/heads.npy -t 'causal | window:keys=3' -o b.npy");
  sandbox.run(
      "printf 'causal # by position\\n| window:keys=3\\n' >p; "
      "maskctl apply samples/heads.npy -t @p -o c.npy");
  CHECK(sandbox.run("cmp a.npy b.npy && cmp b.npy c.npy").status == 0);
}

TEST_CASE("global options stand before or after the command") {
  const Sandbox sandbox;
  const Outcome after = sandbox.run("maskctl show samples/heads.npy --color never -j 1");
  const Outcome before = sandbox.run("maskctl --color never -j 1 show samples/heads.npy");
  CHECK(after.status == 0);
  CHECK(after.out == before.out);
}

TEST_CASE("a file named like a command or starting with a dash is a file") {
  const Sandbox sandbox;
  sandbox.run("cp samples/heads.npy stats; cp samples/heads.npy ./-x.npy");
  CHECK(sandbox.run("maskctl info stats").status == 0);
  CHECK(sandbox.run("maskctl info -- -x.npy").out.starts_with("-x.npy\n"));
  CHECK(sandbox.run("maskctl show --head 1 -- -x.npy").status == 0);
}

TEST_CASE("colour depends on the flag, then the environment, then the terminal") {
  const Sandbox sandbox;
  const std::string show = "maskctl show samples/heads.npy --style shade";
  const auto colored = [&](const std::string& line) {
    return contains(sandbox.run(line).out, "\x1b[");
  };
  CHECK_FALSE(colored(show));
  CHECK(colored(show + " --color always"));
  CHECK(colored("CLICOLOR_FORCE=1 " + show));
  CHECK_FALSE(colored("CLICOLOR_FORCE=0 " + show));
  CHECK_FALSE(colored("NO_COLOR=1 CLICOLOR_FORCE=1 " + show));
  CHECK(colored("NO_COLOR=1 " + show + " --color always"));
  CHECK(colored("MASKCTL_COLOR=always " + show));
  CHECK_FALSE(colored("MASKCTL_COLOR=always " + show + " --color never"));
}

TEST_CASE("drawings on a terminal have colour and fit its size") {
  const Sandbox sandbox;
  const std::string show = "maskctl show gen:causal:n=4096";
  const Outcome plain = sandbox.run_on_terminal("NO_COLOR=1 " + show);
  CHECK(plain.status == 0);
  CHECK_FALSE(contains(plain.out, "\x1b["));
  CHECK(std::count(plain.out.begin(), plain.out.end(), '\n') <= 23);
  CHECK(contains(sandbox.run_on_terminal(show).out, "\x1b["));
  CHECK_FALSE(contains(sandbox.run_on_terminal("TERM=dumb " + show).out, "\x1b["));
}

TEST_CASE("a terminal is neither read as an array nor written to as one") {
  const Sandbox sandbox;
  const Outcome reading = sandbox.run_on_terminal("maskctl show -");
  CHECK(reading.status == 2);
  CHECK(contains(reading.out, "standard input is a terminal"));
  const Outcome writing = sandbox.run_on_terminal("maskctl gen causal:n=4 -o -");
  CHECK(writing.status == 2);
  CHECK(contains(writing.out, "refusing to write .npy to a terminal"));
}

TEST_CASE("in a locale without UTF-8 drawings are in ASCII") {
  const Outcome outcome = Sandbox().run("LC_ALL=C maskctl show samples/heads.npy");
  CHECK(outcome.status == 0);
  for (const char c : outcome.out) REQUIRE(static_cast<unsigned char>(c) < 128);
}

TEST_CASE("notes are printed on stderr, and --quiet drops them") {
  const Sandbox sandbox;
  sandbox.run("cp samples/heads.npy long.npy; printf xx >>long.npy");
  const Outcome noted = sandbox.run("maskctl stats long.npy");
  CHECK(noted.status == 0);
  CHECK(noted.err.starts_with("maskctl: note: long.npy"));
  CHECK(sandbox.run("maskctl -q stats long.npy").err.empty());
  check_refused(
      "cp samples/heads.npy long.npy; printf xx >>long.npy; maskctl --strict stats long.npy",
      "long.npy");
}

TEST_CASE("info lists the arrays of an archive and the kinds that an array fits") {
  const Sandbox sandbox;
  sandbox.run(
      "/usr/bin/python3 -c \"import numpy as n; n.savez('m.npz', a=n.zeros((2,3)), "
      "b=n.ones(4, bool))\"");
  const Outcome archive = sandbox.run("maskctl info m.npz");
  CHECK(archive.status == 0);
  CHECK(contains(archive.out, "float64 (2, 3)"));
  CHECK(contains(archive.out, "bool (4,)"));
  const Outcome fits = sandbox.run("maskctl info samples/padded.npy");
  CHECK(fits.status == 0);
  CHECK(contains(fits.out, "--as"));
  CHECK(contains(sandbox.run("maskctl info samples/padded.npy --json").out, "\"kind\": null"));
}

TEST_CASE("the output of --json can be parsed as JSON") {
  const Sandbox sandbox;
  for (const std::string line :
       {"maskctl info samples/heads.npy samples/cross.npy --json", "maskctl ops --json",
        "maskctl stats samples/heads.npy --json", "maskctl stats gen:empty:q=2,k=3 --json",
        "maskctl blockmap samples/heads.npy --block 4 --json",
        "maskctl seq lens samples/padded.npy --as padding --json",
        "maskctl info samples/packed.npy --as segments --mesh dp=2 --json"}) {
    const bool needs_it = contains(line, "blockmap") || contains(line, "--mesh");
    if (needs_it && without_ejkernel()) continue;
    INFO(line);
    const Outcome outcome =
        sandbox.run(line +
                    " >out.json && /usr/bin/python3 -c "
                    "'import json; print(json.load(open(\"out.json\"))[\"schema\"])'");
    CHECK(outcome.status == 0);
    CHECK(outcome.out.starts_with("maskctl."));
  }
}

}  // namespace
}  // namespace maskctl::test
