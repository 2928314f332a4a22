// The words around a drawing: its title, the captions of its panels, the texts of the legend, and
// how words are broken into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/render/figure/axis.h"

namespace maskctl {

/// The UTF-8 text with '?' for each character that is not printable ASCII.
std::string ascii_text(std::string_view utf8);
/// The text if it has at most `width` characters; otherwise its beginning and end with dots between
/// them: "long/na...rest.npy".
std::string shortened(const std::string& utf8, Index width);

/// The name of the figure, or one line each for masks A and B; no lines if nothing is known.
/// `width`: the most characters of a line, 0: no limit.
std::vector<std::string> title_lines(const Figure& figure, Index width);
/// The parts of a caption: "heads 0-3, 5:", "9 queries x 9 keys,", "45 open (55.6%),", "1 leak",
/// and others for overlays and tiles. A line may be broken between any two of them.
std::vector<std::string> caption_words(const Figure& figure, const Panel& panel,
                                       const InkGrid& grid);
/// The share as "12.5%". Only 0 is shown as 0%, and only `area` as 100%.
std::string percent_text(Index open, Index area);

/// Joins words with `gap` blanks (one after , ; and :) and breaks them into lines of at most
/// `width` characters; 0: one line. A word that is longer than a line is not broken.
std::vector<std::string> fill_lines(const std::vector<std::string>& words, Index gap, Index width);

}  // namespace maskctl
