// recognise and diff, in both orders, name the fault that was put into a packed mask, and nothing
// else.
#include "support/odd_masks.h"

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

TEST_CASE("recognise and diff name a planted cell, line, rectangle or plane, and nothing else",
          "[recognise][diff]") {
  // tests/bench/odd_cells_rate.cc measures the same rates on many more masks.
  const Index draws = test::rounds<Index>(100);
  Index recognised = 0, explained = 0;
  for (Index i = 0; i < draws; ++i) {
    const twin::OddMask made = twin::OddMaskMaker(static_cast<std::uint64_t>(i) + 4100).draw();
    INFO(made.text);
    recognised += twin::names_odd(made, recognise(made.odd));
    for (const bool forth : {true, false}) {
      const Mask& a = forth ? made.odd : made.sound;
      const Mask& b = forth ? made.sound : made.odd;
      const auto cause = diff_cause(a, b);
      REQUIRE(cause);
      CHECK(zip(Op::kXor, b, maskctl::apply(a, cause->edit)).count() == cause->edit_residue.cells);
      explained += twin::names_odd(made, a, b, *cause);
    }
  }
  CHECK(recognised * 100 >= draws * 97);
  CHECK(explained * 100 >= 2 * draws * 97);
}

TEST_CASE("a cause that describes an edit has no pipelines", "[diff][cause]") {
  for (std::uint64_t i = 0; i < 40; ++i) {
    const twin::OddMask made = twin::OddMaskMaker(i + 900).draw();
    const auto cause = diff_cause(made.odd, made.sound);
    REQUIRE(cause);
    if (!cause->by_pipelines) CHECK(cause->pipeline_a.empty());
    if (!cause->by_pipelines) CHECK(cause->pipeline_b.empty());
  }
}

}  // namespace
}  // namespace maskctl
