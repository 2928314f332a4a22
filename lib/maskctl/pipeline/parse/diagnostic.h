// Errors in text that a person typed: what is wrong, and a caret under the position.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/base/index.h"

namespace maskctl {

/// An error in the text of a pipeline. what() is one line: "pipeline: expected '|' or end, got
/// 'd'". display() is two more lines, the text indented by 2 and a caret below the position:
///
///       causal | win dow
///                    ^
///
/// Columns are UTF-8 code points. Of a text with several lines, only the line in question is shown,
/// after "line N: ". Of a long line, only the part around the caret is shown. What printable()
/// escapes is escaped.
class PipelineError : public Error {
 public:
  /// `position` is a byte offset into `text`; text.size() means the end.
  PipelineError(const std::string& message, std::string_view text, Index position,
                std::vector<Remedy> remedies = {});
  const std::string& display() const { return display_; }
  Index position() const { return position_; }

 private:
  std::string display_;
  Index position_;
};

/// The candidate that was probably meant by a mistyped word: the one with the smallest edit
/// distance (a swap of neighbours counts as one edit), if that is at most 2 and half
/// the length of the word; the first of several. Else the only candidate that begins with the word.
/// A word that other programs use, such as "sliding_window", gives the candidate with the same
/// meaning. Nothing if none is near enough.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

/// A hint for an unknown word: "did you mean 'causal'?" or, if none is near, "known: causal,
/// window".
std::string hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace maskctl
