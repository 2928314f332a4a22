// Tests how ring attention divides queries among ranks, and what each rank's share costs.
#include "maskctl/attention/ring/assign.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "support/catch_compat.h"
#include "support/rounds.h"

namespace assign_cases {

namespace {

using namespace maskctl;
using namespace maskctl::attention;

/// Checks that each query belongs to exactly one rank.
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

/// Makes a causal mask of documents of random lengths.
Mask random_documents(Index tokens, int documents, std::mt19937& random) {
  std::vector<std::int32_t> ids(static_cast<std::size_t>(tokens));
  for (int i = 1; i < documents; ++i) ++ids[random() % ids.size()];
  std::partial_sum(ids.begin(), ids.end(), ids.begin());
  return Mask(combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kNone),
                      diagonal_band(tokens, tokens, -kUnbounded, 0)));
}

/// Returns the cost of each rank: for each of its tiles of 128 queries 1, and 1 more for each tile
/// of 128 keys that these queries see.
std::vector<Index> costs_of(const Mask& mask, const Shares& shares) {
  std::vector<Index> costs;
  for (const std::vector<Range>& share : shares) {
    Index& cost = costs.emplace_back(0);
    for (const Range& range : share) {
      for (Index q = range.begin; q < range.end; q += 128) {
        ++cost;
        for (Index k = 0; k < mask.keys(); k += 128) {
          cost += mask.plane(0, 0)->count({q, std::min(q + 128, range.end)},
                                          {k, std::min(k + 128, mask.keys())}) > 0;
        }
      }
    }
  }
  return costs;
}

}  // namespace

TEST_CASE("each query is assigned to exactly one rank, for all lengths") {
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

TEST_CASE("the zigzag and striped assignments are those that cost --ranks counts") {
  const Mask mask = full_mask(1, 1, 16, 16);
  CHECK(assigned_queries(Assign::kZigzag, mask, 4)[1] == std::vector<Range>{{2, 4}, {12, 14}});
  CHECK(assigned_queries(Assign::kZigzag, mask, 4)[3] == std::vector<Range>{{6, 10}});
  CHECK(assigned_queries(Assign::kStriped, mask, 8)[3] == std::vector<Range>{{3, 4}, {11, 12}});
}

TEST_CASE("if queries are assigned by cost, all ranks compute about equally many pairs") {
  // The documents have very unequal lengths: one has 1536 tokens, four have 128 each.
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

TEST_CASE("balanced shares of documents cost all ranks about the same, in few ranges") {
  std::mt19937 random(7);
  constexpr Index kTokens = 16384;
  for (int round = 0; round < maskctl::test::rounds(40); ++round) {
    const Mask mask = random_documents(kTokens, 1 + static_cast<int>(random() % 30), random);
    const auto ranks = static_cast<Index>(2 + random() % 7);
    const Shares even = assigned_queries(Assign::kBalanced, mask, ranks);
    INFO("round " << round << ", " << ranks << " ranks");
    check_dealt(even, kTokens);
    const std::vector<Index> costs = costs_of(mask, even);
    const double mean = std::reduce(costs.begin(), costs.end(), 0.0) / static_cast<double>(ranks);
    constexpr Index kMostOfTile = kTokens / 128 + 1;
    CHECK(static_cast<double>(std::ranges::max(costs)) <=
          1.05 * mean + static_cast<double>(kMostOfTile));
    const auto stretches = [](std::size_t n, const auto& share) { return n + share.size(); };
    CHECK(std::accumulate(even.begin(), even.end(), std::size_t{0}, stretches) <=
          as_size(4 * ranks));
  }
}

TEST_CASE("with large tiles, no rank has more work in balanced shares than in contiguous ones") {
  std::mt19937 random(8);
  for (int round = 0; round < maskctl::test::rounds(100); ++round) {
    const Mask mask = random_documents(2048, 1 + static_cast<int>(random() % 6), random);
    const Index ranks = Index{2} << random() % 3;
    const auto most = [&](Assign assign) {
      const Shares shares = assigned_queries(assign, mask, ranks);
      check_dealt(shares, 2048);
      return std::ranges::max(costs_of(mask, shares));
    };
    INFO("round " << round << ", " << ranks << " ranks");
    CHECK(most(Assign::kBalanced) <= most(Assign::kContiguous));
  }
}

TEST_CASE("balanced shares of a mask with equal rows are contiguous") {
  const Mask mask(diagonal_band(4096, 4096, -256, 0));
  CHECK(assigned_queries(Assign::kBalanced, mask, 4) ==
        assigned_queries(Assign::kContiguous, mask, 4));
}

TEST_CASE("a rank gives away queries for which the other rank needs few further keys") {
  // A document of 2048 tokens, then 32 of 64 each. With contiguous halves, rank 0 has the long
  // document, whose 16 query tiles cost 2 to 17 each: 60 more than the mean of both ranks.
  std::vector<std::int32_t> ids(4096);
  for (std::size_t q = 2048; q < ids.size(); ++q) ids[q] = static_cast<std::int32_t>(q / 64);
  const Mask mask(combine(Op::kAnd, equal_ids(ids, ids, -1, Side::kNone),
                          diagonal_band(4096, 4096, -kUnbounded, 0)));
  const Shares shares = assigned_queries(Assign::kBalanced, mask, 2);
  // Rank 0 gives away its query tiles 2 to 9, which cost 60 and need 10 key tiles. The last tiles,
  // 13 to 15, would cost 48 and need 16.
  CHECK(shares[0] == std::vector<Range>{{0, 256}, {1280, 2048}});
  CHECK(shares[1] == std::vector<Range>{{256, 1280}, {2048, 4096}});
}

TEST_CASE("a mask without open cells also gets balanced shares") {
  check_dealt(assigned_queries(Assign::kBalanced, Mask(full_plane(300, 0)), 3), 300);
}

}  // namespace assign_cases
