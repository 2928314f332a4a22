// A line of text that the user is typing.
#pragma once

#include <string>
#include <string_view>

namespace maskctl::app::tui {

struct Line {
  std::string text;       // the text, in UTF-8
  std::size_t caret = 0;  // byte index in the text, at most its size

  static Line at_end(std::string text) {
    const std::size_t end = text.size();
    return {std::move(text), end};
  }
  /// Inserts a character, or does what <BS>, <Del>, <Left>, <Right>, <Home>, <End>, <C-a>, <C-e>,
  /// <C-u> and <C-w> do in a shell; false for other keys.
  bool take(std::string_view key);

  friend bool operator==(const Line&, const Line&) = default;

 private:
  std::size_t before() const;
  std::size_t after() const;
  std::size_t word_begin() const;
  void erase(std::size_t begin, std::size_t end);
};

}  // namespace maskctl::app::tui
