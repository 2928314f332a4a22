// Reads words, numbers and tuples in mask texts of other libraries; private to the layer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Reads a text from left to right; all failures are PipelineErrors with the caret at the place.
class LibraryText {
 public:
  LibraryText(std::string_view text, std::string_view subject) : text_(text), subject_(subject) {}

  /// Skips blanks, as all functions do before they read.
  bool at_end();
  char peek();
  bool take(char c);
  void need(char c);
  /// Letters, digits, '_', '-' and '.'; empty when there are none here.
  std::string word();
  /// A whole number; null for None and none.
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
