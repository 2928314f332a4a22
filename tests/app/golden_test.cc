// Runs the command of each folder of tests/golden, and compares what it prints with the files
// there.
#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "app/screen_parts.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

std::vector<fs::path> cases() {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(fs::path(MASKCTL_SOURCE_DIR) / "tests/golden")) {
    if (fs::exists(entry.path() / "cmd")) found.push_back(entry.path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

// Returns the content of a golden file; an empty output has no file.
std::string content(const fs::path& path) { return fs::exists(path) ? slurp(path) : ""; }

void rewrite(const fs::path& path, const std::string& text) {
  if (text.empty()) {
    fs::remove(path);
  } else {
    spit(path, text);
  }
}

/// What a case compares of what its command prints: all of it or, where the file `panels` has
/// names, screens with these panels alone.
std::string compared(const fs::path& folder, const std::string& out) {
  if (!fs::exists(folder / "panels")) return out;
  std::istringstream in(slurp(folder / "panels"));
  const std::set<std::string> names{std::istream_iterator<std::string>(in), {}};
  std::set<std::string> seen;
  std::string parts = ScreenParts(out).with(names, seen);
  INFO("case " << folder.filename().string());
  CHECK(seen == names);
  return parts;
}

std::string status_text(int status) { return status == 0 ? "" : std::to_string(status) + "\n"; }

TEST_CASE("the JUnit report of golden check keeps names that are not ASCII") {
  const Sandbox sandbox;
  spit(sandbox.work() / "m.toml",
       "[[golden]]\nname = \"Fenster <\u00fc>\"\nsource = \"gen:causal:n=4\"\n"
       "expect = { drawing = \"d.txt\" }\n");
  CHECK(sandbox.run("maskctl golden update m.toml && maskctl golden check m.toml --junit j.xml")
            .status == 0);
  CHECK(contains(slurp(sandbox.work() / "j.xml"), "name=\"Fenster &lt;\u00fc&gt;\""));
}

TEST_CASE("golden check refuses to overwrite a file other than XML with its JUnit report") {
  const Sandbox sandbox;
  const Outcome outcome = sandbox.run(
      "maskctl gen causal:n=4 -o a.npy && maskctl golden init g.toml a.npy && "
      "maskctl golden check g.toml --junit r.xml && maskctl golden check g.toml --junit r.xml && "
      "cp g.toml kept && maskctl golden check g.toml --junit g.toml");
  CHECK(outcome.status == 2);
  CHECK(contains(outcome.err, "is there, and is no XML; name another file"));
  CHECK(slurp(sandbox.work() / "g.toml") == slurp(sandbox.work() / "kept"));
}

TEST_CASE("commands print the text of their golden files") {
  const bool update = std::getenv("MASKCTL_UPDATE_GOLDEN") != nullptr;
  const auto folders = cases();
  REQUIRE(folders.size() >= 20);
  for (const fs::path& folder : folders) {
    const Sandbox sandbox;
    const Outcome outcome = sandbox.run(slurp(folder / "cmd"));
    const std::string out = compared(folder, outcome.out);
    if (update) {
      rewrite(folder / "stdout", out);
      rewrite(folder / "stderr", outcome.err);
      rewrite(folder / "exit", status_text(outcome.status));
      continue;
    }
    INFO("case " << folder.filename().string());
    const bool needs_it = contains(outcome.err, "MASKCTL_EJKERNEL") ||
                          contains(content(folder / "stderr"), "--semantics ejkernel");
    if (needs_it && without_ejkernel()) continue;
    if (contains(outcome.err, "-DMASKCTL_HDF5=ON") && was_built_without("hdf5")) continue;
    if (contains(content(folder / "stdout"), "  --solve asks") && was_built_without("eigen")) {
      continue;
    }
    CHECK(out == content(folder / "stdout"));
    CHECK(outcome.err == content(folder / "stderr"));
    CHECK(status_text(outcome.status) == content(folder / "exit"));
  }
}

}  // namespace
}  // namespace maskctl::test
