// Tests planes of clipped classes, in which a query sees the keys that have its class number and
// lie in its clip (a range of keys), against the same cells held as bits.
#include "maskctl/inspect/recognise/clipped.h"

#include <random>
#include <set>

#include "maskctl/inspect/count/stats.h"
#include "maskctl/inspect/diff/classes.h"
#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

struct Drawn {
  PlanePtr listed, bits;
};

/// A plane of random classes clipped to a random band, and the same plane made cell by cell.
Drawn draw(std::mt19937_64& random, Index queries, Index keys) {
  const auto number = [&](Index low, Index high) {
    return std::uniform_int_distribution<Index>(low, high)(random);
  };
  ClippedClasses classes;
  classes.count = static_cast<std::int32_t>(number(1, 6));
  for (Index i = 0; i < queries; ++i) {
    classes.q.push_back(static_cast<std::int32_t>(number(-1, classes.count - 1)));
  }
  for (Index i = 0; i < keys; ++i) {
    classes.k.push_back(static_cast<std::int32_t>(number(-1, classes.count - 1)));
  }
  const Index low = number(-queries, keys), high = number(low, low + keys);
  for (Index i = 0; i < queries; ++i) {
    const Index begin = std::clamp<Index>(i + low, 0, keys);
    const Index end = std::clamp<Index>(i + high, begin, keys);
    classes.clip.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
  const PlanePtr bits =
      stored_rows(queries, keys, true, [&](Range q, std::span<std::uint64_t> words) {
        std::fill(words.begin(), words.end(), 0);
        const auto stride = static_cast<std::size_t>(words_for(keys));
        for (Index i = q.begin; i < q.end; ++i) {
          const auto row = static_cast<std::size_t>(i);
          for (Index k = classes.clip[row].begin; k < classes.clip[row].end; ++k) {
            const bool open =
                classes.q[row] >= 0 && classes.q[row] == classes.k[static_cast<std::size_t>(k)];
            if (open) {
              set_bits(words.subspan(static_cast<std::size_t>(i - q.begin) * stride, stride),
                       {k, k + 1});
            }
          }
        }
      });
  return {plane_of(classes), bits};
}

std::vector<std::uint64_t> words_of(const Plane& plane) {
  const auto stride = static_cast<std::size_t>(words_for(plane.keys()));
  std::vector<std::uint64_t> out(static_cast<std::size_t>(plane.queries()) * stride);
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    for (Index row = rows.begin; row < rows.end; ++row) {
      const auto to = std::span(out).subspan(static_cast<std::size_t>(row) * stride, stride);
      if (keys.is_words()) {
        std::copy(keys.words.begin(), keys.words.end(), to.begin());
      } else {
        runs_to_words(keys.runs, to);
      }
    }
  });
  return out;
}

Index blocks_that_differ(const Plane& a, const Plane& b, Index block) {
  std::set<std::pair<Index, Index>> out;
  for (Index q = 0; q < a.queries(); ++q) {
    for (Index k = 0; k < a.keys(); ++k) {
      const bool in_a = a.count({q, q + 1}, {k, k + 1}) == 1;
      if (in_a != (b.count({q, q + 1}, {k, k + 1}) == 1)) out.emplace(q / block, k / block);
    }
  }
  return static_cast<Index>(out.size());
}

void check_same(const MaskDiff& found, const MaskDiff& twin) {
  CHECK(found.only_a == twin.only_a);
  CHECK(found.only_b == twin.only_b);
  CHECK(found.both == twin.both);
  CHECK(found.rows == twin.rows);
  CHECK(found.blocks == twin.blocks);
  CHECK(found.first == twin.first);
  CHECK(found.first_in_a == twin.first_in_a);
}

}  // namespace

TEST_CASE("planes of clipped classes have the cells, counts and seen keys of their bits") {
  std::mt19937_64 random(1);
  for (int i = 0; i < 300; ++i) {
    const Index queries = 1 + i % 70, keys = 1 + i * 7 % 90;
    const Drawn drawn = draw(random, queries, keys);
    REQUIRE(words_of(*drawn.listed) == words_of(*drawn.bits));
    CHECK(drawn.listed->count() == drawn.bits->count());
    const Range part{queries / 3, queries};
    const auto sizes = [&](const Plane& plane) {
      std::vector<std::pair<Index, Index>> out;
      plane.row_sizes(part, [&](Range rows, const Plane::RowSize& size) {
        out.insert(out.end(), static_cast<std::size_t>(rows.size()), {size.keys, size.runs});
      });
      return out;
    };
    const auto seen = [&](const Plane& plane) {
      std::vector<std::uint64_t> out(static_cast<std::size_t>(words_for(keys)));
      plane.mark_seen(part, out);
      return out;
    };
    // In a row no two runs touch, so that both planes count equal runs.
    CHECK(sizes(*drawn.listed) == sizes(*drawn.bits));
    CHECK(seen(*drawn.listed) == seen(*drawn.bits));
  }
}

