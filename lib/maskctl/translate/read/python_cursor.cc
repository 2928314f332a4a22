#include "maskctl/translate/read/python_cursor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/diagnostic.h"

namespace maskctl {
namespace {

constexpr std::size_t kMaxBytes = std::size_t{64} << 10;

bool is_word_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }

}  // namespace

PythonCursor::PythonCursor(std::string_view text, std::string_view subject)
    : text_(text), subject_(subject) {
  if (text.size() > kMaxBytes) fail(0, fmt::format("more than {} bytes", kMaxBytes));
}

void PythonCursor::fail(std::size_t at, const std::string& why) const {
  throw PipelineError(fmt::format("{}: {}", subject_, why), text_, static_cast<Index>(at));
}

void PythonCursor::skip(bool lines) {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\\' ||
               (c == '\n' && (lines || brackets_ > 0))) {
      ++at_;
    } else {
      return;
    }
  }
}

void PythonCursor::skip_lines() {
  for (skip(true); at_ < text_.size() && text_[at_] == ';'; skip(true)) ++at_;
}

char PythonCursor::peek() {
  skip(false);
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool PythonCursor::take(std::string_view sign) {
  skip(false);
  if (!text_.substr(at_).starts_with(sign)) return false;
  at_ += sign.size();
  return true;
}

void PythonCursor::need(std::string_view sign) {
  if (!take(sign)) fail(at_, fmt::format("expected '{}'", sign));
}

std::string_view PythonCursor::word_ahead() {
  skip(false);
  std::size_t end = at_;
  while (end < text_.size() && (is_word_letter(text_[end]) || is_digit(text_[end]))) ++end;
  return text_.substr(at_, end - at_);
}

bool PythonCursor::ends() { return peek() == '\0' || peek() == '\n' || peek() == ';'; }

}  // namespace maskctl
