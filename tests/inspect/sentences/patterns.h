// Patterns of sentences, each compiled once: to compile one takes longer than most laws take.
#pragma once

#include <map>
#include <regex>
#include <string>

namespace maskctl::test {

inline const std::regex& compiled(const std::string& pattern) {
  static std::map<std::string, std::regex> all;
  const auto at = all.find(pattern);
  return at != all.end() ? at->second : all.emplace(pattern, pattern).first->second;
}

}  // namespace maskctl::test
