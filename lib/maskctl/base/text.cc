#include "maskctl/base/text.h"

#include <algorithm>
#include <string>

#include "maskctl/base/checked.h"
#include "maskctl/base/grouped.h"

namespace maskctl {

std::vector<std::string_view> split(std::string_view text, char mark) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(mark);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

namespace {

std::string_view as_text(std::string_view text) { return text; }
std::string as_text(Index number) { return std::to_string(number); }

template <typename T>
std::string joined_texts(std::span<const T> parts, std::string_view mark) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += mark;
    out += as_text(parts[i]);
  }
  return out;
}

}  // namespace

std::string joined(std::span<const std::string> parts, std::string_view mark) {
  return joined_texts(parts, mark);
}

std::string joined(std::span<const std::string_view> parts, std::string_view mark) {
  return joined_texts(parts, mark);
}

std::string joined(std::span<const Index> numbers, std::string_view mark) {
  return joined_texts(numbers, mark);
}

namespace {

struct Suffix {
  std::string_view text;
  Index factor;
};
constexpr Suffix kSuffixes[] = {
    {"", 1},         {"k", 1'000},    {"K", 1'000},    {"M", 1'000'000}, {"G", 1'000'000'000},
    {"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30},
};

/// The text without its underscores. Nothing if other characters than digits and underscores occur,
/// or an underscore that is not between two digits.
std::optional<std::string> digits_of(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_digit(text[i])) {
      out += text[i];
    } else if (text[i] != '_' || i == 0 || i + 1 == text.size() || !is_digit(text[i - 1])) {
      return std::nullopt;
    }
  }
  return out;
}

std::optional<Index> power_of_ten(std::string_view exponent) {
  const auto power = number_from<int>(exponent);
  if (!power || *power < 0 || *power > 18 || !is_digit(exponent.front())) return std::nullopt;
  Index out = 1;
  for (int i = 0; i < *power; ++i) out *= 10;
  return out;
}

std::optional<Index> factor_of(std::string_view suffix) {
  if (suffix.starts_with('e') || suffix.starts_with('E')) return power_of_ten(suffix.substr(1));
  const auto* found = std::ranges::find(kSuffixes, suffix, &Suffix::text);
  return found == std::end(kSuffixes) ? std::nullopt : std::optional(found->factor);
}

}  // namespace

std::optional<Index> whole_number_from(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t end = std::min(text.find_first_not_of("0123456789_"), text.size());
  const auto digits = digits_of(text.substr(0, end));
  const auto number = digits ? number_from<Index>(*digits) : std::nullopt;
  const auto factor = factor_of(text.substr(end));
  if (!number || !factor) return std::nullopt;
  const auto value = checked_mul(*number, *factor);
  return value && negative ? std::optional(-*value) : value;
}

std::string counted(Index n, std::string_view one, std::string_view many) {
  std::string out = grouped(n) + ' ';
  if (n == 1) return out.append(one);
  return many.empty() ? out.append(one) += 's' : out.append(many);
}

}  // namespace maskctl
