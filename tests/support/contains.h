// Tests whether a text contains another one.
#pragma once

#include <string_view>

namespace maskctl::test {

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

}  // namespace maskctl::test
