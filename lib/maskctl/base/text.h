// Splitting text, reading numbers from it, and counts with their noun.
#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Splits the text at each `mark`. Empty parts are kept, so there is one part more than marks. The
/// parts are views of `text`.
std::vector<std::string_view> split(std::string_view text, char mark);

/// The elements as text, with `mark` between two: "a, b". fmt::join does the same for any type, and
/// takes a second to compile in each unit that calls it.
std::string joined(std::span<const std::string> parts, std::string_view mark);
std::string joined(std::span<const std::string_view> parts, std::string_view mark);
std::string joined(std::span<const Index> numbers, std::string_view mark);

/// The number that the whole text spells, as std::from_chars reads it: no spaces, no '+' in front,
/// no locale. Nothing if the text is not a number or T cannot hold it.
template <typename T>
std::optional<T> number_from(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

/// The whole number that a text spells: digits alone, or one of the forms in which people write
/// large numbers: "1_000_000", "1e6", "64k", "2M" (k, M, G: powers of ten), "128Ki", "1Mi" (powers
/// of two). Nothing for any other text, and for a number that Index cannot hold.
std::optional<Index> whole_number_from(std::string_view text);

/// A count with its noun: "1 query", "0 queries", "2 cells". `many` is the plural; it may be left
/// out where that is `one` with an s.
std::string counted(Index n, std::string_view one, std::string_view many = {});

}  // namespace maskctl
