// Says which lines of a list pass a filter.
#pragma once

#include <algorithm>
#include <string_view>

namespace maskctl::app::tui {

/// True if the text contains the filter, ignoring case.
inline bool passes(std::string_view text, std::string_view filter) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  const auto same = [&](char a, char b) { return lower(a) == lower(b); };
  return filter.empty() || !std::ranges::search(text, filter, same).empty();
}

}  // namespace maskctl::app::tui
