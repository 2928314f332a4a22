// The layers of the library, kept by reading every #include.
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/catch_compat.h"

namespace {

namespace fs = std::filesystem;
using Names = std::set<std::string>;

struct Layer {
  Names sees;         // other layers
  Names third_party;  // first part of an angled include, .cc files only
};

// The table of docs/architecture.md. A layer also sees itself.
const std::map<std::string, Layer> kLayers = {
    {"base", {{}, {"fmt"}}},
    {"tensor", {{"base"}, {"fmt"}}},
    {"mask", {{"base", "tensor"}, {"fmt", "hwy"}}},
    {"inspect", {{"base", "tensor", "mask"}, {"fmt"}}},
    {"io", {{"base", "tensor", "mask"}, {"fmt", "png.h", "zlib.h", "nlohmann"}}},
    {"render", {{"base", "tensor", "mask"}, {"fmt"}}},
    {"attention", {{"base", "tensor", "mask"}, {"fmt", "hwy"}}},
    {"pipeline", {{"base", "tensor", "mask", "inspect", "io", "render"}, {"fmt"}}},
    {"golden",
     {{"base", "tensor", "mask", "inspect", "io", "render", "pipeline"},
      {"fmt", "sha256.h", "toml++"}}},
};

bool is_header(const std::string& path) { return path.ends_with(".h"); }

bool is_system(const std::string& header) {
  static const Names names = {"fcntl.h", "limits.h", "unistd.h", "poll.h",   "signal.h", "errno.h",
                              "sys",     "spawn.h",  "time.h",   "dirent.h", "pthread.h"};
  return names.contains(header.substr(0, header.find('/')));
}

std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

std::vector<std::string> includes(const std::string& text) {
  static const std::regex pattern(R"((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]+)[>"])");
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

std::string library_include_problem(const std::string& path, const std::string& layer,
                                    const std::string& include) {
  const std::string name = include.substr(1);
  const bool third_party = kLayers.at(layer).third_party.contains(name.substr(0, name.find('/')));
  if (include[0] == '"' && !third_party) {
    static const std::regex own(R"(maskctl/(\w+)/.+)");
    std::smatch part;
    if (!std::regex_match(name, part, own)) return "is not maskctl/<layer>/<file>";
    const bool seen = part[1] == layer || kLayers.at(layer).sees.contains(part[1]);
    return seen ? "" : "is not to the left of " + layer;
  }
  const bool standard = name.find_first_of("./") == std::string::npos;
  if (standard) {
    return name == "iostream" || name == "print" ? "lets the library print" : "";
  }
  if (is_system(name)) return "";
  if (is_header(path)) return "shows a third party in a header";
  return third_party ? "" : "is not a dependency of " + layer;
}

std::string app_include_problem(const std::string& path, const std::string& include) {
  if (include.starts_with("<CLI/") && path != "app/cli/cli.cc") {
    return "may stand in app/cli/cli.cc only";
  }
  const bool own = include.starts_with("\"app/") || include.starts_with("\"maskctl/");
  return include[0] == '"' && !own ? "is neither app/ nor maskctl/" : "";
}

// All faults of one file, each naming the file. `path` is relative to the repository.
std::vector<std::string> faults(const std::string& path, const std::string& source) {
  std::vector<std::string> found;
  const std::string text = without_comments(source);
  const bool library = path.starts_with("lib/maskctl/");
  const std::string layer = library ? path.substr(12, path.find('/', 12) - 12) : "";
  if (library && !kLayers.contains(layer)) return {path + ": unknown layer"};
  for (const std::string& include : includes(text)) {
    const std::string problem = library ? library_include_problem(path, layer, include)
                                        : app_include_problem(path, include);
    if (!problem.empty()) found.push_back(path + ": " + include.substr(1) + " " + problem);
  }
  static const std::regex forbidden(
      R"((?:^|[^\w.>])((?:v?f?printf|puts|fputs|putchar|getenv|setenv|setlocale|_?exit|quick_exit|abort)\s*\(|fmt::print\b))");
  std::smatch call;
  if (library && std::regex_search(text, call, forbidden)) {
    found.push_back(path + ": the library may not call " + call[1].str());
  }
  return found;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<std::string, std::string> sources(const Names& folders) {
  const fs::path root = MASKCTL_SOURCE_DIR;
  std::map<std::string, std::string> found;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      const std::string extension = entry.path().extension().string();
      if (extension != ".h" && extension != ".cc") continue;
      found[fs::relative(entry.path(), root).generic_string()] = read(entry.path());
    }
  }
  return found;
}

