// Every operation of every kind of plane, against a dense twin.
#include <rapidcheck.h>

#include <random>
#include <string>
#include <vector>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/plane_check.h"
#include "support/rounds.h"

namespace maskctl::twin {
namespace {

constexpr Op kOps[] = {Op::kAnd, Op::kOr, Op::kXor, Op::kSub};

// A q x k plane of row lists; cell (i, j) is open where bit i * k + j of `bits` is set.
PlanePtr plane_of_bits(unsigned bits, Index q, Index k) {
  std::vector<Run> runs;
  std::vector<Index> offsets = {0};
  std::vector<RowRef> refs;
  for (Index i = 0; i < q; ++i) {
    for (Index j = 0; j < k; ++j) {
      if ((bits >> (i * k + j) & 1) == 0) continue;
      const auto key = static_cast<std::int32_t>(j);
      if (j > 0 && (bits >> (i * k + j - 1) & 1) != 0) {
        runs.back().end = key + 1;
      } else {
        runs.push_back({key, key + 1});
      }
    }
    offsets.push_back(static_cast<Index>(runs.size()));
    refs.push_back({static_cast<std::uint32_t>(i), 0, static_cast<std::int32_t>(k)});
  }
  return row_lists(k, std::move(runs), std::move(offsets), std::move(refs));
}

unsigned bits_of(const Plane& plane) {
  const Dense dense = dense_of(plane);
  unsigned bits = 0;
  for (std::size_t i = 0; i < dense.cells.size(); ++i) bits |= unsigned{dense.cells[i]} << i;
  return bits;
}

unsigned apply_bits(Op op, unsigned a, unsigned b) {
  switch (op) {
    case Op::kAnd:
      return a & b;
    case Op::kOr:
      return a | b;
    case Op::kXor:
      return a ^ b;
    case Op::kSub:
      return a & ~b;
  }
  return 0;
}

TEST_CASE("all masks to 3x3 equal their twins under every operation") {
  std::mt19937 random(1);
  std::string first;
  for (Index q = 1; q <= 3 && first.empty(); ++q) {
    for (Index k = 1; k <= 3 && first.empty(); ++k) {
      for (unsigned bits = 0; bits < 1U << (q * k) && first.empty(); ++bits) {
        const Dense want =
            matrix(q, k, [&](Index i, Index j) { return (bits >> (i * k + j) & 1) != 0; });
        first = check_plane(plane_of_bits(bits, q, k), want, random, 8);
      }
    }
  }
  REQUIRE(first == "");
}

TEST_CASE("all pairs of masks to 3x3 combine as their cells do") {
  constexpr unsigned kStride = test::kSanitized ? 5 : 1;
  std::size_t failed = 0;
  for (Index q = 1; q <= 3; ++q) {
    for (Index k = 1; k <= 3; ++k) {
      std::vector<PlanePtr> planes;
      for (unsigned bits = 0; bits < 1U << (q * k); ++bits)
        planes.push_back(plane_of_bits(bits, q, k));
      for (unsigned a = 0; a < planes.size(); ++a) {
        failed += bits_of(*complement(planes[a])) != (~a & (planes.size() - 1));
        for (unsigned b = a % kStride; b < planes.size(); b += kStride) {
          for (Op op : kOps) {
            failed += bits_of(*combine(op, planes[a], planes[b])) != apply_bits(op, a, b);
          }
        }
      }
    }
  }
  REQUIRE(failed == 0);
}

TEST_CASE("a million random pairs of 4x4 masks combine as their cells do") {
  std::vector<PlanePtr> planes;
  for (unsigned bits = 0; bits < 1U << 16; ++bits) planes.push_back(plane_of_bits(bits, 4, 4));
  std::mt19937 random(2);
  std::size_t failed = 0;
  for (int i = 0; i < test::rounds(1'000'000); ++i) {
    const unsigned pair = static_cast<unsigned>(random());
    const unsigned a = pair & 0xffff, b = pair >> 16;
    const Op op = kOps[i % 4];
    // A quarter of the pairs are combined with a budget of 0 runs, which gives a lazy node that
    // stores nothing.
    const PlanePtr plane =
        i % 16 < 4 ? combine(op, planes[a], planes[b], 0) : combine(op, planes[a], planes[b]);
    failed += bits_of(*plane) != apply_bits(op, a, b);
  }
  REQUIRE(failed == 0);
}

TEST_CASE("bands and shared lists of few runs combine to bands, lists of many runs do not") {
  constexpr std::int32_t n = 960, kRow = 160, kRun = 30;  // 6 blocks of rows that have 16 runs each
  std::vector<Run> runs;
  std::vector<Index> offsets = {0};
  for (const std::int32_t first : {0, kRun}) {
    for (auto key = first; key < n; key += 2 * kRun) runs.push_back({key, key + kRun});
    offsets.push_back(std::ssize(runs));
  }
  std::vector<RowRef> refs;
  for (std::int32_t row = 0; row < n; ++row) {
    refs.push_back({static_cast<std::uint32_t>(row / kRow % 2), 0, n});
  }
  const PlanePtr lists = row_lists(n, runs, offsets, refs);
  REQUIRE(slabs_of(*lists) == nullptr);
  for (const Index high : {-n, -3, 0, 40, n}) {
    const PlanePtr lines = diagonal_band(n, n, -20, high);
    for (const Op op : kOps) {
      for (const bool swapped : {false, true}) {
        const PlanePtr& a = swapped ? lists : lines;
        const PlanePtr& b = swapped ? lines : lists;
        const PlanePtr both = combine(op, a, b);
        REQUIRE(dense_of(*both).cells == zip(op, dense_of(*a), dense_of(*b)).cells);
        if (op == Op::kOr && high == 0) REQUIRE(slabs_of(*both) != nullptr);
      }
    }
  }
  // All queries see the same many runs of keys, which the diagonal crosses. As bands, the result
  // would need a slab (a range of rows described by the same lines) for each row.
  const std::vector<std::int32_t> q(3000, 0);
  std::vector<std::int32_t> k(3000);
  for (std::size_t i = 0; i < k.size(); ++i) k[i] = static_cast<std::int32_t>(i % 2);
  const PlanePtr many = equal_ids(q, k, -1, Side::kNone),
                 causal = diagonal_band(3000, 3000, -3000, 0);
  const PlanePtr either = combine(Op::kOr, many, causal);
  CHECK(slabs_of(*either) == nullptr);
  CHECK(either->count() ==
        many->count() + causal->count() - combine(Op::kAnd, many, causal)->count());
}

TEST_CASE("every kind of plane equals its twin under every operation") {
  for (int kind = 0; kind < kLeaves; ++kind) {
    std::mt19937 random(static_cast<unsigned>(kind));
    const Pick pick = pick_from(random);
    std::string first;
    for (int i = 0; i < test::rounds(60) && first.empty(); ++i) {
      const Index top = i % 3 == 0 ? 6 : i % 3 == 1 ? 70 : 200;
      const Index q = pick(1, top), k = i % 2 == 0 ? q : pick(1, top);
      const Pair pair = make_leaf(static_cast<Leaf>(kind), pick, q, k);
      first = check_plane(pair.plane, pair.dense, random, 12);
      if (!first.empty()) {
        first += " (case " + std::to_string(i) + ": " + std::to_string(q) + " x " +
                 std::to_string(k) + ")";
      }
    }
    INFO(name(static_cast<Leaf>(kind)));
    CHECK(first == "");
  }
}

TEST_CASE("every pair of kinds combines to a plane that equals its twin") {
  std::mt19937 random(3);
  const Pick pick = pick_from(random);
  for (int a = 0; a < kLeaves; ++a) {
    for (int b = 0; b < kLeaves; ++b) {
      std::string first;
      for (int i = 0; i < test::rounds(24) && first.empty(); ++i) {
        const Index top = i % 3 == 2 ? 140 : 20;
        const Index q = pick(1, top), k = pick(1, top);
        const Pair x = make_leaf(static_cast<Leaf>(a), pick, q, k);
        const Pair y = make_leaf(static_cast<Leaf>(b), pick, q, k);
        const Op op = kOps[i % 4];
        const Index budget = i % 8 < 4 ? Index{1} << 24 : pick(0, 3);
        first = check_plane(combine(op, x.plane, y.plane, budget), zip(op, x.dense, y.dense),
                            random, 4);
        if (!first.empty()) {
          first += " (case " + std::to_string(i) + ", op " + std::to_string(i % 4) + ", " +
                   std::to_string(q) + " x " + std::to_string(k) + ", budget " +
                   std::to_string(budget) + ")";
        }
      }
      INFO(name(static_cast<Leaf>(a)) << " with " << name(static_cast<Leaf>(b)));
      CHECK(first == "");
    }
  }
}

TEST_CASE("combining with a full or an empty plane returns an operand where that is the result") {
  const PlanePtr full = full_plane(5, 7), none = empty_plane(5, 7), other = dilated(5, 7, 2, 0);
  CHECK(combine(Op::kAnd, full, other) == other);
  CHECK(combine(Op::kAnd, other, none) == none);
  CHECK(combine(Op::kOr, other, none) == other);
  CHECK(combine(Op::kOr, full, other) == full);
  CHECK(combine(Op::kXor, none, other) == other);
  CHECK(combine(Op::kSub, other, none) == other);
  CHECK(combine(Op::kSub, none, other) == none);
  for (const Op op : kOps) {
    for (const PlanePtr& constant : {full, none}) {
      CHECK(dense_of(*combine(op, constant, other)) ==
            zip(op, dense_of(*constant), dense_of(*other)));
      CHECK(dense_of(*combine(op, other, constant)) ==
            zip(op, dense_of(*other), dense_of(*constant)));
    }
  }
}

TEST_CASE("planes without rows or without keys can be read") {
  std::mt19937 random(4);
  for (const auto& [q, k] : {std::pair<Index, Index>{0, 5}, {5, 0}, {0, 0}}) {
    const Dense none(1, 1, q, k);
    INFO(q << " x " << k);
    CHECK(check_plane(empty_plane(q, k), none, random, 4) == "");
    CHECK(check_plane(full_plane(q, k), none, random, 4) == "");
    CHECK(check_plane(complement(empty_plane(q, k)), none, random, 4) == "");
    CHECK(check_plane(combine(Op::kOr, full_plane(q, k), diagonal_band(q, k, 0, 1), 0), none,
                      random, 4) == "");
    CHECK(check_plane(dilated(q, k, 2, 0), none, random, 4) == "");
    CHECK(check_plane(random_plane(q, k, prng_key(0), 0, 0.5F), none, random, 4) == "");
  }
}

TEST_CASE("planes of different extents cannot be combined") {
  const PlanePtr a = full_plane(3, 4), b = full_plane(4, 3);
  for (Op op : kOps) {
    REQUIRE_THROWS_AS(combine(op, a, b), Error);
    REQUIRE_THROWS_AS(combine(op, a, full_plane(3, 5)), Error);
  }
}

TEST_CASE("extents above 2^31 - 1 or below zero are refused") {
  REQUIRE_THROWS_AS(full_plane(Index{1} << 31, 1), Error);
  REQUIRE_THROWS_AS(full_plane(1, Index{1} << 31), Error);
  REQUIRE_THROWS_AS(full_plane(-1, 1), Error);
  REQUIRE(full_plane((Index{1} << 31) - 1, 1)->count() == (Index{1} << 31) - 1);
}

TEST_CASE("counts of planes of the largest extents are exact") {
  const Index n = (Index{1} << 31) - 1;
  const PlanePtr causal = diagonal_band(n, n, -kUnbounded, 0);
  CHECK(full_plane(n, n)->count() == n * n);
  CHECK(causal->count() == n * (n + 1) / 2);
  CHECK(complement(causal)->count() == n * (n - 1) / 2);
  CHECK(causal->transposed()->count() == n * (n + 1) / 2);
  CHECK(combine(Op::kAnd, causal, diagonal_band(n, n, -99, kUnbounded))->count() ==
        100 * n - 99 * 100 / 2);
  CHECK(causal->classify({5, n}, {0, 6}) == Fill::kFull);
  CHECK(causal->classify({0, 6}, {6, n}) == Fill::kEmpty);
}

// Runs a chain of random operations on random planes, and compares the result with the twin's.
void check_chain(const Pick& pick, Index largest, std::string& error) {
  Pair now =
      make_leaf(static_cast<Leaf>(pick(0, kLeaves - 1)), pick, pick(1, largest), pick(1, largest));
  const Index steps = pick(0, 6);
  for (Index i = 0; i < steps; ++i) {
    const Dense& d = now.dense;
    switch (pick(0, 6)) {
      case 0:
        now = {complement(now.plane), complement(d)};
        break;
      case 1:
        now = {now.plane->transposed(), transposed(d)};
        break;
      case 2: {
        const Index q = pick(0, d.q - 1), k = pick(0, d.k - 1);
        const Range rows{q, pick(q + 1, d.q)}, keys{k, pick(k + 1, d.k)};
        now = {now.plane->sliced(rows, keys), sliced(d, rows, keys)};
        break;
      }
      default: {
        const Op op = static_cast<Op>(pick(0, 3));
        const Pair other = make_leaf(static_cast<Leaf>(pick(0, kLeaves - 1)), pick, d.q, d.k);
        const Index budget = pick(0, 2) == 0 ? pick(0, 50) : Index{1} << 24;
        now = {combine(op, now.plane, other.plane, budget), zip(op, d, other.dense)};
      }
    }
  }
  std::mt19937 random(static_cast<unsigned>(pick(0, 1000)));
  error = check_plane(now.plane, now.dense, random, 6);
}

TEST_CASE("chains of operations on planes to 300 keys equal their twins") {
  const bool passed = rc::check("chains of planes", [] {
    const Pick pick = [](Index low, Index high) {
      return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange<Index>(low, high + 1));
    };
    std::string error;
    check_chain(pick, *rc::gen::element<Index>(8, 70, 300), error);
    if (!error.empty()) RC_FAIL(error);
  });
  REQUIRE(passed);
}

TEST_CASE("chains of operations on planes of several stored parts equal their twins") {
  std::mt19937 random(8);
  const Pick pick = pick_from(random);
  set_threads(3);  // from 128 rows on, threads decide how many parts are stored
  std::string error;
  int i = 0;
  for (; i < test::rounds(150) && error.empty(); ++i) check_chain(pick, 400, error);
  set_threads(0);
  INFO("chain " << i - 1);
  REQUIRE(error == "");
}

TEST_CASE("long chains of operations on small planes equal their twins") {
  std::mt19937 random(5);
  const Pick pick = pick_from(random);
  std::string error;
  int i = 0;
  for (; i < test::rounds(3000) && error.empty(); ++i)
    check_chain(pick, i % 10 == 0 ? 70 : 12, error);
  INFO("chain " << i - 1);
  REQUIRE(error == "");
}

// --- Masks of several planes ---

Mask random_mask(const Pick& pick, Index b, Index h, Index q, Index k, Dense& dense) {
  dense = Dense(b, h, q, k);
  Pair last;
  return Mask::make(b, h, q, k, [&](Index ib, Index ih) {
    if (!last.plane || pick(0, 2) != 0)
      last = make_leaf(static_cast<Leaf>(pick(0, kLeaves - 1)), pick, q, k);
    for (Index i = 0; i < q; ++i) {
      for (Index j = 0; j < k; ++j) dense.set(ib, ih, i, j, last.dense.get(i, j));
    }
    return last.plane;
  });
}

TEST_CASE("masks are broadcast, complemented, transposed, sliced and reduced like arrays") {
  std::mt19937 random(6);
  const Pick pick = pick_from(random);
  std::size_t failed = 0;
  for (int i = 0; i < 400; ++i) {
    const Index b = pick(1, 3), h = pick(1, 3), q = pick(1, 12), k = pick(1, 12);
    Dense da, db;
    const Mask a = random_mask(pick, pick(0, 1) == 0 ? b : 1, pick(0, 1) == 0 ? h : 1, q, k, da);
    const Mask c = random_mask(pick, b, h, q, k, db);
    for (Op op : kOps) {
      failed += dense_of(zip(op, a, c)) != zip(op, da, db);
      failed += dense_of(zip(op, c, a)) != zip(op, db, da);
    }
    failed += dense_of(c) != db;
    failed += dense_of(complement(c)) != complement(db);
    failed += dense_of(transposed(c)) != transposed(db);
    const Range rb{pick(0, b - 1), b}, rh{pick(0, h - 1), h}, rq{pick(0, q - 1), q},
        rk{0, pick(1, k)};
    failed += dense_of(sliced(c, rb, rh, rq, rk)) != sliced(db, rb, rh, rq, rk);
    Dense any(b, 1, q, k), all(b, 1, q, k, true);
    for (Index ih = 0; ih < h; ++ih) {
      any = zip(Op::kOr, any, sliced(db, {0, b}, {ih, ih + 1}, {0, q}, {0, k}));
      all = zip(Op::kAnd, all, sliced(db, {0, b}, {ih, ih + 1}, {0, q}, {0, k}));
    }
    failed += dense_of(reduce_heads(Op::kOr, c)) != any;
    failed += dense_of(reduce_heads(Op::kAnd, c)) != all;
    failed += c.count() != std::count(db.cells.begin(), db.cells.end(), 1);
    failed += c.cells() != static_cast<Index>(db.cells.size());
  }
  REQUIRE(failed == 0);
}

TEST_CASE("the error about masks that cannot be broadcast names both shapes") {
  const auto mask = [](Index b, Index h, Index q, Index k) {
    return Mask::make(b, h, q, k, [&](Index, Index) { return full_plane(q, k); });
  };
  const Mask a = mask(2, 3, 4, 5);
  CHECK_THROWS_AS(zip(Op::kAnd, a, mask(3, 3, 4, 5)), Error);
  CHECK_THROWS_AS(zip(Op::kAnd, a, mask(2, 2, 4, 5)), Error);
  CHECK_THROWS_AS(zip(Op::kAnd, a, mask(2, 3, 5, 4)), Error);
  CHECK_NOTHROW(zip(Op::kAnd, a, mask(1, 3, 4, 5)));
  CHECK_NOTHROW(zip(Op::kAnd, mask(2, 1, 4, 5), mask(1, 3, 4, 5)));
  try {
    zip(Op::kOr, a, mask(2, 3, 5, 4));
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find(shape_text(a)) != std::string::npos);
    CHECK(error.code() == Errc::kShape);
  }
}

}  // namespace
}  // namespace maskctl::twin
