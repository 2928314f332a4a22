// Text that others wrote, such as names in files, made safe to show.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace maskctl {

/// One character of a text in UTF-8.
struct CodePoint {
  char32_t code = 0;
  std::size_t bytes = 0;  // how many it takes; 0: they are not UTF-8
};

/// The first character of a text that is not empty.
CodePoint first_code_point(std::string_view text);

/// False for what could control a terminal, break a line, change the direction of text or stand in
/// no XML: C0, DEL and C1, line separators, marks of direction, and what is no character.
bool is_printable(char32_t code);

/// The limit of printable() for texts that are not cut.
inline constexpr std::size_t kUncut = static_cast<std::size_t>(-1);

/// The text with an escape for each character that is not printable: \x1b in ASCII, \u202e beyond,
/// and \xff for a byte that is not UTF-8. Text of more than `most` characters is cut and ends in
/// "...". Printable text is not changed, backslashes included.
std::string printable(std::string_view text, std::size_t most = 80);

/// Text that a program is about to print: like printable(), but uncut, and with its line feeds and
/// tabs. `colours` keeps the sequences of terminals that set colours, such as "\x1b[1;31m".
std::string printable_lines(std::string_view text, bool colours = false);

/// At most 20 names from a file, made printable and joined: "mask, seg, lens".
std::string printable_list(const std::vector<std::string>& names);

}  // namespace maskctl
