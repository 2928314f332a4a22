// Wraps text into lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {

/// Wraps text into lines of at most `width` characters. A word that is longer is not split.
inline std::vector<std::string> wrapped(std::string_view text, Index width) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) words.emplace_back(word);
  return fill_lines(words, 1, width);
}

}  // namespace maskctl::app::tui
