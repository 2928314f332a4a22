// Tests the page of all options, which the build makes: it has exactly the options that help pages
// have.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "app/process.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

namespace fs = std::filesystem;

std::string options_page() { return Sandbox().run("maskctl __markdown").out; }

TEST_CASE("the page of options has every option that the help of a command lists") {
  const std::string page = options_page();
  const Sandbox sandbox;
  static const std::regex command(R"(\n### (\S+)\n)"), option(R"(\n  (?:-\w, ?)?(--[a-z][\w-]+))");
  int commands = 0, options = 0;
  for (std::sregex_iterator at(page.begin(), page.end(), command), end; at != end; ++at) {
    const std::string name = (*at)[1];
    const std::size_t begin = at->position(), next = page.find("\n### ", begin + 1);
    const std::string section = page.substr(begin, next - begin);
    const std::string help = sandbox.run("maskctl " + name + " --help").out;
    for (std::sregex_iterator o(help.begin(), help.end(), option); o != end; ++o) {
      INFO(name << ' ' << (*o)[1]);
      CHECK(section.find((*o)[1]) != std::string::npos);
      ++options;
    }
    ++commands;
  }
  CHECK(commands > 20);
  CHECK(options > 200);
}

/// The texts between backticks in a cell of a table.
std::vector<std::string> names_in(const std::string& cell) {
  std::vector<std::string> names;
  const std::regex name("`([^`]+)`");
  for (std::sregex_iterator at(cell.begin(), cell.end(), name), end; at != end; ++at) {
    names.push_back((*at)[1]);
  }
  return names;
}

/// The text of all sources of the tests.
std::string test_sources() {
  std::string text;
  for (const auto& entry : fs::recursive_directory_iterator(MASKCTL_SOURCE_DIR "/tests")) {
    const auto kind = entry.path().extension();
    if (kind != ".cc" && kind != ".h") continue;
    text += slurp(entry.path());
  }
  return text;
}

TEST_CASE("what pages mark as library only is no option of a command, and a test calls it") {
  const std::string options = options_page(), tests = test_sources();
  int rows = 0;
  for (const char* const page : {"ejkernel.md", "attention.md"}) {
    std::istringstream lines(slurp(fs::path(MASKCTL_SOURCE_DIR) / "docs" / page));
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("| ") || line.find("library only") == line.npos) continue;
      INFO(line);
      ++rows;
      const std::size_t second = line.find(" | ") + 3;
      const std::string ours = line.substr(second, line.find(" | ", second) - second);
      for (std::string name : names_in(line.substr(0, second))) {
        std::ranges::replace(name, '_', '-');
        for (const char* const end : {" ", "`"}) {
          CHECK(options.find("--" + name + end) == options.npos);
        }
      }
      for (const std::string& name : names_in(ours)) {
        const bool is_name = name.find_first_of("/(") == name.npos;  // neither a path nor a call
        if (is_name) CHECK(tests.find(name.substr(name.rfind(':') + 1)) != tests.npos);
      }
    }
  }
  CHECK(rows > 5);
}

}  // namespace
}  // namespace maskctl::test
