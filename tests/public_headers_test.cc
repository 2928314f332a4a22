// Checks that each public header is there for a reason: pages for users name it, or a header that
// they name includes it, or lib/public_headers.txt says what else it is for.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "support/catch_compat.h"
#include "support/source_files.h"

namespace maskctl::test {
namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

/// README.md and the pages of docs/ and docs/stacks/ for users, by their path.
std::map<std::string, std::string> pages() {
  const fs::path root = MASKCTL_SOURCE_DIR;
  std::map<std::string, std::string> found = {{"README.md", text_of_file(root / "README.md")}};
  for (const char* const folder : {"docs", "docs/stacks"}) {
    for (const auto& entry : fs::directory_iterator(root / folder)) {
      const std::string name = entry.path().filename().string();
      if (entry.path().extension() != ".md" || name == "changes.md") continue;
      found[std::string(folder) + "/" + name] = text_of_file(entry.path());
    }
  }
  return found;
}

/// The one header of these whose path ends like this, such as "check/check.h"; "" if none or
/// several do.
std::string ending_in(const Names& headers, const std::string& name) {
  std::string found;
  for (const std::string& header : headers) {
    if (!("/" + header).ends_with("/" + name)) continue;
    if (!found.empty()) return "";
    found = header;
  }
  return found;
}

/// The headers of these that a text names, in code or in prose.
Names named_in(const std::string& text, const Names& headers) {
  static const std::regex name(R"((?:^|[^\w/.])(\w[\w/]*\.h)\b)");
  Names found;
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
    found.insert(ending_in(headers, (*it)[1]));
  }
  found.erase("");
  return found;
}

/// These headers, and all public ones that they include. `included` has what each includes.
Names with_included(const Names& headers, const std::map<std::string, Names>& included) {
  Names found;
  Names open = headers;
  while (!open.empty()) {
    const std::string header = open.extract(open.begin()).value();
    if (!included.contains(header) || !found.insert(header).second) continue;
    std::ranges::copy(included.at(header), std::inserter(open, open.end()));
  }
  return found;
}

/// For each public header, the other public headers that it includes.
std::map<std::string, Names> included_by_each() {
  std::map<std::string, Names> found;
  for (const std::string& header : listed_headers()) {
    const std::string text =
        without_comments(text_of_file(fs::path(MASKCTL_SOURCE_DIR) / "lib" / header));
    REQUIRE_FALSE(text.empty());
    for (const std::string& include : includes(text)) {
      if (include.starts_with("\"maskctl/")) found[header].insert(include.substr(1));
    }
    found.try_emplace(header);
  }
  return found;
}

TEST_CASE("public headers: exactly the headers that a page names are found in it") {
  const Names headers = {"maskctl/a/one.h", "maskctl/a/two.h", "maskctl/b/two.h"};
  CHECK(named_in("#include \"maskctl/a/one.h\"\n", headers) == Names{"maskctl/a/one.h"});
  CHECK(named_in("see `b/two.h`", headers) == Names{"maskctl/b/two.h"});
  CHECK(named_in("see `two.h`, `ne.h`, c/one.h and one.hpp", headers).empty());
  const std::map<std::string, Names> included = {
      {"1", {"2"}}, {"2", {"1", "3"}}, {"3", {}}, {"4", {"1"}}};
  CHECK(with_included({"1"}, included) == Names{"1", "2", "3"});
}

TEST_CASE("public headers: each one is named by a page, or listed with another reason",
          "[project]") {
  const std::map<std::string, Names> included = included_by_each();
  const Names beyond = listed_headers(true);
  REQUIRE(included.size() > 50);
  Names named;
  for (const auto& [path, text] : pages()) named.merge(named_in(text, listed_headers()));
  const Names by_pages = with_included(named, included);
  Names needed = beyond;
  needed.insert(named.begin(), named.end());
  needed = with_included(needed, included);
  for (const auto& [header, others] : included) {
    CAPTURE(header);
    CHECK(needed.contains(header));
    CHECK_FALSE((beyond.contains(header) && by_pages.contains(header)));
  }
}

TEST_CASE("public headers: each group in lib/public_headers.txt says what it is for", "[project]") {
  std::istringstream lines(text_of_file(MASKCTL_SOURCE_DIR "/lib/public_headers.txt"));
  bool has_reason = false;
  int groups = 0;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    if (line.empty()) {
      has_reason = false;
    } else if (line.starts_with("# ")) {
      groups += has_reason ? 0 : 1;
      has_reason = true;
    } else {
      CHECK(has_reason);
    }
  }
  CHECK(groups > 10);
}

TEST_CASE("public headers: pages with programs include no other headers", "[project]") {
  for (const char* const page : {"README.md", "docs/cpp.md", "docs/gpu.md"}) {
    int shown = 0;
    for (const std::string& include : includes(pages().at(page))) {
      if (!include.starts_with("\"maskctl/")) continue;
      CAPTURE(page, include);
      CHECK(listed_headers().contains(include.substr(1)));
      ++shown;
    }
    CHECK(shown > 0);
  }
}

TEST_CASE("public headers: the test package includes only headers that are installed",
          "[project]") {
  for (const auto& [path, text] : sources({"tests/package"})) {
    for (const std::string& include : includes(without_comments(text))) {
      if (!include.starts_with("\"maskctl/")) continue;
      CAPTURE(path, include);
      CHECK(listed_headers().contains(include.substr(1)));
    }
  }
}

}  // namespace
}  // namespace maskctl::test
