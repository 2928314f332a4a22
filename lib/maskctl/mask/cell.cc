#include "maskctl/mask/cell.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "maskctl/base/text.h"

namespace maskctl {
namespace {

using Part = std::optional<Index> CellParts::*;

constexpr struct {
  std::string_view name, letter;
  Part part;
} kParts[] = {{"batch", "b", &CellParts::batch},
              {"head", "h", &CellParts::head},
              {"query", "q", &CellParts::query},
              {"key", "k", &CellParts::key}};

Part part_named(std::string_view word) {
  const auto* at = std::ranges::find_if(
      kParts, [&](const auto& row) { return row.name == word || row.letter == word; });
  return at == std::end(kParts) ? nullptr : at->part;
}

/// Splits a text into names and numbers; nothing when other characters than blanks and punctuation
/// separate them.
std::optional<std::vector<std::string_view>> words_of(std::string_view text) {
  constexpr std::string_view kBetween = " \t\n,;:=()[]{}\"'";
  std::vector<std::string_view> out;
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(kBetween), text.size()));
    if (text.empty()) return out;
    if (out.size() == 2 * std::size(kParts)) return std::nullopt;
    const std::size_t end = std::min(text.find_first_of(kBetween), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
}

std::optional<Index> place_from(std::string_view word) {
  const auto value = whole_number_from(word);
  return value && *value >= 0 ? value : std::nullopt;
}

/// Reads two numbers (query, key) or four (batch, head, query, key) without names.
std::optional<CellParts> unnamed(const std::vector<std::string_view>& words) {
  if (words.size() != 2 && words.size() != std::size(kParts)) return std::nullopt;
  CellParts out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Part part = kParts[std::size(kParts) - words.size() + i].part;
    out.*part = place_from(words[i]);
    if (!(out.*part)) return std::nullopt;
  }
  return out;
}

std::optional<CellParts> named(const std::vector<std::string_view>& words) {
  CellParts out;
  for (std::size_t i = 0; i < words.size(); i += 2) {
    const Part part = part_named(words[i]);
    if (part == nullptr || out.*part || i + 1 == words.size()) return std::nullopt;
    out.*part = place_from(words[i + 1]);
    if (!(out.*part)) return std::nullopt;
  }
  return out;
}

}  // namespace

std::string cell_text(const Cell& cell) {
  return fmt::format("batch {}, head {}, query {}, key {}", cell.batch, cell.head, cell.query,
                     cell.key);
}

std::optional<CellParts> cell_from(std::string_view text) {
  const auto words = words_of(text);
  if (!words || words->empty()) return std::nullopt;
  return is_digit(words->front().front()) ? unnamed(*words) : named(*words);
}

}  // namespace maskctl
