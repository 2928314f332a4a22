// is_exception(), which finds stray cells, against its definition in loops over all tokens.
#include "maskctl/inspect/check/exceptions.h"

#include "inspect/random_masks.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using test::made;

/// The definition of an exceptional cell, by loops over all tokens; query 0 is token `shift`.
bool slow_exception(const twin::Dense& mask, Index q, Index k, Index shift) {
  const auto sees = [&mask](Index query, Index key) {
    return query >= 0 && query < mask.q && key >= 0 && key < mask.k && mask.get(0, 0, query, key);
  };
  const Index self = q + shift;
  if (mask.q == 1) {
    const int open = sees(0, k - 1) + sees(0, k + 1), places = (k > 0) + (k + 1 < mask.k);
    if (0 < open && open < places) return false;
  }
  if (!sees(q, k)) {
    for (Index m = 0; m < mask.k; ++m) {
      if (sees(q, m) && sees(m - shift, k)) return true;
    }
    for (Index r = 0; r < mask.q && k <= self; ++r) {
      if (sees(r, self) && sees(r, k)) return true;
    }
    return false;
  }
  bool group = true;
  for (Index a = std::min(self, k); a <= std::max(self, k); ++a) {
    for (Index b = std::min(self, k); b <= std::max(self, k); ++b) {
      group = group && sees(a - shift, b);
    }
  }
  if (group) return false;
  bool all = true;
  for (Index r = 0; r < mask.q; ++r) {
    bool any = false;
    for (Index m = 0; m < mask.k; ++m) any = any || sees(r, m);
    all = all && (!any || sees(r, k));
  }
  if (all) return false;
  if (k > self || k < shift) return true;
  for (Index t = k + 1; t < self; ++t) {
    if (t >= shift && sees(q, t) && !sees(t - shift, k)) return true;
  }
  for (Index m = 0; m < mask.k; ++m) {
    if (sees(k - shift, m) && !sees(q, m)) return true;
  }
  for (Index r = 0; r < mask.q; ++r) {
    if (sees(r, self) && !sees(r, k)) return true;
  }
  return false;
}

TEST_CASE("is_exception() equals its definition in plain loops", "[lint]") {
  std::mt19937 random(3);
  for (int round = 0; round < test::rounds(60); ++round) {
    const Index queries = 1 + static_cast<Index>(random() % 14);
    const Index keys = queries + static_cast<Index>(random() % 6);
    const test::MaskPair pair = test::random_mask(random, queries, keys);
    const Index last = keys - queries, shift = random() % (last + 1);
    const std::optional<Index> given = shift == last ? std::nullopt : std::optional(shift);
    INFO("round " << round << ", shift " << shift);
    for (Index q = 0; q < queries; ++q) {
      for (Index k = 0; k < keys; ++k) {
        INFO(q << "," << k);
        CHECK(is_exception(pair.mask.plane(0, 0), q, k, given) ==
              slow_exception(pair.dense, q, k, shift));
      }
    }
  }
}

TEST_CASE("stray cells are exceptions, those of images and trees are not", "[lint]") {
  const auto exception = [](const char* chain, Index q, Index k) {
    return is_exception(made(24, 24, chain).plane(0, 0), q, k);
  };
  CHECK(exception("causal | close:q=12,k=5", 12, 5));
  CHECK(exception("doc:lens=12+12 | causal | open:q=20,k=5", 20, 5));
  // The last query sees the first key.
  CHECK(exception("doc:lens=12+12 | causal | open:q=23,k=0", 23, 0));
  CHECK(exception("causal | open:q=3,k=9", 3, 9));
  CHECK_FALSE(exception("causal | open:q=3-9,k=3-9", 3, 9));
  CHECK_FALSE(exception("causal", 3, 9));
  CHECK_FALSE(exception("doc:lens=12+12 | causal", 20, 5));
  // The closed rectangle may lie between two branches of a token tree: no stray cells.
  CHECK_FALSE(exception("causal | close:q=20-23,k=16-19", 21, 17));
}

}  // namespace
}  // namespace maskctl
