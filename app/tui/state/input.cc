#include "app/tui/state/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "maskctl/base/error.h"
#include "maskctl/base/printable.h"
#include "maskctl/base/text.h"

namespace maskctl::app::tui {
namespace {

constexpr std::array<std::string_view, 15> kNames = {"Left", "Right", "Up",     "Down",     "Home",
                                                     "End",  "Tab",   "PageUp", "PageDown", "Enter",
                                                     "Esc",  "BS",    "Del",    "F1",       "F10"};
constexpr std::array<std::string_view, 4> kMouseNames = {"Mouse", "Drag", "WheelUp", "WheelDown"};

bool is_control(std::string_view name) {
  return name.size() == 3 && name.starts_with("C-") && name[2] >= 'a' && name[2] <= 'z';
}

/// Parses two numbers separated by `mark`, such as "3,10" or "80x24".
std::optional<std::pair<Index, Index>> pair_from(std::string_view text, char mark) {
  const auto parts = split(text, mark);
  if (parts.size() != 2) return std::nullopt;
  const auto first = number_from<int>(parts[0]), second = number_from<int>(parts[1]);
  if (!first || !second || *first < 0 || *second < 0) return std::nullopt;
  return std::pair<Index, Index>{*first, *second};
}

std::optional<Input> named(std::string_view name) {
  if (name == "lt") return Input{"<"};
  if (name == "Space") return Input{" "};
  if (one_of(kNames, name) || is_control(name)) return Input{fmt::format("<{}>", name)};
  const std::size_t blank = name.find(' ');
  if (blank == name.npos) return std::nullopt;
  const std::string_view what = name.substr(0, blank), place = name.substr(blank + 1);
  if (what == "Resize") {
    if (const auto size = pair_from(place, 'x'))
      return Input{"<Resize>", size->second, size->first};
  } else if (one_of(kMouseNames, what)) {
    if (const auto at = pair_from(place, ',')) {
      return Input{fmt::format("<{}>", what), at->first, at->second};
    }
  }
  return std::nullopt;
}

std::size_t bytes_of_character(char lead) {
  const auto byte = static_cast<unsigned char>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

std::vector<Input> parse_script(std::string_view script) {
  std::vector<Input> out;
  for (std::size_t i = 0; i < script.size();) {
    if (script[i] == '\n' || script[i] == '\r') {
      ++i;
      continue;
    }
    if (script[i] != '<') {
      const std::string_view character = script.substr(i, bytes_of_character(script[i]));
      out.push_back({std::string(character)});
      i += character.size();
      continue;
    }
    const std::size_t end = std::min(script.find('>', i), script.size());
    const std::string_view name = script.substr(i + 1, end - i - 1);
    i = std::min(end + 1, script.size());
    if (name == "Wait") continue;
    const auto input = named(name);
    if (!input) {
      throw Error(Errc::kInvalidArgument,
                  fmt::format("script: unknown key '<{}>'; expected names such as <Left>, <C-d>, "
                              "<Enter>, <Mouse 3,10>, <Resize 80x24>, and <lt> for '<'",
                              printable(name)));
    }
    out.push_back(*input);
  }
  return out;
}

std::string script_text(std::span<const Input> inputs) {
  constexpr std::size_t kLine = 80;
  std::string out, line;
  for (const Input& input : inputs) {
    if (input.key == kDone) continue;
    const std::string name = input.key.substr(0, input.key.size() - 1);
    if (input.key == "<Resize>") {
      line += fmt::format("{} {}x{}>", name, input.column, input.row);
    } else if (input.key == "<Mouse>" || input.key == "<Drag>" || input.key.starts_with("<Wheel")) {
      line += fmt::format("{} {},{}>", name, input.row, input.column);
    } else {
      line += input.key == "<" ? "<lt>" : input.key;
    }
    if (line.size() < kLine) continue;
    out += line + "\n";
    line.clear();
  }
  return line.empty() ? out : out + line + "\n";
}

}  // namespace maskctl::app::tui
