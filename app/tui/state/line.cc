#include "app/tui/state/line.h"

namespace maskctl::app::tui {
namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0u) == 0x80u; }

}  // namespace

std::size_t Line::before() const {
  std::size_t at = caret;
  while (at > 0 && continues(text[--at])) {
  }
  return at;
}

std::size_t Line::after() const {
  std::size_t at = caret;
  while (at < text.size() && continues(text[++at])) {
  }
  return at;
}

std::size_t Line::word_begin() const {
  std::size_t at = caret;
  while (at > 0 && text[at - 1] == ' ') --at;
  while (at > 0 && text[at - 1] != ' ') --at;
  return at;
}

void Line::erase(std::size_t begin, std::size_t end) {
  text.erase(begin, end - begin);
  caret = begin;
}

bool Line::take(std::string_view key) {
  if (!key.starts_with('<') || key == "<") {
    text.insert(caret, key);
    caret += key.size();
  } else if (key == "<BS>") {
    erase(before(), caret);
  } else if (key == "<Del>") {
    erase(caret, after());
  } else if (key == "<Left>") {
    caret = before();
  } else if (key == "<Right>") {
    caret = after();
  } else if (key == "<Home>" || key == "<C-a>") {
    caret = 0;
  } else if (key == "<End>" || key == "<C-e>") {
    caret = text.size();
  } else if (key == "<C-u>") {
    erase(0, caret);
  } else if (key == "<C-w>") {
    erase(word_begin(), caret);
  } else {
    return false;
  }
  return true;
}

}  // namespace maskctl::app::tui
