// Plants a lie in a printed report, which the laws of its lines must find.
#pragma once

#include <optional>
#include <regex>
#include <string>

#include "inspect/sentences/printed_lines.h"

namespace maskctl::test {

/// Whether a place of a report is in a list of planes such as "(batch 0; batch 2; 3 more)". Where
/// one of the planes that are not listed has the same cause, naming it instead is as true.
inline bool is_in_open_list(const std::string& text, std::size_t at) {
  const std::size_t begin = text.rfind('(', at), end = text.find(')', at);
  if (begin == std::string::npos || end == std::string::npos) return false;
  const std::string list = text.substr(begin, end - begin);
  return list.find(')') == std::string::npos && list.ends_with(" more");
}

/// Returns the report with its n-th number increased by one, or its n-th word such as "open"
/// exchanged for the opposite; nothing if it has fewer of these.
inline std::optional<std::string> with_lie(const std::string& text, Index n) {
  static const std::regex place(
      R"(\b\d+\b|\bopen\b|\bclosed\b|only in A|only in B|\bquery\b|\bkey\b)");
  std::sregex_iterator at(text.begin(), text.end(), place), end;
  for (; at != end; ++at) {
    if (is_in_open_list(text, static_cast<std::size_t>(at->position()))) continue;
    if (n-- == 0) break;
  }
  if (at == end) return std::nullopt;
  const std::string was = at->str();
  const std::string now = was == "open"        ? "closed"
                          : was == "closed"    ? "open"
                          : was == "only in A" ? "only in B"
                          : was == "only in B" ? "only in A"
                          : was == "query"     ? "key"
                          : was == "key"       ? "query"
                                               : std::to_string(number_said(was) + 1);
  return text.substr(0, static_cast<std::size_t>(at->position())) + now +
         text.substr(static_cast<std::size_t>(at->position() + at->length()));
}

}  // namespace maskctl::test
