// Tests the arrays of a kind that come nearest to a mask, where the kind cannot express all masks:
// on every small mask, against all arrays of the kind.
#include "maskctl/mask/arrays/nearest.h"

#include <map>
#include <set>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/segment_ids.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/twin.h"

using namespace maskctl;
using twin::Dense;

namespace {

using Ids = std::vector<std::int32_t>;

Dense from_number(Index q, Index k, unsigned number) {
  Dense out(1, 1, q, k);
  for (std::size_t i = 0; i < out.cells.size(); ++i) out.cells[i] = number >> i & 1;
  return out;
}

Ids values(const Tensor& tensor) {
  const auto all = tensor.as<std::int32_t>();
  return {all.begin(), all.end()};
}

std::vector<std::uint8_t> flags(const Tensor& tensor) {
  const auto all = tensor.as<std::uint8_t>();
  return {all.begin(), all.end()};
}

// The functions of_...() give the cells that arrays of a kind mean, by plain loops.
Dense of_ids(const Ids& q, const Ids& k, std::int32_t pad = -1) {
  return twin::matrix(std::ssize(q), std::ssize(k), [&](Index i, Index j) {
    const auto a = q[static_cast<std::size_t>(i)];
    return a != pad && a == k[static_cast<std::size_t>(j)];
  });
}

Dense of_ends(const Ids& q, const Ids& k, Index queries, Index keys) {
  return twin::matrix(queries, keys, [&](Index i, Index j) {
    for (std::size_t d = 1; d < q.size(); ++d) {
      if (q[d - 1] <= i && i < q[d] && k[d - 1] <= j && j < k[d]) return true;
    }
    return false;
  });
}

Dense of_pair(const Ids& q, const Ids& k, Index queries, Index keys) {
  return twin::matrix(queries, keys, [&](Index i, Index j) {
    return q[0] <= i && i < q[1] && k[0] <= j && j < k[1];
  });
}

Index xor_count(const Dense& a, const Dense& b) {
  const Dense differs = twin::zip(Op::kXor, a, b);
  return std::count(differs.cells.begin(), differs.cells.end(), 1);
}

bool inside(const Dense& small, const Dense& large) {
  return xor_count(small, twin::zip(Op::kAnd, small, large)) == 0;
}

// Calls f(list) for all lists of `length` values between low and high.
template <typename F>
void each_list(std::size_t length, std::int32_t low, std::int32_t high, F&& f) {
  Ids list(length, low);
  for (;;) {
    f(list);
    std::size_t i = 0;
    while (i < length && list[i] == high) list[i++] = low;
    if (i == length) return;
    ++list[i];
  }
}

using Meanings = std::set<std::vector<std::uint8_t>>;

Meanings all_segments(Index q, Index k) {
  Meanings out;
  const auto most = static_cast<std::int32_t>(std::min(q, k)) - 1;
  each_list(static_cast<std::size_t>(q), -1, most, [&](const Ids& a) {
    each_list(static_cast<std::size_t>(k), -1, most,
              [&](const Ids& b) { out.insert(of_ids(a, b).cells); });
  });
  return out;
}

// The masks of all cumulative lengths of five documents; three tokens a side need no more.
Meanings all_cu_seqlens(Index q, Index k) {
  Meanings out;
  const auto each = [](Index most, auto&& f) {
    each_list(5, 0, static_cast<std::int32_t>(most), [&](Ids ends) {
      if (!std::is_sorted(ends.begin(), ends.end())) return;
      ends.insert(ends.begin(), 0);
      f(ends);
    });
  };
  each(q, [&](const Ids& a) {
    each(k, [&](const Ids& b) { out.insert(of_ends(a, b, q, k).cells); });
  });
  return out;
}

Meanings all_pairs(Index q, Index k) {
  Meanings out;
  each_list(2, 0, static_cast<std::int32_t>(q), [&](const Ids& a) {
    each_list(2, 0, static_cast<std::int32_t>(k),
              [&](const Ids& b) { out.insert(of_pair(a, b, q, k).cells); });
  });
  return out;
}

Dense of_validity(const std::vector<std::uint8_t>& valid) {
  const auto n = std::ssize(valid);
  return twin::matrix(n, n, [&](Index i, Index j) {
    return valid[static_cast<std::size_t>(i)] && valid[static_cast<std::size_t>(j)];
  });
}

}  // namespace

