#include "maskctl/pipeline/parse/values.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "maskctl/base/text.h"

namespace maskctl {
namespace {

std::optional<Index> natural_from(std::string_view text) {
  return !text.empty() && is_digit(text.front()) ? integer_from(text) : std::nullopt;
}

/// The parts before and after the first `sign`; if there is none, the whole text twice.
std::pair<std::string_view, std::string_view> halves(std::string_view text, char sign) {
  const auto at = text.find(sign);
  if (at == std::string_view::npos) return {text, text};
  return {text.substr(0, at), text.substr(at + 1)};
}

}  // namespace

bool is_integer_text(std::string_view text) {
  if (whole_number_from(text)) return true;
  if (!text.empty() && text.front() == '-') text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<Index> integer_from(std::string_view text) {
  const auto value = whole_number_from(text);
  if (!value || *value > kMaxArgument || *value < -kMaxArgument) return std::nullopt;
  return value;
}

std::optional<double> real_from(std::string_view text) {
  const auto value = number_from<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::optional<Range> range_from(std::string_view text) {
  const bool half_open = text.find(':') != std::string_view::npos;
  const auto [first, last] = halves(text, half_open ? ':' : '-');
  const auto a = natural_from(first), b = natural_from(last);
  if (!a || !b || *b < *a) return std::nullopt;
  return Range{*a, half_open ? *b : *b + 1};
}

std::optional<BlockSize> block_size_from(std::string_view text) {
  const auto [first, last] = halves(text, 'x');
  const auto q = natural_from(first), k = natural_from(last);
  if (!q || !k || *q < 1 || *k < 1) return std::nullopt;
  return BlockSize{*q, *k};
}

}  // namespace maskctl
