#include "app/python/keywords.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace maskctl::app {
namespace {

constexpr std::string_view kNameLetters = "abcdefghijklmnopqrstuvwxyz0123456789-";

/// Options whose value is one of a fixed set of words. As the value of a keyword argument in
/// Python, such a word needs quotes.
constexpr std::string_view kOfWords[] = {"as", "to", "layout", "assume", "semantics"};

/// Options that messages also name by a letter, with their long names.
constexpr std::pair<std::string_view, std::string_view> kLetters[] = {{" -o ", " --output "},
                                                                      {" -t ", " --transform "}};

std::string with_long_names(std::string_view message) {
  std::string out(message);
  for (const auto& [letter, name] : kLetters) {
    for (auto at = out.find(letter); at != out.npos; at = out.find(letter, at)) {
      out.replace(at, letter.size(), name);
    }
  }
  return out;
}

std::string keyword_of(std::string_view option) {
  if (option == "as") return "kind";
  std::string out(option);
  std::ranges::replace(out, '-', '_');
  return out;
}

/// True if `word`, which follows an option in a message, is the option's value and not the next
/// word of the sentence: a placeholder such as "N", a number, a quoted text, or any word after an
/// option of kOfWords.
bool is_value(std::string_view option, std::string_view word) {
  if (word.empty()) return false;
  const auto first = static_cast<unsigned char>(word.front());
  const bool negative = first == '-' && word.find_first_of("0123456789") == 1;
  return negative || std::isupper(first) || std::isdigit(first) || first == '\'' ||
         std::ranges::count(kOfWords, option) != 0;
}

std::string value_text(std::string_view option, std::string_view word) {
  if (option == "shape") {  // "B+H+Q+K" becomes "(B, H, Q, K)"
    std::string out = "(";
    for (const char c : word) out += c == '+' ? std::string(", ") : std::string(1, c);
    return out + ")";
  }
  const bool plain = std::islower(static_cast<unsigned char>(word.front())) != 0;
  return plain ? '"' + std::string(word) + '"' : std::string(word);
}

}  // namespace

std::string in_keywords(std::string_view text) {
  const std::string long_names = with_long_names(text);
  std::string_view message = long_names;
  std::string out;
  while (!message.empty()) {
    const std::size_t at = message.find("--");
    const bool starts = at == 0 || (at != message.npos && message[at - 1] == ' ');
    const std::string_view rest = at == message.npos ? "" : message.substr(at + 2);
    const std::string_view option = rest.substr(0, rest.find_first_not_of(kNameLetters));
    if (at == message.npos) return out.append(message);
    out += message.substr(0, at);
    if (!starts || option.empty()) {
      out += "--";
      message = rest;
      continue;
    }
    out += keyword_of(option) + "=";
    message = rest.substr(option.size());
    if (!message.starts_with(' ')) continue;
    const std::string_view word = message.substr(1, message.find_first_of(" ,;)\n", 1) - 1);
    if (!is_value(option, word)) continue;
    out += value_text(option, word);
    message.remove_prefix(1 + word.size());
  }
  return out;
}

}  // namespace maskctl::app
