// Tests completion: what may come next on a command line, and what bash, zsh and fish make of that.
#include <algorithm>
#include <array>
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

using Words = std::vector<std::string>;

Words lines_of(const std::string& text) {
  Words out;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) out.push_back(line);
  return out;
}

/// Returns the completions of the last of these words (quoted for the shell), without descriptions.
Words candidates(const Sandbox& sandbox, const std::string& words) {
  const Outcome outcome = sandbox.run("maskctl __complete " + words);
  CAPTURE(words, outcome.err);
  CHECK(outcome.status == 0);
  CHECK(outcome.err.empty());
  Words out = lines_of(outcome.out);
  for (std::string& line : out) line = line.substr(0, line.find('\t', 1));
  return out;
}

bool has(const Words& words, const std::string& word) {
  return std::ranges::find(words, word) != words.end();
}

TEST_CASE("completion: each command line gives exactly the expected candidates") {
  const Sandbox sandbox;
  const auto [line, expected] = GENERATE(table<std::string, Words>({
      {"sta", {"stats"}},
      {"help sta", {"stats"}},
      {"--strict sta", {"stats"}},
      {"--threads ''", {}},
      {"--prog", {"--progress"}},
      {"--progress ''", {"auto", "never"}},
      {"show --sty", {"--style"}},
      {"show --style h", {"half"}},
      {"show --style=h", {"--style=half"}},
      {"show --head ''", {"all"}},
      {"show --grid --gri", {}},
      {"apply x -t a -t b --trans", {"--transform"}},
      {"apply -t", {"-t"}},
      {"stats --help", {"--help", "--help-all"}},
      {"stats --tra", {"--transform"}},
      {"apply --trac", {"--trace"}},
      {"completions ''", {"bash", "zsh", "fish"}},
      {"golden ''", {"check", "update", "list", "init"}},
      {"golden check samples/golden.toml w", {"window and sinks"}},
      {"probe ''", {"make", "read"}},
      {"verify-merge part0", {"\tfiles", "part0_out=", "part0_lse="}},
      {"info x --as cu", {"cu_seqlens", "cu_seqlens-padded"}},
      {"convert x --dtype bf", {"bfloat16"}},
      {"attend --cache ''", {"\tdirectories"}},
      {"attend --cache=samples/go", {"--cache=samples/golden/"}},
      {"ops wind", {"window"}},
      {"stats x -t wind", {"window:"}},
      {"stats x -t 'causal | wind'", {"causal | window:"}},
      {"stats x -t 'causal|wind'", {"causal|window:"}},
      {"stats x -t 'heads:0-3{wind'", {"heads:0-3{window:"}},
      {"stats x -t causal", {"causal", "causal:"}},
      {"stats x -t window:keys=4,al", {"window:keys=4,align="}},
      {"stats x -t window:keys=4,l", {}},
      {"stats x -t window:align=b", {"window:align=bottom-right"}},
      {"stats x -t block:samples/pack", {"block:samples/packed.npy"}},
      {"stats x -t @", {"@samples/"}},
      {"stats gen:causal:n", {"gen:causal:n="}},
      {"gen seg", {"segments:"}},
      {"check x -e no-e", {"no-empty-rows"}},
      {"check x -e 'equals:causal | wind'", {"equals:causal | window:"}},
      {"check x -e subset-of:samples/pack", {"subset-of:samples/packed.npy"}},
      {"check x -e window:k", {"window:keys="}},
      {"attend flash_attention soft", {"softmax_scale=", "softmax_aux="}},
      {"attend flash_attention causal=", {"causal=true", "causal=false"}},
      {"attend flash_attention query=samples/pack", {"query=samples/packed.npy"}},
      {"verify x --op ring_attention ring", {"ring_size="}},
      {"translate --to fa+xf", {"fa+xformers"}},
      {"translate --from xf", {"xformers"}},
      {"bench --backend cpu+ref", {"cpu+reference"}},
      {"info q=samples/batch.npz:seg", {"q=samples/batch.npz:segment_ids"}},
      {"frobnicate sta", {}},
  }));
  CAPTURE(line);
  Words found = candidates(sandbox, line);
  Words wanted = expected;
  std::ranges::sort(found);
  std::ranges::sort(wanted);
  CHECK(found == wanted);
}

TEST_CASE("completion: arrays of a container are listed without reading their data") {
  const Sandbox sandbox;
  for (const std::string file : {"samples/batch.npz:", "samples/batch.safetensors:"}) {
    const Words found = candidates(sandbox, "info " + file);
    CHECK(has(found, file + "segment_ids"));
    CHECK_FALSE(has(found, "\tfiles"));
  }
  CHECK(
      has(candidates(sandbox, "info samples/batch.h5:/train/h"), "samples/batch.h5:/train/heads"));
}

TEST_CASE("completion: a SOURCE may be a file, which the shell completes") {
  const Words found = candidates(Sandbox(), "info ''");
  CHECK(has(found, "\tfiles"));
  CHECK(has(found, "gen:"));
}

