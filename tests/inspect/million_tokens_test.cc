// Tests what recognise says of a million tokens that follow a rule but for a lone cell.
#include "inspect/random_masks.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/chain_text.h"
#include "support/catch_compat.h"

namespace maskctl::test {
namespace {

constexpr Index kTokens = 1'000'000;

TEST_CASE("recognise: a million tokens and a lone cell are a rule and that cell") {
  for (const char* rule :
       {"window:keys=1", "window:keys=4096", "window:both=512", "causal",
        "doc:lens=100000+300000+250000+350000 | causal", "chunk:size=1000 | causal",
        "chunk:size=65536", "window:keys=4096 | sinks:n=4", "pad:lens=900000 | causal",
        "neighbourhood:window=129", "dilated:stride=64 | window:keys=129"}) {
    const std::string steps = rule;
    // A key of another document, in the first row of a chunk, and a query's own key.
    for (const char* odd : {"open:q=700000,k=70", "close:q=700123,k=700123"}) {
      const Mask mask = made(kTokens, kTokens, steps + " | " + odd);
      if (mask.count() == made(kTokens, kTokens, steps).count()) continue;
      // An empty row among rows of one key may be a border of padding.
      if (steps == "window:keys=1" && odd[0] == 'c') continue;
      const Recognised found = recognise(mask);
      INFO(steps << " | " << odd);
      CHECK(to_text(found.chain) == steps);
      CHECK(found.residue.cells == 1);
    }
  }
}

TEST_CASE("recognise: no map of blocks takes more memory than there is") {
  const Mask mask = made(kTokens, kTokens, "block-diffusion:size=1000 | open:q=900000,k=71");
  CHECK(recognise(mask).residue.cells <= mask.cells());
}

}  // namespace
}  // namespace maskctl::test
