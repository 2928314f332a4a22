// Tests that a mask that was read with the wrong row length is recognised by its cells in the right
// one.
#include "maskctl/inspect/recognise/row_length.h"

#include "inspect/random_masks.h"
#include "maskctl/mask/steps/chain_text.h"
#include "support/catch_compat.h"
#include "support/twin.h"

namespace maskctl::test {
namespace {

/// The cells of a mask in the same order, read with queries and keys exchanged.
Mask exchanged(const Mask& mask) {
  const twin::Dense cells = twin::dense_of(mask);
  twin::Dense out(1, 1, mask.keys(), mask.queries());
  out.cells = cells.cells;
  return twin::mask_of(out);
}

TEST_CASE("a mask that was read with swapped extents is named, others are not", "[recognise]") {
  const std::string steps = GENERATE("causal:align=top-left", "window:keys=4,align=bottom-right",
                                     "pad:lens=7 | causal:align=top-left");
  const Mask mask = made(20, 10, steps);
  const auto found = chain_with_exchanged_extents(exchanged(mask));
  REQUIRE(found);
  CHECK(zip(Op::kXor, maskctl::apply(full_like(mask), *found), mask).count() == 0);
  CHECK_FALSE(chain_with_exchanged_extents(made(20, 20, "causal")));
  CHECK_FALSE(chain_with_exchanged_extents(made(10, 20, "pad:lens=20")));
  std::mt19937 random(7);
  for (Index i = 0; i < 20; ++i) {
    const twin::Dense cells = twin::matrix(9, 14, [&](Index, Index) { return random() % 3 != 0; });
    CHECK_FALSE(chain_with_exchanged_extents(twin::mask_of(cells)));
  }
}

}  // namespace
}  // namespace maskctl::test
