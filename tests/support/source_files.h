// Reads the source files of the project and lists their #include lines.
#pragma once

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace maskctl::test {

inline std::string without_comments(const std::string& text) {
  return std::regex_replace(text, std::regex("//[^\n]*"), "");
}

/// Returns the #include names in a text, each after its bracket or quote: "<vector",
/// "\"maskctl/base/error.h".
inline std::vector<std::string> includes(const std::string& text) {
  static const std::regex pattern(R"((?:^|\n)[ \t]*#[ \t]*include[ \t]*([<"][^>"\n]+)[>"])");
  std::vector<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    found.push_back((*it)[1]);
  }
  return found;
}

inline std::string text_of_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// Returns the C++ and CUDA files below these folders: path from the project's root, and content.
inline std::map<std::string, std::string> sources(const std::set<std::string>& folders) {
  namespace fs = std::filesystem;
  static const std::set<std::string> extensions = {".h", ".cc", ".cuh", ".cu"};
  const fs::path root = MASKCTL_SOURCE_DIR;
  std::map<std::string, std::string> found;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!extensions.contains(entry.path().extension().string())) continue;
      found[fs::relative(entry.path(), root).generic_string()] = text_of_file(entry.path());
    }
  }
  return found;
}

/// Returns the headers that are installed, such as "maskctl/base/error.h"; with `beyond_pages`,
/// only those of the groups that say so (lib/public_headers.txt).
inline std::set<std::string> listed_headers(bool beyond_pages = false) {
  std::istringstream lines(text_of_file(MASKCTL_SOURCE_DIR "/lib/public_headers.txt"));
  std::set<std::string> found;
  bool counts = !beyond_pages;
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) counts = !beyond_pages;
    if (line.starts_with("# Beyond the pages: ")) counts = true;
    if (counts && line.starts_with("maskctl/")) found.insert(line);
  }
  return found;
}

}  // namespace maskctl::test
