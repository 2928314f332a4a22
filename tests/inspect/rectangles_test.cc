// Tests common_rectangles(), which finds rectangles that many rows share, also where newly
// allocated memory is not zero.
#include "maskctl/inspect/recognise/rectangles.h"

#include <cstdlib>
#include <cstring>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

/// Frees a block full of ones, which malloc is likely to return for the next matrix of `words`
/// words.
void leave_ones(Index words) {
  const std::size_t bytes = static_cast<std::size_t>(words) * 8;
  void* const block = std::aligned_alloc(64, (bytes + 63) / 64 * 64);
  std::memset(block, 0xff, bytes);
  std::free(block);
}

}  // namespace

TEST_CASE("common_rectangles leaves rows closed that are in no rectangle", "[recognise]") {
  // Two documents of ten queries each. Besides, every query sees one key that no other query sees;
  // it is the only key that the last 20 queries see.
  const Index n = 40, all = 60;
  const Band own{20, 21, 1, 1};
  const PlanePtr open =
      bands(n, all,
            {{{0, 10}, {{0, 10, 0, 0}, own}}, {{10, 20}, {{10, 20, 0, 0}, own}}, {{20, n}, {own}}});
  const PlanePtr closed = combine(Op::kSub, full_plane(n, all), open);
  leave_ones(n * words_for(all));
  const std::vector<PlanePtr> found = recognition::common_rectangles(*closed);
  REQUIRE(!found.empty());
  for (const PlanePtr& plane : found) {
    CHECK(combine(Op::kAnd, plane, closed)->count() == 0);
    plane->rows({20, n}, [&](Range, const Keys& keys) { CHECK(keys.runs.empty()); });
  }
}