TEST_CASE("nearest: for every small mask the loss is exact, and 0 if the kind can hold the mask") {
  for (Index q = 1; q <= 3; ++q) {
    for (Index k = 1; k <= 3; ++k) {
      const Meanings segments = all_segments(q, k);
      const Meanings lengths = all_cu_seqlens(q, k);
      const Meanings pairs = all_pairs(q, k);
      for (unsigned number = 0; number < 1U << (q * k); ++number) {
        const Dense dense = from_number(q, k, number);
        const Mask mask = twin::mask_of(dense);
        CAPTURE(q, k, number);

        const Nearest ids = nearest_segments(mask);
        const Dense meant = of_ids(values(ids.q), values(ids.kv));
        REQUIRE(twin::dense_of(ids.mask) == meant);
        REQUIRE(ids.changed == xor_count(dense, meant));
        REQUIRE((ids.changed == 0) == segments.contains(dense.cells));
        const auto [seed_q, seed_k] = segment_ids_of_mask(*mask.plane(0, 0));
        REQUIRE(values(ids.q) == seed_q);
        if (ids.changed > 0) REQUIRE(values(ids.kv) == seed_k);

        const Nearest cu = nearest_cu_seqlens(mask);
        const Dense documents = of_ends(values(cu.q), values(cu.kv), q, k);
        REQUIRE(twin::dense_of(cu.mask) == documents);
        REQUIRE(inside(dense, documents));
        REQUIRE(cu.changed == xor_count(dense, documents));
        REQUIRE((cu.changed == 0) == lengths.contains(dense.cells));

        const Nearest pair = nearest_pairs(mask);
        const Dense rectangle = of_pair(values(pair.q), values(pair.kv), q, k);
        REQUIRE(twin::dense_of(pair.mask) == rectangle);
        REQUIRE(inside(dense, rectangle));
        REQUIRE(pair.changed == xor_count(dense, rectangle));
        REQUIRE((pair.changed == 0) == pairs.contains(dense.cells));
      }
    }
  }
}

TEST_CASE("nearest: a token is valid if any of its cells is open") {
  for (Index n = 1; n <= 4; ++n) {
    for (unsigned number = 0; number < 1U << (n * n); number += n == 4 ? 7 : 1) {
      const Dense dense = from_number(n, n, number);
      const Mask mask = twin::mask_of(dense);
      CAPTURE(n, number);
      std::vector<std::uint8_t> both(static_cast<std::size_t>(n)), keys(both);
      for (Index i = 0; i < n; ++i) {
        for (Index j = 0; j < n; ++j) {
          if (!dense.get(i, j)) continue;
          both[static_cast<std::size_t>(i)] = both[static_cast<std::size_t>(j)] = 1;
          keys[static_cast<std::size_t>(j)] = 1;
        }
      }
      const Nearest padding = nearest_padding(mask);
      REQUIRE(flags(padding.q) == both);
      REQUIRE(twin::dense_of(padding.mask) == of_validity(both));
      REQUIRE(padding.changed == xor_count(dense, of_validity(both)));
      const Nearest key_padding = nearest_key_padding(mask);
      const Dense seen = twin::matrix(
          n, n, [&](Index, Index j) { return keys[static_cast<std::size_t>(j)] != 0; });
      REQUIRE(flags(key_padding.q) == keys);
      REQUIRE(twin::dense_of(key_padding.mask) == seen);
      REQUIRE(key_padding.changed == xor_count(dense, seen));
    }
  }
}

TEST_CASE("nearest: a block is open if any of its cells is open") {
  for (unsigned number = 0; number < 1U << 12; ++number) {
    const Dense dense = from_number(3, 4, number);
    const Mask mask = twin::mask_of(dense);
    for (const auto& [bq, bk] : {std::pair<Index, Index>{2, 2}, {1, 3}, {3, 1}, {2, 4}, {5, 5}}) {
      CAPTURE(number, bq, bk);
      const Index columns = ceil_div(4, bk);
      std::vector<std::uint8_t> expected, made(static_cast<std::size_t>(ceil_div(3, bq) * columns));
      for (Index i = 0; i < 3; i += bq) {
        for (Index j = 0; j < 4; j += bk) {
          const Fill fill = twin::classify(dense, {i, std::min<Index>(i + bq, 3)},
                                           {j, std::min<Index>(j + bk, 4)});
          expected.push_back(fill == Fill::kFull ? 2 : fill == Fill::kPartial ? 1 : 0);
        }
      }
      blockmap_rows(*mask.plane(0, 0), {0, ceil_div(3, bq)}, bq, bk, made);
      REQUIRE(made == expected);
      const Dense opened = twin::matrix(3, 4, [&, size_q = bq, size_k = bk](Index i, Index j) {
        return expected[static_cast<std::size_t>(i / size_q * columns + j / size_k)] != 0;
      });
      REQUIRE(twin::dense_of(opened_blocks(mask, bq, bk)) == opened);
    }
  }
  CHECK_THROWS_AS(opened_blocks(Mask(full_plane(4, 4)), 0, 4), Error);
}

