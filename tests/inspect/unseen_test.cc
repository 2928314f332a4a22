// Keys that no query sees, held against plain cells, and in words.
#include "maskctl/inspect/find/unseen.h"

#include "inspect/claims/cells.h"
#include "inspect/claims/forms.h"
#include "inspect/random_masks.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl::test {
namespace {

TEST_CASE("unseen keys are exactly the keys that no query sees") {
  for (unsigned seed = 0; seed < rounds(500U); ++seed) {
    const Mask mask = FormMaker(seed).draw();
    const PlainCells cells(mask);
    const auto found = *unseen_keys(mask);
    if (mask.count() == 0) {
      CHECK(found.empty());
      continue;
    }
    for (Index b = 0; b < cells.batch(); ++b) {
      for (Index k = 0; k < cells.keys(); ++k) {
        bool seen = false, listed = false;
        for (Index h = 0; h < cells.heads(); ++h) seen = seen || cells.is_seen(b, h, k);
        for (const UnseenKeys& one : found) {
          for (const Range& keys : one.keys) {
            listed = listed || (one.batch == b && keys.begin <= k && k < keys.end);
          }
        }
        INFO("seed " << seed << ", batch " << b << ", key " << k);
        CHECK(seen != listed);
      }
    }
  }
}

TEST_CASE("the words for unseen keys group batch entries with the same keys") {
  const auto words = [](const Mask& mask) { return unseen_words(*unseen_keys(mask), mask); };
  CHECK(words(made(6, 8, "causal:align=top-left")) == "keys 6-7");
  CHECK(words(made(6, 6, "pad:lens=4")) == "keys 4-5");
  const Mask rows = maskctl::apply(full_mask(4, 1, 6, 6),
                                   load_chain(std::array<std::string, 1>{"pad:lens=4+6+4+5"}, {}));
  CHECK(words(rows) == "keys 4-5 (batches 0, 2), key 5 (batch 3)");
  CHECK(words(made(6, 6, "causal")) == "");
}

TEST_CASE("unseen keys of millions of tokens are found from bands, or from a sample of rows") {
  const auto of = [](Index tokens, const std::string& chain) {
    return unseen_keys(made(tokens, tokens, chain));
  };
  const auto closed = of(Index{1} << 23, "causal | close:k=5-9");
  REQUIRE(closed.has_value());
  REQUIRE(closed->size() == 1);
  CHECK(closed->front().keys == std::vector<Range>{{5, 10}});
  CHECK(of(1'000'000, "dilated:stride=2 | causal").value().empty());
  // Keys that only a sample of rows does not see are not reported.
  CHECK_FALSE(of(1'000'000, "dilated:stride=2 | causal | close:k=5-9").has_value());
}

}  // namespace
}  // namespace maskctl::test
