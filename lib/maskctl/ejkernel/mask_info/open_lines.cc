#include "maskctl/ejkernel/mask_info/open_lines.h"

#include <algorithm>

#include "maskctl/mask/planes/words.h"

namespace maskctl {

void OpenLines::add(const Plane& plane) {
  // For each column: the number of runs that begin there, minus the number of runs that end there.
  std::vector<Index> toggles(columns.size() + 1);
  std::vector<std::uint64_t> words;  // columns that are open in any row that is stored as bits
  plane.rows({0, plane.queries()}, [&](Range equal, const Keys& keys) {
    bool open = false;
    if (keys.is_words()) {
      words.resize(keys.words.size());
      combine_words(Op::kOr, words, keys.words, words);
      open = std::ranges::any_of(keys.words, [](std::uint64_t word) { return word != 0; });
    } else {
      for (const Run& run : keys.runs) {
        ++toggles[static_cast<std::size_t>(run.begin)];
        --toggles[static_cast<std::size_t>(run.end)];
      }
      open = !keys.runs.empty();
    }
    if (open) std::fill(rows.begin() + equal.begin, rows.begin() + equal.end, std::uint8_t{1});
  });
  Index covering = 0;
  for (std::size_t k = 0; k < columns.size(); ++k) {
    covering += toggles[k];
    const bool in_words = !words.empty() && (words[k / 64] >> (k % 64) & 1) != 0;
    if (covering > 0 || in_words) columns[k] = 1;
  }
}

}  // namespace maskctl
