// Tests that every file of samples/ can be read in the ways that its pages show.
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

const fs::path kSamples = fs::path(MASKCTL_SOURCE_DIR) / "samples";

/// Returns the lines of a page that contain the name of the command.
std::string commands_of(const fs::path& page) {
  std::istringstream lines(slurp(page));
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("maskctl ") != std::string::npos) out += line + "\n";
  }
  return out;
}

// The commands of samples/bugs/README.md end with status 1, and are tested in bugs_test.cc instead.
TEST_CASE("samples: the commands of the page print what the page shows") {
  const Outcome outcome =
      Sandbox().run("/usr/bin/python3 '" MASKCTL_SOURCE_DIR
                    "/tests/check_docs.py' '" MASKCTL_COMMAND "' samples/README.md");
  INFO(outcome.out << outcome.err);
  CHECK(outcome.status == 0);
}

TEST_CASE("documentation: commands draw the pictures that pages show") {
  const Sandbox sandbox;
  struct Picture {
    std::string page, name, command, how;  // `how`: options that the page leaves out
  };
  const std::vector<Picture> pictures = {
      {"README.md", "leak.svg",
       "maskctl show samples/leaked.npy --segments samples/leaked_ids.npy -o leak.svg", ""},
      {"docs/tui.md", "tui.svg", "maskctl tui samples/leaked.npy --segments samples/leaked_ids.npy",
       " --script n --size 84x26 --color always --dump tui.svg"},
      {"docs/tui.md", "tui_list.svg",
       "maskctl tui gen:full:n=64,b=32,h=4 -t 'doc:lens=20+24+20 | causal | "
       "batch:27{heads:3{open:q=40,k=5}}' --segments gen:segments:lens=20+24+20",
       " --size 124x16 --color always --dump tui_list.svg"}};
  for (const Picture& picture : pictures) {
    INFO(picture.name);
    const std::string kept = "docs/images/" + picture.name;
    const std::string page = slurp(fs::path(MASKCTL_SOURCE_DIR) / picture.page);
    REQUIRE(contains(page, "`" + picture.command + "`"));
    REQUIRE(contains(page, "images/" + picture.name + ")"));
    CHECK(sandbox.run(picture.command + picture.how).status == 0);
    CHECK(slurp(sandbox.work() / picture.name) == slurp(fs::path(MASKCTL_SOURCE_DIR) / kept));
  }
}

TEST_CASE("samples: each data file is read by a command of a page or of the manifest") {
  const std::string shown =
      commands_of(kSamples / "README.md") + commands_of(kSamples / "bugs/README.md") +
      slurp(kSamples / "problems/README.md") + slurp(kSamples / "problems/make_problems.py") +
      slurp(kSamples / "golden.toml") + commands_of(fs::path(MASKCTL_SOURCE_DIR) / "README.md") +
      commands_of(fs::path(MASKCTL_SOURCE_DIR) / "docs/commands.md");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(kSamples)) {
    const std::string suffix = entry.path().extension();
    if (!std::set<std::string>{".npy", ".npz", ".h5", ".safetensors"}.contains(suffix)) continue;
    INFO(entry.path());
    CHECK(shown.find(entry.path().filename()) != std::string::npos);
    ++files;
  }
  CHECK(files > 20);
}

TEST_CASE("samples: the three containers hold the same six masks") {
  const Sandbox sandbox;
  const std::vector<std::pair<std::string, std::string>> arrays = {
      {"segment_ids", "segments"}, {"attention_mask", "dense"},  {"padding", "padding"},
      {"heads", "dense"},          {"cu_seqlens", "cu_seqlens"}, {"bias", "bias"}};
  for (const auto& [key, kind] : arrays) {
    for (const std::string& other :
         {"samples/batch.h5:/train/" + key, "samples/batch.safetensors:" + key}) {
      const Outcome outcome =
          sandbox.run("maskctl diff samples/batch.npz:" + key + " " + other + " --as " + kind);
      INFO(other << "\n" << outcome.out << outcome.err);
      CHECK(outcome.status == 0);
      CHECK(outcome.out.starts_with("equal: "));
    }
  }
}

}  // namespace
}  // namespace maskctl::test