TEST_CASE("combining two planes of clipped classes equals combining their bits") {
  std::mt19937_64 random(2);
  for (int i = 0; i < 200; ++i) {
    const Index queries = 1 + i % 50, keys = 1 + i * 5 % 70;
    const Drawn a = draw(random, queries, keys), b = draw(random, queries, keys);
    const PlanePtr both = intersect_classes(*a.listed, *b.listed);
    REQUIRE(both);
    CHECK(words_of(*both) == words_of(*combine(Op::kAnd, a.bits, b.bits)));
    for (const Op op : {Op::kAnd, Op::kOr, Op::kXor, Op::kSub}) {
      CHECK(combine(op, a.listed, b.listed)->count() == combine(op, a.bits, b.bits)->count());
    }
  }
}

TEST_CASE("the differing blocks of clipped classes are those with a differing cell") {
  std::mt19937_64 random(3);
  for (int i = 0; i < 120; ++i) {
    const Index queries = 1 + i % 40, keys = 1 + i * 3 % 50, block = 1 + i % 9;
    const Drawn a = draw(random, queries, keys), b = draw(random, queries, keys);
    CHECK(differing_blocks(*a.listed, *b.listed, block) ==
          blocks_that_differ(*a.bits, *b.bits, block));
    const PlanePtr band = diagonal_band(queries, keys, -i % 13, i % 11);
    CHECK(differing_blocks(*a.listed, *band, block) == blocks_that_differ(*a.bits, *band, block));
  }
}

TEST_CASE("diff of planes of clipped classes equals diff of their bits") {
  std::mt19937_64 random(11);
  const Index queries = 40000, keys = 50;
  const Drawn a = draw(random, queries, keys), b = draw(random, queries, keys);
  check_same(diff(Mask(a.listed), Mask(b.listed), {16, 16}),
             diff(Mask(a.bits), Mask(b.bits), {16, 16}));
  auto classes = clipped_classes(*a.listed);
  REQUIRE(classes);
  const MaskDiff equal = diff(Mask(a.listed), Mask(plane_of(*classes)), {16, 16});
  CHECK(equal.equal());
  check_same(equal, diff(Mask(a.bits), Mask(a.bits), {16, 16}));
  for (const std::size_t row :
       {39999, 20000, 16384, 16383, 0}) {  // from the last part of the rows to the first
    const std::int32_t id = classes->k[7];
    classes->q[row] = classes->q[row] == id ? -1 : id;
    classes->clip[row] = {0, static_cast<std::int32_t>(keys)};
    const PlanePtr listed = plane_of(*classes);
    const PlanePtr bits = stored(*listed, Index{1} << 24);
    check_same(diff(Mask(a.listed), Mask(listed), {16, 16}),
               diff(Mask(a.bits), Mask(bits), {16, 16}));
  }
}

TEST_CASE("diff and stats give the same for clipped classes as for their bits") {
  std::mt19937_64 random(4);
  for (int i = 0; i < 120; ++i) {
    const Index queries = 1 + i % 60, keys = 1 + i * 3 % 80;
    const Drawn a = draw(random, queries, keys), b = draw(random, queries, keys);
    check_same(diff(Mask(a.listed), Mask(b.listed), {8, 8}),
               diff(Mask(a.bits), Mask(b.bits), {8, 8}));
    const BlockSize blocks[] = {{8, 8}, {64, 16}};
    const Stats ours = mask_stats(Mask(a.listed), blocks),
                theirs = mask_stats(Mask(a.bits), blocks);
    CHECK(ours.total.open == theirs.total.open);
    CHECK(ours.total.empty_rows == theirs.total.empty_rows);
    CHECK(ours.total.median_keys == theirs.total.median_keys);
    CHECK(ours.total.empty_columns == theirs.total.empty_columns);
    for (std::size_t s = 0; s < 2; ++s) {
      CHECK(ours.total.blocks[s].partial == theirs.total.blocks[s].partial);
      CHECK(ours.total.blocks[s].full == theirs.total.blocks[s].full);
    }
  }
}

TEST_CASE("classes split from their lines can be combined to the plane again") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 120; ++i) {
    const Index queries = 1 + i % 60, keys = 1 + i * 3 % 80;
    const Drawn drawn = draw(random, queries, keys);
    const auto split = recognition::split_clipped(*drawn.listed, false);
    REQUIRE(split);
    const Mask again = maskctl::apply(Mask(split->lines), split->shared);
    CHECK(words_of(*again.plane(0, 0)) == words_of(*drawn.bits));
  }
}

