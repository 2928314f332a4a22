#include "maskctl/verify/row_words.h"

#include <algorithm>
#include <set>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/verify/compare.h"

namespace maskctl::attention {

std::string where_text(const Residuals& residuals, const std::vector<Index>& rows) {
  const auto words = [](const std::set<Index>& numbers, const char* one, const char* many) {
    constexpr std::size_t kMostRanges = 6;
    const std::vector<Index> ascending(numbers.begin(), numbers.end());
    return range_words(ranges_of(ascending), one, many, kMostRanges);
  };
  std::set<Index> batches, heads, times;
  for (const Index row : rows) {
    const RowPosition& position = residuals.position(row);
    batches.insert(position.batch);
    heads.insert(position.head);
    times.insert(position.time);
  }
  std::string out;
  if (residuals.batches() > 1) out += words(batches, "batch", "batches") + ", ";
  out += words(heads, "head", "heads") + ", ";
  const bool gradients = std::ranges::all_of(rows, [&](Index row) {
    return is_gradient(std::string(residuals.array(residuals.position(row))));
  });
  return out + (gradients ? words(times, "row", "rows") : words(times, "query", "queries"));
}

}  // namespace maskctl::attention
