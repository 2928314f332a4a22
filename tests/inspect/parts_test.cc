// Parts of masks against a twin that counts each pair of tokens in plain loops; and the parts that
// ranks, rollouts and samplers compute.
#include "maskctl/inspect/parts/parts.h"

#include <map>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/inspect/parts/deal.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/contains.h"
#include "support/rounds.h"

namespace maskctl {
namespace {

using Random = std::mt19937_64;

Index draw(Random& random, Index low, Index high) {
  return std::uniform_int_distribution<Index>(low, high)(random);
}
bool is_open(const Mask& mask, Index q, Index k) {
  return mask.plane(0, 0)->count({q, q + 1}, {k, k + 1}) > 0;
}
Mask random_mask(Random& random, Index q, Index k) {
  Tensor dense(DType::kBool, {1, 1, q, k});
  for (std::uint8_t& cell : dense.as<std::uint8_t>()) cell = random() % 2;
  return mask_from_dense(dense);
}
Mask causal_of(Index n) { return Mask(diagonal_band(n, n, -kUnbounded, 0)); }

/// Places that hold tokens drawn from all, some more than once, and some that hold none.
PartSide drawn_side(Random& random, Index tokens) {
  PartSide out;
  for (Index place = 0; place < draw(random, 1, 9); ++place) {
    if (draw(random, 0, 4) == 0) continue;
    append_index(draw(random, 0, tokens - 1), out.tokens);
    append_index(place, out.places);
  }
  return out;
}
std::vector<Index> listed(const Indices& indices) {
  std::vector<Index> out;
  for (const Progression& one : indices) {
    for (Index i = 0; i < one.count; ++i) out.push_back(one.at(i));
  }
  return out;
}

struct Counted {
  Index computed = 0, lost = 0, twice = 0, extra = 0, no_token = 0;
};
Counted counted_by_pairs(const Mask& mask, std::span<const ComputedPart> parts) {
  std::map<std::pair<Index, Index>, Index> times;
  Counted out;
  for (const ComputedPart& part : parts) {
    std::map<Index, Index> rows, columns;  // tokens of places
    const auto put = [](const PartSide& side, std::map<Index, Index>& to) {
      const auto tokens = listed(side.tokens), places = listed(side.places);
      for (std::size_t i = 0; i < tokens.size(); ++i) to[places[i]] = tokens[i];
    };
    put(part.q, rows);
    put(part.kv, columns);
    for (Index q = 0; q < part.mask.queries(); ++q) {
      for (Index k = 0; k < part.mask.keys(); ++k) {
        if (!is_open(part.mask, q, k)) continue;
        ++out.computed;
        if (rows.contains(q) && columns.contains(k)) {
          ++times[{rows[q], columns[k]}];
        } else {
          ++out.no_token;
        }
      }
    }
  }
  for (Index q = 0; q < mask.queries(); ++q) {
    for (Index k = 0; k < mask.keys(); ++k) {
      const Index here = times[{q, k}];
      out.lost += is_open(mask, q, k) && here == 0;
      out.extra += !is_open(mask, q, k) && here > 0;
      out.twice += std::max<Index>(here - 1, 0);
    }
  }
  return out;
}

void check_against_twin(const Mask& mask, std::span<const ComputedPart> parts) {
  const Counted want = counted_by_pairs(mask, parts);
  for (const bool once : {false, true}) {
    const PartsVerdict got = judge_parts(mask, parts, once);
    CHECK(got.declared == mask.count());
    CHECK(got.computed == want.computed);
    CHECK(got.lost == want.lost);
    CHECK(got.twice == want.twice);
    CHECK(got.extra == want.extra);
    CHECK(got.no_token == want.no_token);
    CHECK(got.ok(once) ==
          (want.lost + want.extra + want.no_token == 0 && (!once || want.twice == 0)));
    Index listed_pairs = 0;
    for (const PartsFault& fault : got.faults) {
      listed_pairs += fault.pairs;
      if (fault.kind == PartsFault::Kind::kLost)
        CHECK(is_open(mask, fault.first.query, fault.first.key));
      if (fault.kind == PartsFault::Kind::kExtra)
        CHECK_FALSE(is_open(mask, fault.first.query, fault.first.key));
    }
    if (!got.ok(once)) CHECK(listed_pairs == want.lost + want.twice + want.extra + want.no_token);
  }
}

TEST_CASE("parts of any tokens are counted as a twin counts their pairs", "[parts]") {
  Random random(70);
  for (int i = 0; i < test::rounds(400); ++i) {
    const Index q = draw(random, 1, 12), k = draw(random, 1, 12);
    const Mask mask = random_mask(random, q, k);
    std::vector<ComputedPart> parts;
    for (Index n = draw(random, 1, 5); n > 0; --n) {
      parts.push_back(
          {"part", drawn_side(random, q), drawn_side(random, k), random_mask(random, 9, 9)});
    }
    check_against_twin(mask, parts);
  }
}

TEST_CASE("ranks of 2 to 16 compute each pair of a mask once, and a planted fault is found",
          "[parts]") {
  Random random(71);
  for (const Split split : {Split::kContiguous, Split::kZigzag, Split::kStriped}) {
    for (Index ranks = 2; ranks <= 16; ++ranks) {
      const Index n = draw(random, 2 * ranks, 4 * ranks);
      const Mask mask = draw(random, 0, 1) == 0 ? causal_of(n) : random_mask(random, n, n);
      for (const bool all_keys : {false, true}) {
        std::vector<ComputedPart> parts = ring_sides(split, n, ranks, all_keys);
        take_declared(parts, mask);
        CAPTURE(static_cast<int>(split), ranks, n, all_keys);
        const PartsVerdict sound = judge_parts(mask, parts, true);
        CHECK(sound.ok(true));
        CHECK(sound.faults.empty());
        if (n > 24) continue;
        const auto wrong = as_size(draw(random, 0, std::ssize(parts) - 1));
        ComputedPart& part = parts[wrong];
        if (part.mask.cells() == 0) continue;
        const Index row = draw(random, 0, part.mask.queries() - 1);
        const Index column = draw(random, 0, part.mask.keys() - 1);
        part.mask = zip(Op::kXor, part.mask,
                        Mask(rectangle(part.mask.queries(), part.mask.keys(), {row, row + 1},
                                       {column, column + 1})));
        check_against_twin(mask, parts);
        const PartsVerdict found = judge_parts(mask, parts, true);
        REQUIRE(found.faults.size() == 1);
        CHECK(found.faults.front().parts == std::vector{wrong});
        CHECK(found.faults.front().first.query == listed(part.q.tokens)[as_size(row)]);
        CHECK(found.faults.front().first.key == listed(part.kv.tokens)[as_size(column)]);
      }
    }
  }
}

TEST_CASE("a tree is causal along each rollout, and the sampler computes block diffusion",
          "[parts]") {
  const std::vector<Index> parents{-1, 0, 1, 2, 3, 4, 5, 3, 7, 8, 8, 10, 11};
  Tensor cells(DType::kBool, {1, 1, 13, 13});
  const auto open = [&](Index q, Index k) -> std::uint8_t& {
    return cells.as<std::uint8_t>()[as_size(q * 13 + k)];
  };
  for (Index q = 0; q < 13; ++q) {
    for (Index k = q; k >= 0; k = parents[as_size(k)]) open(q, k) = 1;
  }
  const Mask tree = mask_from_dense(cells);
  const auto rollouts = rollouts_of(tree);
  REQUIRE(rollouts.size() == 3);
  CHECK(rollouts[1].name == "rollout to token 9");
  CHECK(judge_parts(tree, rollouts, false).ok(false));
  CHECK_FALSE(judge_parts(tree, rollouts, true).ok(true));
  open(9, 5) = 1;  // a token of one branch sees one of another
  const PartsVerdict leak = judge_parts(mask_from_dense(cells), rollouts, false);
  CHECK(leak.lost == 1);
  REQUIRE(leak.faults.front().kind == PartsFault::Kind::kLost);
  CHECK(leak.faults.front().first == Cell{0, 0, 9, 5});

  Random random(72);
  for (int i = 0; i < test::rounds(60); ++i) {
    const Index n = draw(random, 1, 12), size = draw(random, 1, 5);
    Tensor both(DType::kBool, {1, 1, 2 * n, 2 * n});
    for (Index q = 0; q < 2 * n; ++q) {
      for (Index k = 0; k < 2 * n; ++k) {
        const Index block_q = q % n / size, block_k = k % n / size;
        both.as<std::uint8_t>()[as_size(q * 2 * n + k)] = k < n   ? q < n && block_q == block_k
                                                          : q < n ? block_q > block_k
                                                                  : block_q >= block_k;
      }
    }
    const auto parts = sampler_parts(n, size);
    CHECK(judge_parts(mask_from_dense(both), parts, true).ok(true));
    check_against_twin(mask_from_dense(both), parts);
    CHECK_FALSE(judge_parts(complement(mask_from_dense(both)), parts, true).ok(true));
  }
}

TEST_CASE("parts of tokens that the mask does not have are refused", "[parts]") {
  const auto refusal = [](const std::vector<ComputedPart>& parts) -> std::string {
    try {
      judge_parts(causal_of(8), parts, true);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const PartSide all = side_of({{0, 1, 8}});
  CHECK(test::contains(refusal({{"rank 0", side_of({{4, 1, 5}}), all, full_mask(1, 1, 5, 8)}}),
                       "rank 0: token 8 among its queries, expected 0 to 7"));
  CHECK(test::contains(refusal({{"rank 0", all, all, full_mask(1, 1, 7, 8)}}),
                       "rank 0: its mask has 7 queries, its tokens need 8"));
  CHECK(test::contains(refusal({{"rank 0", all, all, full_mask(2, 1, 8, 8)},
                                {"rank 1", all, all, full_mask(3, 1, 8, 8)}}),
                       "rank 1: 3 batch entries beside 2"));
}

}  // namespace
}  // namespace maskctl
