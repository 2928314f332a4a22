// How queries are dealt to ranks, and what cost predicts for it.
#include "maskctl/attention/ring/assign.h"

#include <algorithm>

#include "maskctl/mask/leaves.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// Every query is with one rank.
void check_dealt(const Shares& shares, Index queries) {
  std::vector<int> owners(static_cast<std::size_t>(queries));
  for (const std::vector<Range>& share : shares) {
    Index last = -1;
    for (const Range& range : share) {
      CHECK(range.begin > last);
      CHECK_FALSE(range.empty());
      last = range.end;
      for (Index q = range.begin; q < range.end; ++q) ++owners[static_cast<std::size_t>(q)];
    }
  }
  CHECK(std::ranges::count(owners, 1) == queries);
}

}  // namespace

TEST_CASE("queries are dealt once, whatever the lengths") {
  for (const Index n : {1, 5, 12, 700}) {
    const Mask mask = full_mask(1, 1, n, n);
    for (const Index ranks : {1, 2, 3, 7}) {
      for (const Assign assign : {Assign::kContiguous, Assign::kZigzag, Assign::kStriped,
                                  Assign::kCost, Assign::kBalanced}) {
        check_dealt(assigned_queries(assign, mask, ranks), n);
      }
    }
  }
}

TEST_CASE("zigzag and striped are what cost --ranks counts") {
  const Mask mask = full_mask(1, 1, 16, 16);
  CHECK(assigned_queries(Assign::kZigzag, mask, 4)[1] == std::vector<Range>{{2, 4}, {12, 14}});
  CHECK(assigned_queries(Assign::kZigzag, mask, 4)[3] == std::vector<Range>{{6, 10}});
  CHECK(assigned_queries(Assign::kStriped, mask, 8)[3] == std::vector<Range>{{3, 4}, {11, 12}});
}

TEST_CASE("dealt by cost, ranks see equally many tiles of keys") {
  // Documents of very unequal lengths: 1536 tokens, and 4 times 128.
  std::vector<std::int32_t> ids(2048);
  for (std::size_t q = 1536; q < ids.size(); ++q) ids[q] = static_cast<std::int32_t>(q / 128);
  const Mask mask(equal_ids(ids, ids, -1, Side::kNone));
  Index least = mask.cells(), most = 0;
  for (const std::vector<Range>& share : assigned_queries(Assign::kCost, mask, 4)) {
    const Index pairs = rows_of(mask, share).count();
    least = std::min(least, pairs), most = std::max(most, pairs);
  }
  CHECK(most == least);
}

TEST_CASE("balanced parts are contiguous and see equally many tiles of keys, up to one tile's") {
  const Mask mask(diagonal_band(4096, 4096, -kUnbounded, 0));
  const Shares shares = assigned_queries(Assign::kBalanced, mask, 3);
  Index end = 0, least = mask.cells(), most = 0;
  for (const std::vector<Range>& share : shares) {
    REQUIRE(share.size() == 1);
    CHECK(share[0].begin == end);
    end = share[0].end;
    const Index pairs = rows_of(mask, share).count();
    least = std::min(least, pairs), most = std::max(most, pairs);
  }
  CHECK(end == 4096);
  CHECK(most - least <= 2 * 128 * 4096);
}

TEST_CASE("balanced parts of a mask without open cells are still dealt") {
  check_dealt(assigned_queries(Assign::kBalanced, Mask(full_plane(300, 0)), 3), 300);
}
