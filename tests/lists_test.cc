// Tests lists that the compiler cannot check: of commands, and of functions that pages name.
#include <regex>
#include <set>
#include <string>

#include "support/catch_compat.h"
#include "support/source_files.h"

namespace maskctl::test {
namespace {

/// The first groups of all matches.
std::multiset<std::string> all_of(const std::string& text, const std::regex& pattern) {
  std::multiset<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST_CASE("lists: all.cc lists each command once", "[project]") {
  const auto files = sources({"app/cli/commands"});
  std::multiset<std::string> rows;
  for (const auto& [path, text] : files) {
    rows.merge(all_of(text, std::regex(R"(\nextern const Command (k\w+) = )")));
  }
  REQUIRE(rows.size() > 20);
  CHECK(all_of(files.at("app/cli/commands/all.cc"), std::regex(R"(ROW\((k\w+)\))")) == rows);
}

TEST_CASE("lists: each function that a page names is declared in the header named beside it",
          "[project]") {
  static const std::regex row(R"(\n\| [^|]+ \| ([^|]+) \| (`[\w/]+\.h`[^|]*) \|)");
  static const std::regex function(R"(`(\w+)\(\)`)"), header(R"(`([\w/]+\.h)`)");
  for (const char* const name : {"developers/architecture.md", "cpp.md"}) {
    const std::string page = text_of_file(std::string(MASKCTL_SOURCE_DIR "/docs/") + name);
    int found = 0;
    for (std::sregex_iterator it(page.begin(), page.end(), row), end; it != end; ++it) {
      std::string declared;
      for (const std::string& path : all_of((*it)[2], header)) {
        declared += text_of_file(MASKCTL_SOURCE_DIR "/lib/maskctl/" + path);
      }
      for (const std::string& called : all_of((*it)[1], function)) {
        CAPTURE(name, called);
        CHECK(std::regex_search(declared, std::regex("\n[^ /].*\\b" + called + "\\(")));
        ++found;
      }
    }
    CHECK(found > 10);
  }
}

}  // namespace
}  // namespace maskctl::test
