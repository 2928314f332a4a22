// Text that fills lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/render/figure/words.h"

namespace maskctl::app::tui {

/// The words of a text in lines of at most `width` characters; a longer word stays whole.
inline std::vector<std::string> wrapped(std::string_view text, Index width) {
  std::vector<std::string> words;
  for (const std::string_view word : split(text, ' ')) words.emplace_back(word);
  return fill_lines(words, 1, width);
}

}  // namespace maskctl::app::tui