TEST_CASE("nearest: batch entries have arrays of their own, and heads share them") {
  // Head 0 of batch entry 0 opens [0, 2) x [0, 2), head 1 one cell more; batch entry 1 opens
  // nothing.
  const Dense dense = twin::make(2, 2, 4, 4, [](Index b, Index h, Index i, Index j) {
    return b == 0 && ((i < 2 && j < 2) || (h == 1 && i == 2 && j == 3));
  });
  const Mask mask = twin::mask_of(dense);
  const auto loss = [&](const Nearest& nearest) {
    return xor_count(dense, twin::dense_of(nearest.mask));
  };
  const Nearest pairs = nearest_pairs(mask);
  CHECK(values(pairs.q) == Ids{0, 3, 0, 0});
  CHECK(values(pairs.kv) == Ids{0, 4, 0, 0});
  CHECK(pairs.changed == loss(pairs));
  const Nearest padding = nearest_padding(mask);
  CHECK(flags(padding.q) == std::vector<std::uint8_t>{1, 1, 1, 1, 0, 0, 0, 0});
  CHECK(padding.changed == loss(padding));
  const Nearest keys = nearest_key_padding(mask);
  CHECK(flags(keys.q) == std::vector<std::uint8_t>{1, 1, 0, 1, 0, 0, 0, 0});
  CHECK(keys.changed == loss(keys));
  const Nearest ids = nearest_segments(mask);
  CHECK(values(ids.q) == Ids{0, 0, -1, -1, -1, -1, -1, -1});
  CHECK(ids.changed == 1);
  const Nearest cu = nearest_cu_seqlens(mask);
  CHECK(values(cu.q) == Ids{0, 2, 2, 3});
  CHECK(values(cu.kv) == Ids{0, 2, 3, 4});
  CHECK(cu.changed == loss(cu));
}

TEST_CASE("nearest: new ids skip a pad id that is not negative") {
  const Dense dense = of_ids({5, 5, -1, 7, 9}, {9, 5, 7, 7, -1});
  const Nearest ids = nearest_segments(twin::mask_of(dense), 1);
  CHECK(values(ids.q) == Ids{0, 0, 1, 2, 3});
  CHECK(values(ids.kv) == Ids{3, 0, 2, 2, 1});
  CHECK(ids.changed == 0);
}

TEST_CASE("nearest: masks stored as words, and masks without cells, are converted") {
  Dense dense(1, 1, 70, 130);
  dense.set(3, 64, true);
  dense.set(3, 129, true);
  dense.set(69, 0, true);
  const Tensor array = dense_from_mask(twin::mask_of(dense), 1 << 20);
  const Mask words = mask_from_dense(array);
  CHECK(values(nearest_pairs(words).q) == Ids{3, 70});
  CHECK(values(nearest_pairs(words).kv) == Ids{0, 130});
  CHECK(nearest_segments(words).changed == 0);
  for (const auto& [q, k] : {std::pair<Index, Index>{0, 0}, {0, 3}, {3, 0}}) {
    const Mask empty(empty_plane(q, k));
    CHECK(nearest_cu_seqlens(empty).changed == 0);
    CHECK(nearest_pairs(empty).changed == 0);
    CHECK(nearest_segments(empty).changed == 0);
    CHECK(nearest_key_padding(empty).changed == 0);
    CHECK(opened_blocks(empty, 2, 2).count() == 0);
  }
  CHECK_THROWS_AS(nearest_padding(Mask(empty_plane(2, 3))), Error);
}

TEST_CASE("nearest: a million tokens take no memory of the square of their number") {
  constexpr Index kTokens = 1 << 20;
  std::vector<Slab> slabs;
  for (Index begin = 0; begin < kTokens; begin += 20000) {
    const Index end = std::min(begin + 20000, kTokens);
    slabs.push_back({{begin, end}, {{begin, end, 0, 0}}});
  }
  const Mask documents(bands(kTokens, kTokens, slabs));
  CHECK(nearest_cu_seqlens(documents).changed == 0);
  CHECK(nearest_segments(documents).changed == 0);
  const Mask causal(diagonal_band(kTokens, kTokens, -kUnbounded, 0));
  CHECK(nearest_pairs(causal).changed == kTokens * (kTokens - 1) / 2);
  CHECK(nearest_segments(causal).changed == kTokens * (kTokens - 1) / 2);
  const Index tiles = kTokens / 128;
  CHECK(opened_blocks(causal, 128, 128).count() - causal.count() == tiles * (128 * 127 / 2));
}