TEST_CASE("layers: every file includes only layers to its left", "[project]") {
  const auto files = sources({"lib", "app"});
  REQUIRE(files.size() > 20);
  for (const auto& [path, text] : files) {
    for (const std::string& fault : faults(path, text)) FAIL_CHECK(fault);
  }
}

TEST_CASE("layers: a planted fault is found and names the file", "[project]") {
  const auto [path, line] = GENERATE(table<std::string, std::string>({
      {"lib/maskctl/mask/x.cc", "#include \"maskctl/io/npy.h\""},
      {"lib/maskctl/io/x.cc", "  #  include \"maskctl/render/grid.h\""},
      {"lib/maskctl/render/x.h", "#include \"maskctl/pipeline/text.h\""},
      {"lib/maskctl/base/x.cc", "#include \"app/cli/output.h\""},
      {"lib/maskctl/base/x.cc", "#include \"index.h\""},
      {"lib/maskctl/mask/x.h", "#include <fmt/format.h>"},
      {"lib/maskctl/mask/x.cc", "#include <zlib.h>"},
      {"lib/maskctl/io/x.cc", "#include <iostream>"},
      {"lib/maskctl/io/x.cc", "void f() { std::printf(\"x\"); }"},
      {"lib/maskctl/io/x.cc", "const char* f() { return getenv(\"X\"); }"},
      {"lib/maskctl/io/x.cc", "void f() { exit (1); }"},
      {"lib/maskctl/new_layer/x.cc", "#include <vector>"},
      {"app/cli/show.cc", "#include <CLI/CLI.hpp>"},
      {"app/cli/show.cc", "#include \"cli/output.h\""},
  }));
  CAPTURE(path, line);
  const auto found = faults(path, "// Purpose.\n" + line + "\n");
  REQUIRE(found.size() == 1);
  CHECK(found[0].starts_with(path));
}

TEST_CASE("layers: what a layer may use is not reported", "[project]") {
  const auto [path, line] = GENERATE(table<std::string, std::string>({
      {"lib/maskctl/io/x.cc", "#include \"maskctl/mask/mask.h\""},
      {"lib/maskctl/io/x.cc", "#include <zlib.h>"},
      {"lib/maskctl/io/x.cc", "// #include <iostream>"},
      {"lib/maskctl/io/x.cc", "void f() { std::snprintf(b, 2, \"x\"); on_exit(); }"},
      {"lib/maskctl/mask/x.cc", "#include <hwy/highway.h>"},
      {"app/cli/cli.cc", "#include <CLI/CLI.hpp>"},
      {"app/main.cc", "#include <iostream>"},
  }));
  CAPTURE(path, line);
  CHECK(faults(path, line + "\n").empty());
}

TEST_CASE("sources: each opens with its purpose and leaves nothing for later", "[project]") {
  static const std::regex later(R"(\b(TODO|FIXME|XXX|HACK)\b)");
  const auto files = sources({"lib", "app"});
  for (const auto& [path, text] : files) {
    CAPTURE(path);
    const bool explained_by_header =
        path.ends_with(".cc") && files.contains(path.substr(0, path.size() - 3) + ".h");
    CHECK((explained_by_header || text.starts_with("// ")));
    CHECK_FALSE(std::regex_search(text, later));
  }
}

}  // namespace
