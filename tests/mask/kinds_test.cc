// Masks of padding, segments, cumulative lengths and pairs of ranges, against plain loops.
#include <random>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/error_of.h"

using namespace maskctl;
using maskctl::test::error_of;

namespace {

using Ids = std::vector<std::int32_t>;

Tensor tensor(std::vector<Index> shape, const Ids& values, DType dtype = DType::kInt32) {
  Tensor out(DType::kInt32, std::move(shape));
  std::copy(values.begin(), values.end(), out.as<std::int32_t>().begin());
  return astype(out, dtype);
}

Ids random_ids(Index n, unsigned seed, int low, int high) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> pick(low, high);
  Ids out(static_cast<std::size_t>(n));
  for (auto& id : out) id = pick(random);
  return out;
}

/// Checks that each cell is open where rule(b, q, k) holds.
template <typename Rule>
void check_cells(const Mask& mask, const Rule& rule) {
  const Tensor dense = dense_from_mask(mask, Index{1} << 30);
  const auto cells = dense.as<std::uint8_t>();
  Index wrong = 0;
  std::size_t at = 0;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index q = 0; q < mask.queries(); ++q) {
      for (Index k = 0; k < mask.keys(); ++k) wrong += (cells[at++] != 0) != rule(b, q, k);
    }
  }
  CHECK(wrong == 0);
  CHECK(at == cells.size());
}

}  // namespace

TEST_CASE("a padding mask opens cells whose query and key are both valid") {
  const DType dtype = GENERATE(DType::kBool, DType::kInt64, DType::kFloat32);
  const Ids valid = random_ids(3 * 40, 2, 0, 1);
  const Mask mask = mask_from_padding(tensor({3, 40}, valid, dtype));
  CHECK(shape_text(mask) == "[B 3, H 1, Q 40, K 40]");
  const auto at = [&](Index b, Index i) {
    return valid[static_cast<std::size_t>(b * 40 + i)] != 0;
  };
  check_cells(mask, [&](Index b, Index q, Index k) { return at(b, q) && at(b, k); });
}

TEST_CASE("a key padding mask opens valid keys for every query") {
  const Ids valid = random_ids(3 * 40, 2, 0, 1);
  const Mask mask = mask_from_key_padding(tensor({3, 40}, valid), 7);
  CHECK(shape_text(mask) == "[B 3, H 1, Q 7, K 40]");
  check_cells(mask, [&](Index b, Index, Index k) {
    return valid[static_cast<std::size_t>(b * 40 + k)] != 0;
  });
}

TEST_CASE("padding flags of one axis are one batch entry, and equal rows share a plane") {
  CHECK(mask_from_padding(tensor({4}, {1, 1, 1, 0})).batch() == 1);
  const Mask mask = mask_from_padding(tensor({3, 2}, {1, 0, 1, 1, 1, 0}));
  CHECK(mask.distinct().size() == 2);
  CHECK(mask.index_of(0, 0) == mask.index_of(2, 0));
  CHECK_THROWS_AS(mask_from_padding(tensor({1, 2, 2}, {1, 0, 1, 1})), Error);
  CHECK_THROWS_AS(mask_from_padding(Tensor(DType::kBool, {Index{1} << 40, 0})), Error);
}

TEST_CASE("segments open cells with equal ids that are not the pad id") {
  const int pad = GENERATE(-1, 0, 7);
  CAPTURE(pad);
  const Ids q = random_ids(4 * 30, 5, -1, 2);
  const Ids kv = random_ids(4 * 50, 6, -1, 2);
  const Mask mask = mask_from_segments(tensor({4, 30}, q), tensor({4, 50}, kv, DType::kInt64), pad);
  check_cells(mask, [&](Index b, Index i, Index j) {
    const auto id = q[static_cast<std::size_t>(b * 30 + i)];
    return id == kv[static_cast<std::size_t>(b * 50 + j)] && id != pad;
  });
}

TEST_CASE("ids of one batch entry on one side are used for all entries of the other side") {
  const Ids q = random_ids(3 * 10, 5, 0, 2);
  const Ids kv = random_ids(12, 6, 0, 2);
  const Mask mask = mask_from_segments(tensor({3, 10}, q), tensor({12}, kv), -1);
  CHECK(shape_text(mask) == "[B 3, H 1, Q 10, K 12]");
  check_cells(mask, [&](Index b, Index i, Index j) {
    return q[static_cast<std::size_t>(b * 10 + i)] == kv[static_cast<std::size_t>(j)];
  });
  const std::string message = error_of([] {
    mask_from_segments(tensor({2, 1}, {0, 0}), tensor({3, 1}, {0, 0, 0}), -1);
  });
  CHECK(message ==
        "the segment ids of queries (2, 1) and keys (3, 1) differ in batch; give equal batches, or "
        "one of 1");
}

