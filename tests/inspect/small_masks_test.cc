// recognise names small masks of the kinds that libraries make by the steps that made them.
#include "support/small_masks.h"

#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

TEST_CASE("small masks are recognised by the steps that made them", "[recognise]") {
  // tests/bench/small_rate.cc measures the same rates on many more masks.
  const Index draws = test::rounds<Index>(40);
  for (std::size_t kind = 0; kind < std::size(twin::kSmallKinds); ++kind) {
    Index named = 0;
    for (Index i = 0; i < draws; ++i) {
      const twin::SmallMask made = twin::SmallMaker(static_cast<std::uint64_t>(i) + 700)
                                       .draw(static_cast<twin::SmallKind>(kind));
      INFO(made.text);
      const Recognised found = recognise(made.mask);
      const Mask again = maskctl::apply(full_like(made.mask), found.chain);
      CHECK(zip(Op::kXor, again, made.mask).count() == found.residue.cells);
      named += twin::names_small(made, found);
    }
    INFO(twin::kSmallKinds[kind]);
    CHECK(named * 100 >= draws * 90);
  }
}

}  // namespace
}  // namespace maskctl