TEST_CASE("completion: files that cannot be read give no candidates and no message") {
  const Sandbox sandbox;
  sandbox.run(
      "head -c 3000 samples/batch.h5 > cut.h5; head -c 100 samples/batch.npz > cut.npz;"
      "printf '[[golden]' > bad.toml; mkfifo pipe.npz; : > empty.npz; mkdir folder.npz");
  for (const char* name :
       {"cut.h5", "cut.npz", "empty.npz", "folder.npz", "pipe.npz", "absent.npz", "bad.toml"}) {
    CHECK(candidates(sandbox, "info " + std::string(name) + ":") == Words{"\tfiles"});
  }
  CHECK(candidates(sandbox, "golden check bad.toml ''").empty());
  CHECK(candidates(sandbox, "").empty());
}

TEST_CASE("completion: each candidate has a description of one line") {
  const Sandbox sandbox;
  for (const std::string& line : lines_of(sandbox.run("maskctl __complete ''").out)) {
    const std::string command = line.substr(0, line.find('\t'));
    CAPTURE(command);
    CHECK(line.find('\t') + 1 < line.size());
    const Outcome options = sandbox.run("maskctl __complete " + command + " --");
    for (const std::string& option : lines_of(options.out)) {
      CAPTURE(option);
      CHECK(option.starts_with("--"));
      CHECK(std::ranges::count(option, '\t') == 1);
    }
  }
}

TEST_CASE("completion: works when it is typed into bash, zsh and fish") {
  const Sandbox sandbox;
  sandbox.run("cp samples/batch.npz 'my batch.npz'");
  const std::string shell = GENERATE("bash", "zsh", "fish");
  INFO(shell << ": tests/install-deps.sh --tests installs it");
  REQUIRE(sandbox.run("command -v " + shell).status == 0);
  const std::vector<std::array<std::string, 3>> cases = {
      {"maskctl sta", "", "maskctl stats"},
      {"maskctl show --sty", "half", "maskctl show --style half"},
      {"maskctl show --style=hal", "", "maskctl show --style=half"},
      {"maskctl info samples/cro", "", "maskctl info samples/cross.npy"},
      {"maskctl info samples/batch.npz:seg", "", "maskctl info samples/batch.npz:segment_ids"},
      {"maskctl info 'my batch.npz:seg", "", "maskctl info 'my batch.npz:segment_ids'"},
      {"maskctl info samples/batch.h5:/train/hea", "",
       "maskctl info samples/batch.h5:/train/heads"},
      {"maskctl stats -t wind", "keys=4", "maskctl stats -t window:keys=4"},
      {"maskctl stats -t 'causal | wind", "keys=4'", "maskctl stats -t 'causal | window:keys=4'"},
      {"maskctl stats -t \\\"window:keys=4,ali", "top-left\\\"",
       "maskctl stats -t \"window:keys=4,align=top-left\""},
      {"maskctl attend flash_attention query=samples/batch.npz:att", "",
       "maskctl attend flash_attention query=samples/batch.npz:attention_mask"},
  };
  std::string call = "/usr/bin/python3 " MASKCTL_SOURCE_DIR "/tests/app/type_in_shell.py " + shell;
  for (const auto& [line, rest, expected] : cases) call += " \"" + line + "\" \"" + rest + "\"";
  const Outcome outcome = sandbox.run(call);
  INFO(outcome.err);
  const Words typed = lines_of(outcome.out);
  REQUIRE(typed.size() == cases.size());
  for (std::size_t i = 0; i < cases.size(); ++i) CHECK(typed[i] == cases[i][2]);
}

TEST_CASE("manual pages: each is roff without a warning") {
  const Sandbox sandbox;
  const Words pages = lines_of(sandbox.run("maskctl __man-pages").out);
  REQUIRE(pages.size() > 20);
  CHECK(pages.front() == "maskctl.1");
  CHECK(pages.back() == "maskctl-pipeline.7");
  if (sandbox.run("command -v groff").status != 0) return;
  for (const std::string& page : pages) {
    const std::string name = page == "maskctl.1" ? "" : page.substr(8, page.rfind('.') - 8);
    const Outcome outcome =
        sandbox.run("maskctl __man " + name + " | groff -man -Tascii -ww -P-cbou | grep -v '^ *$'");
    CAPTURE(page);
    CHECK(outcome.status == 0);
    CHECK(outcome.err.empty());
    CHECK(contains(outcome.out, "SYNOPSIS") == !page.ends_with(".7"));
  }
}

TEST_CASE("manual pages: an unknown name is an error") {
  check_refused(Sandbox(), "maskctl __man frobnicate", "no manual page of 'frobnicate'");
}

TEST_CASE("version: the output names the compiler and libraries of the build") {
  const Outcome outcome = Sandbox().run("maskctl -V");
  for (const char* part :
       {"gcc ", "fmt ", "cli11 ", "hdf5 ", "curses ", "eigen ", "cuda ", "vectors "}) {
    CAPTURE(part, outcome.out);
    CHECK(contains(outcome.out, part));
  }
  CHECK(std::ranges::count(outcome.out, '\n') == 1);
}

}  // namespace
}  // namespace maskctl::test