TEST_CASE("equal rows of segment ids share a plane") {
  const Tensor ids = tensor({4, 3}, {0, 0, 1, 0, 1, 1, 0, 0, 1, 0, 0, 1});
  const Mask mask = mask_from_segments(ids, ids, -1);
  CHECK(mask.distinct().size() == 2);
  CHECK(mask.index_of(0, 0) == mask.index_of(3, 0));
  CHECK(mask.index_of(0, 0) != mask.index_of(1, 0));
}

TEST_CASE("cumulative lengths open one square or rectangle per document") {
  const Mask mask = mask_from_cu_seqlens(tensor({4}, {0, 3, 3, 8}), tensor({4}, {0, 2, 6, 9}));
  CHECK(shape_text(mask) == "[B 1, H 1, Q 8, K 9]");
  check_cells(mask, [](Index, Index q, Index k) { return (q < 3 && k < 2) || (q >= 3 && k >= 6); });
}

TEST_CASE("tokens after the last document are closed") {
  const Tensor cu = tensor({3}, {0, 2, 5});
  const Mask mask = mask_from_cu_seqlens(cu, cu, 6, 7);
  CHECK(shape_text(mask) == "[B 1, H 1, Q 6, K 7]");
  check_cells(mask, [](Index, Index q, Index k) {
    return (q < 2 && k < 2) || (q >= 2 && q < 5 && k >= 2 && k < 5);
  });
}

TEST_CASE("the error about bad cumulative lengths names the first bad entry") {
  const auto message = [](const Ids& values) {
    const Tensor cu = tensor({static_cast<Index>(values.size())}, values);
    return error_of([&] { mask_from_cu_seqlens(cu, cu); });
  };
  CHECK(message({1, 3}) == "cu_seqlens starts with 1; expected 0");
  CHECK(message({0, 5, 3, 2}) ==
        "cu_seqlens falls from 5 to 3 at entry 2; expected ends that never decrease");
  CHECK(message({}) == "cu_seqlens is empty; expected 0 and the end of each document");
  CHECK(message({0}) == "no error");
  const Tensor three = tensor({3}, {0, 1, 2});
  const Tensor two = tensor({2}, {0, 2});
  CHECK(error_of([&] { mask_from_cu_seqlens(three, two); }) ==
        "cu_seqlens has 2 documents for queries and 1 for keys; expected the same number");
  CHECK(error_of([&] { mask_from_cu_seqlens(two, two, 1, 2); }) ==
        "cu_seqlens ends at 2, past the 1 queries; expected at most that");
  CHECK_THROWS_AS(mask_from_cu_seqlens(tensor({1, 2}, {0, 2}), two), Error);
}

TEST_CASE("start-end pairs open one rectangle per batch entry") {
  const Mask mask =
      mask_from_pairs(tensor({6}, {1, 4, 2, 2, 0, 5}), tensor({6}, {0, 3, 1, 2, 5, 6}), 5, 6);
  CHECK(shape_text(mask) == "[B 3, H 1, Q 5, K 6]");
  check_cells(mask, [](Index b, Index q, Index k) {
    if (b == 0) return q >= 1 && q < 4 && k < 3;
    return b == 2 && k == 5;
  });
}

TEST_CASE("the error about a bad pair gives its number") {
  const auto message = [](const Ids& values) {
    const Tensor pairs = tensor({static_cast<Index>(values.size())}, values);
    return error_of([&] { mask_from_pairs(pairs, pairs, 5, 5); });
  };
  CHECK(message({0, 1, 3, 2}) ==
        "pair 1 is 3 to 2; expected 0 <= start <= end <= 5, the number of queries");
  CHECK(message({-1, 2}) ==
        "pair 0 is -1 to 2; expected 0 <= start <= end <= 5, the number of queries");
  CHECK(message({0, 6}) ==
        "pair 0 is 0 to 6; expected 0 <= start <= end <= 5, the number of queries");
  CHECK(message({0, 1, 2}) == "3 entries are not start-end pairs; expected 2B");
}
