// Errors in text that a person typed: what is wrong, and a caret under the place.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "maskctl/base/error.h"
#include "maskctl/base/index.h"

namespace maskctl {

/// A mistake in a pipeline. what() is one line, "pipeline: expected '|' or end, got 'd'"; display()
/// is two more lines: the text indented by 2, and a caret under the column:
///
///       causal | win dow
///                    ^
///
/// Columns are UTF-8 code points. If the text has several lines, only the one in question is shown,
/// after "line N: "; if the line is long, only the neighbourhood. Control characters and invalid
/// UTF-8 are shown as '?', so that a message never drives the terminal.
class PipelineError : public Error {
 public:
  /// `position` is a byte offset into `text`; text.size() is its end.
  PipelineError(const std::string& message, std::string_view text, Index position,
                std::vector<Remedy> remedies = {});
  const std::string& display() const { return display_; }
  Index position() const { return position_; }

 private:
  std::string display_;
  Index position_;
};

/// Text made safe to repeat in a message: control characters and invalid UTF-8 become '?'; at most
/// 60 code points, with "..." at the end of a longer text.
std::string shown(std::string_view text);

/// The candidate nearest to a mistyped word by number of edits (a swap of neighbours is one), if it
/// is at most two edits away and fewer than retyping the word; the first among equals. Words that
/// others use ("sliding_window") stand for the candidate of that meaning.
std::optional<std::string_view> nearest(std::string_view word,
                                        std::span<const std::string_view> candidates);

/// "did you mean 'causal'?", or without a near candidate "known: causal, window".
std::string hint(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace maskctl
