// Text to parts and to numbers, and numbers with their noun.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// The parts of the text between the marks, in order, empty ones too: one more than there are
/// marks. They are views of `text`.
std::vector<std::string_view> split(std::string_view text, char mark);

/// The number that the whole text spells, as std::from_chars reads it: no spaces, no '+' in front,
/// no locale. Nothing for any other text, and for a number that T cannot hold.
template <typename T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// The whole number that the text spells in one of the ways in which people write large ones:
/// "1_000_000", "1e6", "64k", "2M" (k, M, G: powers of ten), "128Ki", "1Mi" (powers of two). Digits
/// alone are such a text. Nothing for any other text, and for a number that Index cannot hold.
std::optional<Index> whole_number_from(std::string_view text);

/// "1 query", "0 queries", "2 cells"; `many` is needed where the plural is not `one` and an s.
std::string counted(Index n, std::string_view one, std::string_view many = {});

}  // namespace maskctl
