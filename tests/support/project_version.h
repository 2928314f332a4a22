// The version of the project, which CMakeLists.txt states and nothing else.
#pragma once

#include <fstream>
#include <regex>
#include <sstream>
#include <string>

#include "support/catch_compat.h"

namespace maskctl::test {

/// Returns the version, such as "0.2.0".
inline std::string project_version() {
  std::ifstream file(MASKCTL_SOURCE_DIR "/CMakeLists.txt");
  std::ostringstream text;
  text << file.rdbuf();
  const std::string source = text.str();
  static const std::regex project(R"(\nproject\(maskctl VERSION (\d+\.\d+\.\d+) )");
  std::smatch found;
  REQUIRE(std::regex_search(source, found, project));
  return found[1];
}

}  // namespace maskctl::test
