// Text to parts and to numbers.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

namespace maskctl {

/// What stands between the marks, in order: one part more than there are marks, empty ones too. The
/// parts are views of `text`.
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

}  // namespace maskctl
