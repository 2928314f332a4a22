// The folders of a layer, of the app and of the inspector: which folders may include each other,
// which lie below others, and what each is for.
#include <map>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/catch_compat.h"
#include "support/source_files.h"

namespace maskctl::test {
namespace {

using Names = std::set<std::string>;
using Files = std::map<std::string, std::string>;

/// Pairs of folders of a layer that may include each other: "attention: cpu, operations". A folder
/// is the first one below its layer; files in the layer itself count as a folder "". The app is a
/// layer here, and so is a folder of kParts.
const Names kBothWays = {
    "cli: , commands", "cli: commands, parser", "inspect: diff, recognise", "mask: , arrays",
    "mask: , planes",  "mask: planes, steps",   "pipeline: parse, steps",   "render: figure, text",
};

/// Folders of the app that are layers of their own, too.
const Names kParts = {"cli", "tui"};

/// For some folders, the folders of their layer that they may include; no others.
const std::map<std::string, Names> kSees = {
    {"attention/arrays", {}},
    {"attention/problems", {"arrays"}},
    {"attention/calls", {"arrays", "problems"}},
    {"attention/softmax", {"arrays", "calls", "problems"}},
    {"attention/ring", {"arrays", "problems", "softmax"}},
    {"attention/sharded", {"arrays", "calls", "problems", "ring"}},
    {"attention/cpu", {"arrays", "problems"}},
    {"attention/reference", {"arrays", "problems"}},
    {"attention/cuda", {"problems", "ring"}},
    {"attention/operations", {"arrays", "calls", "problems", "ring", "sharded", "softmax"}},
    {"kernels/problems", {}},
    {"kernels/cpu", {"problems"}},
    {"kernels/reference", {"problems"}},
    {"kernels/cuda", {"problems"}},
    {"io/streams", {}},
    {"io/formats", {"streams"}},
    {"io/kinds", {}},
    {"app/reports", {}},
    {"app/completion", {}},
    {"app/session", {"reports"}},
    {"app/ejkernel", {"cli", "reports", "session"}},
    {"app/tui", {"completion", "reports", "session"}},
    {"app/cli", {"completion", "reports", "session", "tui"}},
    {"tui/beside", {}},
    {"tui/state", {"beside"}},
    {"tui/screens", {"beside", "state"}},
};

struct Folder {
  std::string layer, name;
  bool operator<(const Folder& other) const {
    return std::pair(layer, name) < std::pair(other.layer, other.name);
  }
};

/// The layers of a path, each with the folder below it: io and formats for
/// "lib/maskctl/io/formats/npy/npy.h", with or without "lib/"; app and tui, and tui and state, for
/// "app/tui/state/line.h".
std::vector<Folder> folders_of(const std::string& path) {
  static const std::regex parts(R"((?:(?:lib/)?maskctl/)?(\w+)/(?:(\w+)/)?(?:(\w+)/)?.*)");
  std::smatch part;
  if (!std::regex_match(path, part, parts)) return {};
  std::vector<Folder> found{{part[1], part[2]}};
  if (part[1] == "app" && kParts.contains(part[2])) found.push_back({part[2], part[3]});
  return found;
}

/// The folders of the same layer that each folder includes, each with an include that proves it.
using Seen = std::map<Folder, std::map<std::string, std::string>>;

Seen seen_folders(const Files& files) {
  Seen seen;
  for (const auto& [path, text] : files) {
    for (const std::string& include : includes(without_comments(text))) {
      for (const Folder& own : folders_of(path)) {
        for (const Folder& other : folders_of(include.substr(1))) {
          if (other.layer != own.layer || other.name == own.name) continue;
          seen[own].emplace(other.name, path + " includes " + include.substr(1));
        }
      }
    }
  }
  return seen;
}

const Seen& project() {
  static const Seen seen = seen_folders(sources({"lib", "app"}));
  return seen;
}

/// The pairs of folders that include each other, as kBothWays writes them, each with an include in
/// both directions.
std::map<std::string, std::string> both_ways(const Seen& seen) {
  std::map<std::string, std::string> pairs;
  for (const auto& [folder, others] : seen) {
    for (const auto& [name, there] : others) {
      const auto other = seen.find({folder.layer, name});
      if (folder.name > name || other == seen.end()) continue;
      const auto back = other->second.find(folder.name);
      if (back == other->second.end()) continue;
      pairs[folder.layer + ": " + folder.name + ", " + name] = there + ", " + back->second;
    }
  }
  return pairs;
}

/// The includes that kSees does not allow.
std::vector<std::string> strange_includes(const Seen& seen) {
  std::vector<std::string> found;
  for (const auto& [folder, others] : seen) {
    const auto sees = kSees.find(folder.layer + "/" + folder.name);
    if (sees == kSees.end()) continue;
    for (const auto& [name, include] : others) {
      if (!sees->second.contains(name)) found.push_back(include);
    }
  }
  return found;
}

TEST_CASE("folders: only the listed pairs of folders include each other", "[project]") {
  const auto pairs = both_ways(project());
  for (const auto& [pair, includes] : pairs) {
    if (!kBothWays.contains(pair)) FAIL_CHECK(pair << " include each other: " << includes);
  }
  for (const std::string& pair : kBothWays) {
    if (!pairs.contains(pair)) FAIL_CHECK(pair << " no longer include each other: strike them out");
  }
}

TEST_CASE("folders: each folder includes only folders that it may include", "[project]") {
  for (const std::string& include : strange_includes(project())) FAIL_CHECK(include);
}

/// The folders that docs/developers/architecture.md lists, as "io/formats/" or "io/formats/*/".
Names listed_folders() {
  const std::string page = text_of_file(MASKCTL_SOURCE_DIR "/docs/developers/architecture.md");
  const auto begin = page.find("\n## Folders"), end = page.find("\n## ", begin + 1);
  const std::string section = page.substr(begin, end - begin);
  static const std::regex row(R"(\n\| `([^`]+/)` \| [^|]+ \|)");
  Names found;
  for (std::sregex_iterator it(section.begin(), section.end(), row), last; it != last; ++it) {
    found.insert((*it)[1]);
  }
  return found;
}

TEST_CASE("folders: docs/developers/architecture.md says what each folder is for", "[project]") {
  static const std::regex parts(R"((?:lib/maskctl/)?((?:.*/)?)([^/]+/)[^/]+)");
  Names rows = listed_folders(), used;
  for (const auto& [path, text] : sources({"lib/maskctl", "app"})) {
    std::smatch part;
    if (!std::regex_match(path, part, parts)) continue;
    const std::string folder = part.str(1) + part.str(2), any = part.str(1) + "*/";
    if (!rows.contains(folder) && !rows.contains(any)) FAIL_CHECK(folder << " is not listed");
    used.insert(rows.contains(folder) ? folder : any);
  }
  used.insert("app/python/maskctl/");  // this folder has no C++ sources
  for (const std::string& row : rows) {
    if (!used.contains(row)) FAIL_CHECK(row << " is listed, and has no sources");
  }
}

TEST_CASE("folders: a planted mutual or forbidden include is found", "[project]") {
  const Files pair = {{"lib/maskctl/io/a/x.h", "#include \"maskctl/io/y.h\"\n"},
                      {"lib/maskctl/io/y.cc", "#include \"maskctl/io/a/b/z.h\"\n"}};
  CHECK(both_ways(seen_folders(pair)).contains("io: , a"));
  const Files one_way = {{"lib/maskctl/io/a/x.h", "#include \"maskctl/io/y.h\"\n"},
                         {"lib/maskctl/mask/y.cc", "#include \"maskctl/io/a/z.h\"\n"},
                         {"lib/maskctl/io/y.cc", "// #include \"maskctl/io/a/z.h\"\n"}};
  CHECK(both_ways(seen_folders(one_way)).empty());
  const Files app = {{"app/cli/x/y.h", "#include \"app/tui/terminal.h\"\n"},
                     {"app/tui/state/y.cc", "#include \"app/cli/z.h\"\n"},
                     {"app/tui/beside/y.cc", "#include \"app/tui/state/y.h\"\n"},
                     {"app/tui/state/y.h", "#include \"app/tui/beside/y.h\"\n"}};
  const auto pairs = both_ways(seen_folders(app));
  CHECK((pairs.size() == 2 && pairs.contains("app: cli, tui") &&
         pairs.contains("tui: beside, state")));
  const Files strange = {
      {"lib/maskctl/attention/problems/x.h", "#include \"maskctl/attention/softmax/softmax.h\"\n"},
      {"lib/maskctl/attention/operations/x/x.cc", "#include \"maskctl/attention/cpu/heads.h\"\n"},
      {"app/tui/state/x.cc", "#include \"app/tui/screens/painter.h\"\n"}};
  CHECK(strange_includes(seen_folders(strange)).size() == 3);
}

}  // namespace
}  // namespace maskctl::test
