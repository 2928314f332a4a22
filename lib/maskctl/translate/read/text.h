// Reads words, numbers and tuples from mask texts of other libraries; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Reads a text from left to right. All errors are PipelineErrors with the caret at the position.
class LibraryText {
 public:
  LibraryText(std::string_view text, std::string_view subject) : text_(text), subject_(subject) {}

  /// True at the end of the text. Skips blanks first, as all these functions do.
  bool at_end();
  char peek();
  bool take(char c);
  void need(char c);
  /// Reads letters, digits, '_', '-' and '.'; empty if there are none at the position.
  std::string word();
  /// Reads a whole number; nothing for None and none.
  std::optional<Index> number();
  Index required_number();
  Index position() const { return static_cast<Index>(at_); }
  [[noreturn]] void fail(const std::string& message) { fail_at(position(), message); }
  [[noreturn]] void fail_at(Index position, const std::string& message);

 private:
  void skip_blanks();

  std::string_view text_;
  std::string subject_;
  std::size_t at_ = 0;
};

}  // namespace maskctl
