#include "maskctl/translate/read/text.h"

#include <fmt/format.h>

#include <cctype>

#include "maskctl/pipeline/parse/diagnostic.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

}  // namespace

void LibraryText::skip_blanks() {
  while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
}

bool LibraryText::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

char LibraryText::peek() { return at_end() ? '\0' : text_[at_]; }

bool LibraryText::take(char c) {
  if (peek() != c) return false;
  ++at_;
  return true;
}

void LibraryText::need(char c) {
  if (!take(c)) fail(fmt::format("expected '{}'", c));
}

std::string LibraryText::word() {
  skip_blanks();
  const std::size_t begin = at_;
  while (at_ < text_.size() && is_word(text_[at_])) ++at_;
  return std::string(text_.substr(begin, at_ - begin));
}

std::optional<Index> LibraryText::number() {
  skip_blanks();
  const Index begin = position();
  const std::string text = word();
  if (text == "None" || text == "none") return std::nullopt;
  const auto value = integer_from(text);
  if (!value) fail_at(begin, "expected a whole number");
  return value;
}

Index LibraryText::required_number() {
  skip_blanks();
  const Index begin = position();
  const auto value = number();
  if (!value) fail_at(begin, "expected a whole number");
  return *value;
}

void LibraryText::fail_at(Index position, const std::string& message) {
  throw PipelineError(fmt::format("{}: {}", subject_, message), text_, position);
}

}  // namespace maskctl
