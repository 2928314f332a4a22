// A place in a Python text: blanks and comments skipped, signs and words taken; private to the
// layer.
#pragma once

#include <string>
#include <string_view>

namespace maskctl {

class PythonCursor {
 public:
  PythonCursor(std::string_view text, std::string_view subject);

 protected:
  [[noreturn]] void fail(std::size_t at, const std::string& why) const;
  /// Skips blanks and comments; with `lines`, and in brackets, the ends of lines too.
  void skip(bool lines);
  /// Skips what stands between statements.
  void skip_lines();
  /// The next character that is not skipped; 0 at the end.
  char peek();
  /// Whether the sign comes next; then it is taken.
  bool take(std::string_view sign);
  void need(std::string_view sign);
  /// The word that comes next, which is not taken; may be empty.
  std::string_view word_ahead();
  /// Whether a statement ends here.
  bool ends();

  std::string_view text_;
  std::string subject_;
  std::size_t at_ = 0;
  int brackets_ = 0;  // how many are open
};

}  // namespace maskctl
