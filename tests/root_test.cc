// The files and folders at the root of the repository.
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/catch_compat.h"

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// All names that may stand at the root; some are optional.
const Names kAtRoot = {".ci",
                       ".clang-format",
                       ".clang-tidy",
                       ".editorconfig",
                       ".gitattributes",
                       ".gitignore",
                       ".pre-commit-hooks.yaml",
                       "CMakeLists.txt",
                       "CMakePresets.json",
                       "LICENSE",
                       "README.md",
                       "app",
                       "docs",
                       "lib",
                       "pyproject.toml",
                       "samples",
                       "tests"};

/// Whether a name at the root is .git or ignored by .gitignore.
bool is_ignored(const std::string& name) {
  return name == ".git" || name == "build" || name.ends_with(".new") || name.ends_with(".new.npy");
}

std::vector<std::string> strangers(const Names& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (!kAtRoot.contains(name) && !is_ignored(name)) found.push_back(name);
  }
  return found;
}

TEST_CASE("root: the repository's root contains only the files listed here", "[project]") {
  Names names;
  for (const auto& entry : fs::directory_iterator(MASKCTL_SOURCE_DIR)) {
    names.insert(entry.path().filename().string());
  }
  CHECK(names.contains("CMakeLists.txt"));
  for (const std::string& name : strangers(names)) {
    FAIL_CHECK(
        name << ": a program left it, or it belongs into a folder; if it belongs at the root, "
                "list it in tests/root_test.cc");
  }
}

TEST_CASE("root: a file that is not listed is found", "[project]") {
  CHECK(strangers({"CMakeLists.txt", "lib", ".git", "build", "m.new", "m.new.npy"}).empty());
  CHECK(strangers({".bash_history", "README.md", "build2", "mask.npy", "nohup.out"}) ==
        std::vector<std::string>{".bash_history", "build2", "mask.npy", "nohup.out"});
}

}  // namespace
