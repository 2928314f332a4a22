// Whether calls of libraries can express a mask: of cells alone, by the steps that are found.
#include "maskctl/translate/expressible.h"

#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

using Answer = Expressible::Answer;

TEST_CASE("what is said of cells is what translate does with steps that make them") {
  for (const char* text : {"causal", "window:keys=4", "doc:lens=5+11 | causal", "chunk:size=4",
                           "prefix:n=3 | causal", "pad:lens=7", "dilated:stride=2"}) {
    const Mask mask = maskctl::apply(Mask(full_plane(16, 16)), test::bound(text));
    const KnownSteps steps = known_steps(mask);
    REQUIRE(steps.chain);
    CHECK(differing_cells(maskctl::apply(full_like(mask), *steps.chain), mask) == 0);
    for (const Library* library : libraries()) {
      INFO(text << ", " << library->name);
      const Translation made =
          translate(*steps.chain, *library, [](const Step& step) { return to_text(Chain{step}); });
      const Expressible found = expressible(steps, *library);
      CHECK(found.answer == (made.ok() ? Answer::kYes : Answer::kCannot));
      CHECK(found.why == made.refusal);
      CHECK(found.why.empty() == (found.answer == Answer::kYes));
    }
  }
}

TEST_CASE("no library is said to lack masks whose steps are not known") {
  const KnownSteps random =
      known_steps(maskctl::apply(Mask(full_plane(16, 16)), test::bound("random:sparsity=0.5")));
  HfLayer without_mask;
  without_mask.type = "mamba";
  without_mask.has_mask = false;
  const KnownSteps layer = known_steps(without_mask);
  for (const KnownSteps& steps : {random, layer}) {
    CHECK_FALSE(steps.chain);
    for (const Library* library : libraries()) {
      const Expressible found = expressible(steps, *library);
      CHECK(found.answer == Answer::kNotKnown);
      CHECK(found.why == steps.unknown);
      CHECK_FALSE(found.why.empty());
    }
  }
}

}  // namespace
}  // namespace maskctl
