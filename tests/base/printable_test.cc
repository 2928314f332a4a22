// Tests that text from others is shown with escapes in place of what acts on terminals and readers.
#include "maskctl/base/printable.h"

#include <utility>

#include "support/catch_compat.h"

namespace maskctl {
namespace {

TEST_CASE("printable: characters that act on a terminal or a reader are escaped", "[printable]") {
  const std::pair<std::string, std::string> kCases[] = {
      {"\x1b]0;t\x07\x1b[2J", "\\x1b]0;t\\x07\\x1b[2J"},
      {"a\b\t\r\nb", "a\\x08\\x09\\x0d\\x0ab"},
      {std::string("a\0b", 3), "a\\x00b"},
      {"\x7f", "\\x7f"},
      {"\xC2\x80\xC2\x9B\xC2\x9F", "\\u0080\\u009b\\u009f"},
      {"\xD8\x9C", "\\u061c"},
      {"\xE2\x80\x8E\xE2\x80\x8F", "\\u200e\\u200f"},
      {"\xE2\x80\xA8\xE2\x80\xA9", "\\u2028\\u2029"},
      {"\xE2\x80\xAA\xE2\x80\xAE", "\\u202a\\u202e"},
      {"\xE2\x81\xA6\xE2\x81\xA9", "\\u2066\\u2069"},
      {"\xEF\xBF\xBE\xF0\x9F\xBF\xBF", "\\ufffe\\U0001ffff"},
      {"\xFF\xC3", "\\xff\\xc3"},
      {"\xE0\x80\x80", "\\xe0\\x80\\x80"},  // an overlong form
      {"\xED\xA0\x80", "\\xed\\xa0\\x80"},  // a surrogate
      {"\xF4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}};
  for (const auto& [text, escaped] : kCases) {
    CHECK(printable(text) == escaped);
    CHECK(printable(escaped) == escaped);
    CHECK(printable_lines(escaped + "\n") == escaped + "\n");
  }
}

TEST_CASE("printable: all other characters are unchanged", "[printable]") {
  const std::string text = "layer.0 \xC2\xA0\xC3\xA9\xE2\x80\x8B\xE2\x82\xAC\xF0\x9F\x98\x80 \\x1b";
  CHECK(printable(text) == text);
}

TEST_CASE("printable: a long text is not cut inside a character", "[printable]") {
  CHECK(printable("\xC3\xA9\xC3\xA9\xC3\xA9", 2) == "\xC3\xA9\xC3\xA9...");
  CHECK(printable("\x1b\x1b", 2) == "\\x1b\\x1b");
  CHECK(printable("\xC3\xA9", 0) == "...");
  const std::string letters(81, 'a');
  CHECK(printable(letters) == letters.substr(1) + "...");
  CHECK(printable(letters, kUncut) == letters);
}

TEST_CASE("printable: lines keep line feeds and, where asked, colours", "[printable]") {
  const std::string text = "a\tb\r\n\x1b[1;31mred\x1b[0m\x1b[2J\x1b[31";
  CHECK(printable_lines(text) == "a\tb\\x0d\n\\x1b[1;31mred\\x1b[0m\\x1b[2J\\x1b[31");
  CHECK(printable_lines(text, true) == "a\tb\\x0d\n\x1b[1;31mred\x1b[0m\\x1b[2J\\x1b[31");
}

TEST_CASE("printable: a list shows at most twenty names", "[printable]") {
  CHECK(printable_list({"a", "b\n"}) == "a, b\\x0a");
  const std::vector<std::string> names(21, "a");
  const std::string many = printable_list(names);
  CHECK(many.ends_with("a, ..."));
  CHECK(many.size() == 20 * 3 + 3);
}

}  // namespace
}  // namespace maskctl