/// A plane of blocks that are open or closed at random.
PlanePtr draw_grid(std::mt19937_64& random, Index queries, Index keys, Index q_size, Index k_size) {
  const Index columns = ceil_div(keys, k_size);
  std::vector<std::uint8_t> map(static_cast<std::size_t>(ceil_div(queries, q_size) * columns));
  for (std::uint8_t& block : map) block = random() % 2;
  return block_grid(queries, keys, q_size, k_size, map, columns);
}

TEST_CASE("block grids split from their lines can be combined to the plane again") {
  std::mt19937_64 random(6);
  for (int i = 0; i < 120; ++i) {
    const Index queries = 1 + i % 60, keys = 1 + i * 3 % 80;
    const Index q_size = 1 + static_cast<Index>(random() % 20);
    const Index k_size = 1 + static_cast<Index>(random() % 20);
    const PlanePtr grid = draw_grid(random, queries, keys, q_size, k_size);
    const PlanePtr lines = diagonal_band(queries, keys, i % 4 == 0 ? -30 : -kUnbounded, 5);
    const PlanePtr plane = combine(Op::kAnd, grid, lines);
    const auto split = recognition::split_clipped(*plane, true);
    REQUIRE(split);
    const Mask again = maskctl::apply(Mask(split->lines), split->shared);
    CHECK(words_of(*again.plane(0, 0)) == words_of(*plane));
  }
}

TEST_CASE("large block grids are recognised without reading their cells") {
  std::mt19937_64 random(8);
  const Index n = 1 << 20;
  for (const Index size : {16384, 2048}) {
    const PlanePtr grid = draw_grid(random, n, n, size, size);
    const Recognised alone = recognise(Mask(grid));
    CHECK(alone.residue.cells == 0);
    REQUIRE(alone.chain.size() == 1);
    CHECK(alone.chain[0].as<step::Block>().q_size == size);
    const Recognised causal =
        recognise(Mask(combine(Op::kAnd, grid, diagonal_band(n, n, -kUnbounded, 0))));
    CHECK(causal.residue.cells == 0);
    REQUIRE(causal.chain.size() == 2);
    CHECK(causal.chain[0].is<step::Block>());
    CHECK(causal.chain[1].is<step::Causal>());
  }
}

TEST_CASE(
    "planes with the same representation are found equal; one different row or list is noticed") {
  std::mt19937_64 random(9);
  for (int i = 0; i < 50; ++i) {
    const Index n = 20 + i;
    std::vector<std::int32_t> q(static_cast<std::size_t>(n)), k(q.size());
    for (std::int32_t& id : q) id = static_cast<std::int32_t>(random() % 3);
    for (std::int32_t& id : k) id = static_cast<std::int32_t>(random() % 3);
    const Run all{0, static_cast<std::int32_t>(n)};
    const PlanePtr plane = plane_of(q, k, 3, all);
    CHECK(same_representation(*plane, *plane_of(q, k, 3, all)));
    auto other = i % 2 == 0 ? q : k;
    std::int32_t& id = other[random() % other.size()];
    id = (id + 1) % 3;
    const PlanePtr changed = i % 2 == 0 ? plane_of(other, k, 3, all) : plane_of(q, other, 3, all);
    CHECK_FALSE(same_representation(*plane, *changed));
    CHECK_FALSE(same_representation(*plane, *plane_of(q, k, 3, {0, all.end - 1})));
  }
}

TEST_CASE("large dilated and interleaved masks are recognised without reading their cells") {
  const Index n = 1 << 20;
  const PlanePtr wide = dilated(n, n, 4, 0);
  const Recognised found = recognise(Mask(combine(Op::kAnd, wide, diagonal_band(n, n, -4095, 0))));
  CHECK(found.residue.cells == 0);
  REQUIRE(found.chain.size() == 2);
  CHECK(found.chain[0].as<step::Dilated>().stride == 4);
  CHECK(found.chain[1].as<step::Window>().left == Index{4095});

  std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int32_t>(i * i % 7);
  const Recognised documents = recognise(Mask(equal_ids(ids, ids, -1, Side::kBoth)));
  CHECK(documents.residue.cells == 0);
  REQUIRE(documents.chain.size() == 1);
  CHECK(documents.chain[0].as<step::Document>().shared);
}

TEST_CASE("the corner of a large dilated plane has the cells of a small one") {
  const Index n = 1 << 15;
  for (const Index phase : {0, 3, -5}) {
    const PlanePtr large = dilated(n, n, 6, phase), small = dilated(300, 400, 6, phase);
    CHECK(words_of(*large->sliced({0, 300}, {0, 400})) == words_of(*small));
  }
}
