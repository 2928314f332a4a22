// Tests the inspector by scripts of keys (screens that must be equal, random walks) and in a real
// terminal. Golden cases (tests/golden/tui_*) have a screen of each view.
#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "maskctl/base/text.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const std::string kPackedRow = "samples/packed.npy --as segments -t causal";
const std::string kLeaked = "samples/leaked.npy --segments samples/leaked_ids.npy";
const std::string kMillion = "gen:segments:n=1M,docs=700,seed=4 -t causal -t window:keys=3000";

/// True if the inspector begins with a list of batches and heads, from which <Enter> opens the
/// first.
bool lists(const std::string& source) {
  return contains(source, "packed.npy") || contains(source, "heads.npy");
}

/// Returns the screen after these keys, which are passed in a file, so that they may be any
/// characters.
std::string screen(const Sandbox& sandbox, const std::string& source, const std::string& keys,
                   const std::string& how = "") {
  spit(sandbox.work() / "keys", (lists(source) ? "<Enter>" : "") + keys);
  const Outcome outcome =
      sandbox.run("maskctl tui " + source + " --script @keys --dump - --color never " + how);
  INFO(outcome.err);
  CHECK(outcome.status == 0);
  return outcome.out;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> out;
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

/// Returns a screen without the line of the pipeline, which shows how much can be undone.
std::string without_pipeline(const std::string& screen) {
  std::string out;
  for (const std::string& line : lines_of(screen)) {
    if (!contains(line, "pipeline>")) out += line + "\n";
  }
  return out;
}

TEST_CASE("tui: undo returns to the same screen, redo to the same again", "[tui]") {
  const Sandbox sandbox;
  for (const std::string& source : {kPackedRow, kMillion}) {
    const std::string walk = "+jjjllll+/border<Enter>";
    const std::string edit = "a window:keys=2<Enter>";
    const std::string before = screen(sandbox, source, walk);
    const std::string after = screen(sandbox, source, walk + edit);
    CHECK(without_pipeline(before) != without_pipeline(after));
    CHECK(without_pipeline(screen(sandbox, source, walk + edit + "u")) == without_pipeline(before));
    CHECK(without_pipeline(screen(sandbox, source, walk + edit + "u<C-r>")) ==
          without_pipeline(after));
  }
}

TEST_CASE("tui: zooming in and out, or to the end and back, returns to the same screen", "[tui]") {
  const Sandbox sandbox;
  const std::string at = ":600_000,599_990<Enter>=";
  const std::string close = screen(sandbox, kMillion, at);
  CHECK(screen(sandbox, kMillion, at + "f=") == close);
  CHECK(screen(sandbox, kMillion, at + "maGg$'a") == close);
  CHECK(screen(sandbox, kMillion, at + "jjjkkk") == close);
  CHECK(screen(sandbox, kMillion, at + "7j7k") == close);
  CHECK(screen(sandbox, kMillion, at + "<Resize 100x40><Resize 80x24>") == close);
}

TEST_CASE("tui: after an error in a pipeline, the last valid mask stays on the screen", "[tui]") {
  const Sandbox sandbox;
  const std::string good = screen(sandbox, kPackedRow, "jj");
  for (const char* wrong : {" | windw", " | doc:nothing.npy", "{", " | heads:7{not}"}) {
    INFO(wrong);
    const std::string shown = screen(sandbox, kPackedRow, std::string("jjt") + wrong + "<Enter>");
    CHECK(contains(shown, "pipeline> causal"));
    // All lines above the pipeline are unchanged.
    const auto now = lines_of(shown), before = lines_of(good);
    for (std::size_t i = 0; i + 2 < before.size(); ++i) CHECK(now[i] == before[i]);
    CHECK(screen(sandbox, kPackedRow, std::string("jjt") + wrong + "<Enter><Esc>") == good);
  }
}

TEST_CASE("tui: saving asks before it replaces a file", "[tui]") {
  const Sandbox sandbox;
  CHECK(contains(screen(sandbox, kPackedRow, ":w mask.npy<Enter>"), "wrote mask.npy"));
  CHECK(contains(screen(sandbox, kPackedRow, ":w mask.npy<Enter>"), "exists"));
  CHECK(contains(screen(sandbox, kPackedRow, ":w! mask.npy<Enter>"), "wrote mask.npy"));
  CHECK(contains(screen(sandbox, kPackedRow, "a window:keys=3<Enter>:w mask.svg<Enter>"), "wrote"));
  CHECK(sandbox.run("maskctl diff mask.npy samples/packed.npy --as-b segments --transform-b causal")
            .status == 0);
  CHECK(contains(slurp(sandbox.work() / "mask.svg"), "causal | window:keys=3"));
}

TEST_CASE("tui: steps can be removed, switched off and moved; one that is off changes nothing",
          "[tui]") {
  const Sandbox sandbox;
  const std::string two = "samples/packed.npy --as segments -t causal -t window:keys=4";
  const auto drawn = [&](const std::string& source, const std::string& keys) {
    return without_pipeline(screen(sandbox, source, keys));
  };
  const std::string without = drawn(kPackedRow, "");
  CHECK(drawn(two, "<Tab>x<Esc>") != drawn(two, ""));
  CHECK(drawn(two, "<Tab>x<Esc>") == without);
  CHECK(drawn(two, "<Tab><Space><Esc>") == without);
  CHECK(drawn(two, "<Tab><Space><Space><Esc>") == drawn(two, ""));
  CHECK(drawn(kPackedRow, "a # window:keys=4<Enter>") == without);
  CHECK(contains(screen(sandbox, two, "<Tab>h)"), "pipeline> window:keys=4 | causal"));
  CHECK(contains(screen(sandbox, two, "<Tab>e,align=nonsense"), "align"));
  // At most 1000 changes can be undone.
  std::string often = "<Tab>";
  for (int i = 0; i < 1005; ++i) often += "<Space>";
  CHECK(contains(screen(sandbox, kPackedRow, often), "undo 1000 redo 0"));
  // A step that is on may follow one that is off, and an error still names the right step.
  CHECK(contains(screen(sandbox, two, "t<C-u>#causal | windw<Enter>"), "did you mean 'window'"));
}

TEST_CASE("tui: other commands read a saved pipeline, which lacks the steps that are off",
          "[tui]") {
  const Sandbox sandbox;
  screen(sandbox, "samples/packed.npy --as segments -t causal -t window:keys=4",
         "<Tab>h<Space><Esc>:w @steps<Enter>");
  CHECK(slurp(sandbox.work() / "steps") == "#causal\nwindow:keys=4\n");
  CHECK(
      sandbox
          .run("maskctl apply samples/packed.npy --as segments -t @steps -o a.npy && maskctl diff "
               "a.npy samples/packed.npy --as-b segments --transform-b window:keys=4")
          .status == 0);
}

TEST_CASE("tui: the weights shown are those that attend computes", "[tui]") {
  const Sandbox sandbox;
  CHECK(
      sandbox
          .run("maskctl attend attention --axes B=1+Tq=64+Tk=64+Hq=1+Hkv=1+D=64 --seed 3 --mask "
               "gen:window:keys=33,n=64 -o a.npz && /usr/bin/python3 -c \"import numpy as np; w = "
               "np.load('a.npz')['weights'][0, 0, 40]; k = int(w.argmax()); "
               "print(f'key {k}: {w[k]:.4f}')\" > top")
          .status == 0);
  const std::string top = slurp(sandbox.work() / "top");
  REQUIRE(top.size() > 8);
  const std::string shown = screen(sandbox, "gen:window:keys=33,n=64", "40Gw", "--seed 3");
  CHECK(contains(shown, top.substr(0, top.size() - 1)));
  // A step for one head changes only the weights of that head. If two masks are shown, each has its
  // own weights.
  const std::string heads = "samples/bugs/heads.npy";
  CHECK(contains(screen(sandbox, heads, "7G]wa heads:1{window:keys=1}<Enter>"), "key 7: 1.0000"));
  const auto beside =
      lines_of(screen(sandbox, "gen:window:keys=1,n=24 gen:full:n=24", "d20Gw", "--size 70x30"));
  const auto title = std::ranges::find_if(
      beside, [](const std::string& line) { return contains(line, "weights of query"); });
  REQUIRE(title + 1 < beside.end());
  INFO(title[1]);
  const auto shaded = [&](std::size_t begin, std::size_t end) {
    const std::string part = title[1].substr(begin, end - begin);
    return std::ranges::count_if(part,
                                 [](char c) { return static_cast<unsigned char>(c) == 0xE2; });
  };
  CHECK(shaded(0, 36) == 1);
  CHECK(shaded(36, title[1].size()) > 10);
  check_refused(sandbox, "maskctl tui gen:causal:n=4 --query q.npy --dump -", "give both or none");
}

TEST_CASE("tui: each fault of samples/bugs is visible", "[tui]") {
  const Sandbox sandbox;
  CHECK(sandbox.run("maskctl convert gen:causal:n=8 --to segments --lossy -o ids.npy").status == 0);
  const std::string bugs = "samples/bugs/", blocks = " --as-b blockmap:64";
  struct Fault {
    std::string source, keys, shown;
  };
  const std::vector<Fault> faults = {
      {bugs + "window_decode.npy " + bugs + "window_train.npy", "", "window left 8 instead of 7"},
      {bugs + "top_left.npy " + bugs + "bottom_right.npy --as dense", "", "moved by K - Q = 4"},
      {bugs + "zero_declared.npy " + bugs + "zero_applied.npy", "",
       "window left none instead of 0"},
      {"gen:causal:n=12 -t window:both=0", "C", "window-zero"},
      {"gen:causal:n=8 ids.npy --as-b segments", "n", "query 1, key 0: only in A"},
      {"gen:window:keys=101,n=512 " + bugs + "blocks_w100.npy" + blocks, "dddd", "only A"},
      {bugs + "chunk_offset.npy gen:chunk:size=4,offset=2,n=12 -t causal:offset=2", "",
       "chunk offset 2 instead of 0"},
      {bugs + "prefill.npy --as dense", "/empty<Enter>", "query 0 sees 0 keys"},
      {bugs + "documents.npy --as segments -t causal -t tokens:" + bugs + "types.npy", "n",
       "query 1 has type 1, key 8 type 1"},
      {"gen:full:n=10", "b>", "partial 0 (0%)"},
      {bugs + "labels.npy --as segments", "G$", "segments 101, 101"},
      {bugs + "heads.npy", "]r", "heads:0{chunk:size=4} | heads:1{causal}"},
  };
  for (const Fault& fault : faults) {
    INFO(fault.source);
    // All text, with the short lines of the side panel joined.
    std::string words;
    for (const std::string& line : lines_of(screen(sandbox, fault.source, fault.keys))) {
      const std::size_t panel = line.rfind("\u2502  ");
      words += panel == std::string::npos ? line : " " + line.substr(panel + 5);
    }
    CHECK(contains(words, fault.shown));
  }
}

/// Draws random keys, typed texts and sizes, but nothing that ends the inspector or writes a file.
class Walker {
 public:
  explicit Walker(unsigned seed) : random_(seed) {}

  std::string keys(int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += one();
    return out;
  }

 private:
  int pick(int low, int high) {
    return low + static_cast<int>(random_() % static_cast<unsigned>(high - low + 1));
  }
  std::string number(int high) { return std::to_string(pick(0, high)); }

  std::string one() {
    static const std::vector<std::string> kKeys = {
        "h",      "j",       "k",      "l",       "H",     "J",     "K",        "L",
        "<Left>", "<Right>", "<Up>",   "<Down>",  "<C-d>", "<C-u>", "<PageUp>", "<PageDown>",
        "0",      "$",       "g",      "G",       "+",     "+",     "-",        "-",
        "f",      "=",       "n",      "N",       "[",     "]",     "{",        "}",
        "ma",     "'a",      "mb",     "'b",      "u",     "<C-r>", "d",        "s",
        "S",      "?",       "<F1>",   "<Esc>",   "r",     "c",     "i",        "<Enter>",
        "<Tab>",  "<BS>",    "<Home>", "<End>",   "<Del>", "<C-l>", "3",        "7",
        "9",      "<Tab>",   "x",      "<Space>", "(",     ")",     "e",        "b",
        "<lt>",   ">",       "w",      "C",       "o",     "Y",     "F",        "D",
        ".",      ",",       "<C-o>",  "z",       "I"};
    static const std::vector<std::string> kTyped = {"a causal<Enter>",
                                                    "a window:keys=5<Enter>",
                                                    "t<C-u><Enter>",
                                                    "t<C-u>not<Enter>",
                                                    "a not | nonsense<Esc>",
                                                    "a slice:q=1:9<Enter>",
                                                    "a win<Tab>:<Tab>",
                                                    "a heads:0{not}<Enter>",
                                                    "/leak<Enter>",
                                                    "/empty<Enter>",
                                                    "/border<Enter>",
                                                    "/partial<Enter>",
                                                    "F<Enter>",
                                                    "Dj<Enter>",
                                                    "<C-o>n",
                                                    "<C-o>><Enter>",
                                                    ":segments <Esc>",
                                                    "/diff<Enter>",
                                                    "/<Tab><Enter>",
                                                    ":<Up><Enter>",
                                                    "t<Up><Down><Esc>",
                                                    "<Tab>h<Space>",
                                                    "a #causal | not<Enter>",
                                                    "<Tab>(x<Esc>"};
    switch (pick(0, 20)) {
      case 5:
        return "<Mouse " + number(30) + "," + number(90) + "><Drag " + number(30) + "," +
               number(90) + ">";
      case 0:
        return "<Resize " + number(220) + "x" + number(70) + ">";
      case 1:
        return "<Mouse " + number(70) + "," + number(220) + ">";
      case 2:
        return (pick(0, 1) ? "<WheelUp 1," : "<WheelDown 1,") + number(9) + ">";
      case 3:
        return ":" + number(1'200'000) + "," + number(40) + "<Enter>";
      case 4:
        return "<Esc>" + kTyped[as_index(pick(0, static_cast<int>(kTyped.size()) - 1))];
      default:
        return kKeys[as_index(pick(0, static_cast<int>(kKeys.size()) - 1))];
    }
  }
  static std::size_t as_index(int i) { return static_cast<std::size_t>(i); }

  std::mt19937 random_;
};

/// Reads the cursor and the size of the mask from a screen, and checks that the cursor is inside.
void check_cursor_inside(const std::string& screen) {
  long queries = 0, keys = 0, query = -1, key = -1;
  const auto lines = lines_of(screen);
  REQUIRE(lines.size() == 24);
  const std::size_t shape = lines.front().rfind("Q ");
  REQUIRE(std::sscanf(lines.front().c_str() + shape, "Q %ld, K %ld]", &queries, &keys) == 2);
  REQUIRE(std::sscanf(lines.back().c_str(), " %ld,%ld", &query, &key) == 2);
  CHECK((query >= 0 && query < queries && key >= 0 && key < keys));
}

std::string report(const Sandbox& sandbox, const std::string& source, const std::string& keys) {
  const Outcome outcome = sandbox.run("maskctl tui " + source + " --script '" + keys +
                                      "' --size 150x60 --color never --dump -");
  CHECK(outcome.status == 0);
  return outcome.out;
}

TEST_CASE("tui: F and r show the pipeline that recognise finds, also if it reads arrays", "[tui]") {
  const Sandbox sandbox;
  CHECK(sandbox
            .run("maskctl apply gen:doc:lens=2+1+3+2+1 -t 'open:q=0-1,k=3-5 | open:q=3-5,k=0-1' -o "
                 "m.npy")
            .status == 0);
  CHECK(contains(sandbox.run("maskctl recognise m.npy").out, "doc:recognised.npz:ids1\n"));
  const std::string findings = report(sandbox, "m.npy", "F");
  CHECK(contains(findings, "check: 0 findings"));
  CHECK(contains(findings, "recognised: doc:recognised.npz:ids1; maskctl recognise --write saves"));
  CHECK(contains(report(sandbox, "m.npy", "r"), "doc:recognised.npz:ids1"));
}

TEST_CASE("tui: wrong cumulative lengths are refused with the reason, also from a pipe", "[tui]") {
  const Sandbox sandbox;
  for (const char* line : {"maskctl tui bad.npy --as cu_seqlens --dump -",
                           "maskctl tui - --as cu_seqlens --dump - <bad.npy"}) {
    const Outcome outcome = sandbox.run(
        "/usr/bin/python3 -c 'import numpy as np; np.save(\"bad.npy\", np.int32([1, 5]))'; " +
        std::string(line));
    CHECK(outcome.status == 2);
    CHECK(contains(outcome.err, ": cu_seqlens start with 1\n"));
  }
}

TEST_CASE("tui: a rectangle that leaks in one head of a batch is found", "[tui]") {
  const Sandbox sandbox;
  const Outcome made = sandbox.run(
      "maskctl apply gen:full:b=4,h=2,n=48 -t 'doc:lens=10+14+13+11 | causal | "
      "batch:2{heads:1{open:q=30-33,k=3-12}}' -o m.npy && "
      "maskctl gen segments:lens=10+14+13+11 -o ids.npy");
  INFO(made.err);
  CHECK(made.status == 0);
  const Outcome checked = sandbox.run("maskctl check m.npy --segments ids.npy");
  CHECK(contains(checked.out, "error: document-leak: 40 cells across documents"));
  const std::string findings = report(sandbox, "m.npy --segments ids.npy", "F");
  CHECK(contains(findings, "error: 40 cells across documents"));
  CHECK(contains(findings, "recognised: "));
}

/// The lines of `check` that state a finding, without the ids of their rules.
std::vector<std::string> findings_of(const std::string& text) {
  std::vector<std::string> out;
  for (const std::string_view line : split(text, '\n')) {
    for (const std::string_view severity : {"error: ", "warning: ", "note: "}) {
      if (line.starts_with(severity)) out.emplace_back(line.substr(line.find(": ", 9) + 2));
    }
  }
  return out;
}

TEST_CASE("tui: F lists the findings of check for every kind of SOURCE", "[tui]") {
  const Sandbox sandbox;
  const Outcome made = sandbox.run(
      "maskctl convert gen:causal:n=24 -t 'close:k=0-4' --to bias -o inf.npy && "
      "maskctl convert gen:causal:n=24 -t 'close:k=0-4' --to bias --fill min -o min.npy && "
      "maskctl gen segments:lens=3+3 -o ids.npy && "
      "maskctl convert gen:causal:n=24 -o odd.npy && "
      "printf '\\002' | dd of=odd.npy bs=1 seek=128 conv=notrunc");
  INFO(made.err);
  CHECK(made.status == 0);
  for (const char* source :
       {"inf.npy --as bias", "min.npy --as bias", "odd.npy", "ids.npy --as segments",
        "samples/leaked.npy", "gen:window:keys=4,n=16", "gen:close:k=3,n=64",
        "samples/padded.npy --as padding"}) {
    const Outcome checked = sandbox.run("maskctl check " + std::string(source));
    INFO(source << "\n" << checked.out << checked.err);
    const std::vector<std::string> expected = findings_of(checked.out);
    const std::string screen = report(sandbox, source, "F");
    INFO(screen);
    CHECK(contains(screen, "check: " + counted(std::ssize(expected), "finding")));
    for (const std::string& finding : expected) CHECK(contains(screen, finding.substr(0, 100)));
  }
}

TEST_CASE("tui: after random keys, the cursor is inside the mask", "[tui][slow]") {
  const Sandbox sandbox;
  // Closes whatever is open, and makes the screen large enough for the cursor and the size of the
  // mask.
  const std::string home = "<Esc><Esc><Esc><Esc><Resize 80x24>hl";
  struct Walk {
    std::string source;
    int keys, times;
  };
  const std::vector<Walk> walks = {{kPackedRow, 700, 4},
                                   {kLeaked, 700, 4},
                                   {"samples/heads.npy gen:causal:n=16", 700, 3},
                                   {"gen:causal:q=1,k=90_000,align=bottom-right", 500, 2},
                                   {"gen:window:q=300,k=7,keys=3,align=top-left", 500, 2},
                                   {kMillion, 250, 2}};
  unsigned seed = 1;
  for (const Walk& walk : walks) {
    for (int i = 0; i < walk.times; ++i) {
      INFO(walk.source << ", seed " << seed);
      check_cursor_inside(screen(sandbox, walk.source, Walker(seed++).keys(walk.keys) + home));
    }
  }
}

TEST_CASE("tui: refuses to start without a terminal, and says why", "[tui]") {
  const Sandbox sandbox;
  check_refused(sandbox, "setsid -w maskctl tui samples/leaked.npy", "no terminal to draw on");
  check_refused(sandbox, "maskctl tui samples/leaked.npy --script j", "--script goes with --dump");
  check_refused(sandbox, "maskctl tui samples/leaked.npy --dump - --size 80",
                "expected columns x rows");
  check_refused(sandbox,
                "maskctl tui samples/leaked.npy samples/packed.npy --as-b segments --dump -",
                "cannot be laid over each other");
  if (was_built_without("curses")) return;
  const Outcome unknown = sandbox.run_on_terminal("TERM=nonsense maskctl tui samples/leaked.npy");
  CHECK(unknown.status == 2);
  CHECK(contains(unknown.out, "TERM=nonsense is not a terminal that curses knows"));
  CHECK_FALSE(contains(unknown.out, "\x1b"));
  const Outcome dumb = sandbox.run_on_terminal("TERM=dumb maskctl tui samples/leaked.npy");
  CHECK(dumb.status == 2);
  CHECK(contains(dumb.out, "TERM=dumb cannot place a cursor, try TERM=xterm-256color"));
}

TEST_CASE("tui: works in a real terminal", "[tui]") {
  if (was_built_without("curses")) return;
  const Sandbox sandbox;
  const Outcome outcome =
      sandbox.run("sh '" MASKCTL_SOURCE_DIR "/tests/app/tui_terminal.sh' " + command());
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

}  // namespace
}  // namespace maskctl::test
