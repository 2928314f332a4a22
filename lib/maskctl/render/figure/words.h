// The words around a drawing: title, captions of panels, legend of segments, and how they fill
// lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/render/figure/axis.h"

namespace maskctl {

/// Any bytes as UTF-8 that is safe to show: bytes that are not UTF-8, control characters,
/// characters that XML forbids, and those that change the direction of text become U+FFFD.
std::string readable_text(std::string_view bytes);
/// One ASCII character per character of a UTF-8 text; '?' for all others.
std::string ascii_text(std::string_view utf8);
/// At most `width` characters; if there are more, dots in the middle: "long/na...rest.npy".
std::string shortened(const std::string& utf8, Index width);

/// The name of the figure, or one line each for A and B; no lines when nothing is known. `width`:
/// the most characters, 0 = no limit.
std::vector<std::string> title_lines(const Figure& figure, Index width);
/// "heads 0-3, 5:", "9 queries x 9 keys,", "45 open (55.6%),", "1 leak", and the like for overlays
/// and tiles; a line may break between any two of them.
std::vector<std::string> caption_words(const Figure& figure, const Panel& panel,
                                       const InkGrid& grid);
/// "12.5%"; 0% and 100% are exact.
std::string percent_text(Index open, Index area);

/// Joins words with `gap` blanks between them (one after , ; and :) and breaks them into lines of
/// at most `width` characters; 0 = one line. A longer word stays whole.
std::vector<std::string> fill_lines(const std::vector<std::string>& words, Index gap, Index width);

}  // namespace maskctl
