// Packed batches as the cumulative lengths that variable-length kernels take, against plain loops
// over ids.
#include "maskctl/mask/arrays/varlen.h"

#include <algorithm>
#include <random>

#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

using namespace maskctl;

namespace {

/// Random document ids of each row, with padding (-1) before, between and behind documents.
std::vector<std::vector<int>> random_rows(std::mt19937& random, Index batch, Index length) {
  std::vector<std::vector<int>> rows;
  for (Index b = 0; b < batch; ++b) {
    std::vector<int> row;
    for (int id = 0; std::ssize(row) < length; ++id) {
      const bool padding = random() % 4 == 0;
      const Index tokens =
          std::min<Index>(1 + static_cast<Index>(random() % 7), length - std::ssize(row));
      row.insert(row.end(), static_cast<std::size_t>(tokens), padding ? -1 : id);
    }
    rows.push_back(row);
  }
  return rows;
}

Mask mask_of(const std::vector<std::vector<int>>& rows, bool causal) {
  const Index batch = std::ssize(rows);
  const Index length = std::ssize(rows[0]);
  Tensor cells(DType::kBool, {batch, 1, length, length});
  std::size_t at = 0;
  for (const auto& row : rows) {
    for (Index q = 0; q < length; ++q) {
      for (Index k = 0; k < length; ++k, ++at) {
        const bool same = row[as_size(q)] >= 0 && row[as_size(q)] == row[as_size(k)];
        cells.as<std::uint8_t>()[at] = same && (!causal || k <= q);
      }
    }
  }
  return mask_from_dense(cells);
}

/// The cumulative lengths of the flattened batch, in which each stretch of equal ids is a segment;
/// `drop` leaves padding out.
std::vector<Index> expected_ends(const std::vector<std::vector<int>>& rows, bool drop) {
  std::vector<Index> ends{0};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool starts = i == 0 || row[i] != row[i - 1];
      if (drop && row[i] < 0) continue;
      if (starts) ends.push_back(ends.back());
      ++ends.back();
    }
  }
  return ends;
}

std::vector<Index> values_of(const Tensor& list) {
  const auto values = list.as<std::int32_t>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("varlen: the lengths of a packed batch are those of the flattened batch") {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    const auto rows = random_rows(random, 1 + static_cast<Index>(random() % 4), 24);
    const bool causal = round % 2 == 0;
    const bool drop = round % 3 == 0;
    const Varlen made =
        varlen_batch(mask_of(rows, causal), drop ? PaddingTokens::kDrop : PaddingTokens::kSegments);
    const auto ends = expected_ends(rows, drop);
    REQUIRE(values_of(made.cu_q) == ends);
    REQUIRE(values_of(made.cu_kv) == ends);
    REQUIRE(made.lost == 0);
    Index longest = 0, padding = 0, documents = 0, wide = 0;
    std::vector<std::int64_t> kept;
    for (std::size_t i = 1; i < ends.size(); ++i)
      longest = std::max(longest, ends[i] - ends[i - 1]);
    for (std::size_t b = 0; b < rows.size(); ++b) {
      for (std::size_t i = 0; i < rows[b].size(); ++i) {
        const int id = rows[b][i];
        padding += id < 0;
        documents += id >= 0 && (i == 0 || rows[b][i - 1] != id);
        // Counts the tokens after the first of a document.
        wide += id >= 0 && i > 0 && rows[b][i - 1] == id;
        if (id >= 0) kept.push_back(static_cast<std::int64_t>(b * rows[b].size() + i));
      }
    }
    CHECK(made.max_q == longest);
    CHECK(made.padding == padding);
    CHECK(made.documents == documents);
    CHECK(made.needs_causal == (causal && wide > 0));
    if (!drop) continue;
    const auto indices = made.q_indices.as<std::int64_t>();
    CHECK(std::vector<std::int64_t>(indices.begin(), indices.end()) == kept);
  }
}

TEST_CASE("varlen: cells that neither documents nor causality explain are counted as lost") {
  std::mt19937 random(5);
  const auto rows = random_rows(random, 2, 24);
  const Mask exact = mask_of(rows, true);
  Tensor cells = dense_from_mask(exact, 1 << 20);
  auto bytes = cells.as<std::uint8_t>();
  // Skips the row of the first token.
  const auto open = std::ranges::find(bytes.subspan(25), std::uint8_t{1});
  *open = 0;
  const Varlen made = varlen_batch(mask_from_dense(cells));
  CHECK(made.lost > 0);
  CHECK_FALSE(made.needs_causal);
}

TEST_CASE("varlen: masks without heads, rows or tokens have no documents") {
  for (const std::vector<Index>& shape :
       {std::vector<Index>{2, 0, 3, 3}, {0, 1, 3, 3}, {2, 1, 0, 0}, {2, 1, 3, 0}}) {
    const Varlen made = varlen_batch(mask_from_dense(Tensor(DType::kBool, shape)));
    CHECK(made.documents == 0);
    CHECK(made.lost == 0);
    CHECK(made.padding == shape[0] * shape[2]);
  }
}

TEST_CASE("varlen: queries and keys may have different lengths, and different heads lose cells") {
  // Two batch entries of 4 queries and 6 keys: documents of 2 x 3 and 2 x 3 cells, and one of 4 x 5
  // cells beside a key of padding.
  Tensor cells(DType::kBool, {2, 2, 4, 6});
  auto bytes = cells.as<std::uint8_t>();
  const auto open = [&](Index b, Index h, Index q, Index k) {
    bytes[as_size(((b * 2 + h) * 4 + q) * 6 + k)] = 1;
  };
  for (Index h = 0; h < 2; ++h) {
    for (Index q = 0; q < 4; ++q) {
      for (Index k = 0; k < 3; ++k) open(0, h, q, k + (q < 2 ? 0 : 3));
      for (Index k = 0; k < 5; ++k) open(1, h, q, k);
    }
  }
  const Varlen made = varlen_batch(mask_from_dense(cells));
  CHECK(values_of(made.cu_q) == std::vector<Index>{0, 2, 4, 8, 8});
  CHECK(values_of(made.cu_kv) == std::vector<Index>{0, 3, 6, 11, 12});
  CHECK(made.max_q == 4);
  CHECK(made.max_kv == 5);
  CHECK(made.changed == 0);
  bytes[as_size(6 * 4 + 1)] = 0;  // closes a cell of head 1 in batch entry 0
  CHECK(varlen_batch(mask_from_dense(cells)).lost == 1);
}
