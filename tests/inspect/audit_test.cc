// Audits of block maps, against a count of every cell and the known figures of faulty maps.
#include "maskctl/inspect/count/audit.h"

#include <functional>
#include <random>

#include "maskctl/base/error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"

namespace maskctl {
namespace {

Tensor map_of(std::vector<Index> shape, const std::function<int(Index i)>& value) {
  Tensor out(DType::kUInt8, std::move(shape));
  for (Index i = 0; i < out.elements(); ++i) {
    out.as<std::uint8_t>()[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(value(i));
  }
  return out;
}

TEST_CASE("audits equal a count of every cell") {
  std::mt19937 random(3);
  const auto pick = [&](Index low, Index high) {
    return low + static_cast<Index>(random() % static_cast<unsigned>(high - low + 1));
  };
  for (int round = 0; round < 300; ++round) {
    const Index batch = pick(1, 2), heads = pick(1, 2), queries = pick(1, 9), keys = pick(1, 9);
    const BlockSize size{pick(1, 4), pick(1, 4)};
    const Index rows = ceil_div(queries, size.q), columns = ceil_div(keys, size.k);
    const Tensor cells =
        map_of({batch, heads, queries, keys}, [&](Index) { return pick(0, 3) > 0; });
    const Tensor map = map_of({batch, 1, rows, columns}, [&](Index) { return int(pick(0, 2)); });
    const BlockAudit audit = audit_blocks(mask_from_dense(cells), map, size);
    BlockAudit want;
    for (Index b = 0; b < batch; ++b) {
      for (Index h = 0; h < heads; ++h) {
        for (Index q = 0; q < queries; ++q) {
          bool loses = false;
          for (Index k = 0; k < keys; ++k) {
            const auto at = ((b * heads + h) * queries + q) * keys + k;
            const bool open = cells.as<std::uint8_t>()[static_cast<std::size_t>(at)] != 0;
            const auto block = (b * rows + q / size.q) * columns + k / size.k;
            const int kind = map.as<std::uint8_t>()[static_cast<std::size_t>(block)];
            want.open += open;
            want.dropped += open && kind == 0;
            want.leaked += !open && kind == 2;
            loses |= open && kind == 0;
            want.first_key_rows += open && kind == 0 && k == 0;
            if (open && kind == 0 && h == 0 && b == 0 && q == 0 && size.q == 1 &&
                !want.first_dropped) {
              want.first_dropped = Cell{b, h, q, k};
            }
          }
          want.dropped_rows += loses;
        }
      }
    }
    REQUIRE(audit.open == want.open);
    REQUIRE(audit.dropped == want.dropped);
    REQUIRE(audit.leaked == want.leaked);
    REQUIRE(audit.dropped_rows == want.dropped_rows);
    REQUIRE(audit.first_key_rows == want.first_key_rows);
    REQUIRE(audit.blocks == batch * heads * rows * columns);
    REQUIRE(audit.ok() == (want.dropped == 0 && want.leaked == 0));
    REQUIRE(audit.first_dropped.has_value() == (want.dropped > 0));
    if (want.first_dropped) REQUIRE(audit.first_dropped == want.first_dropped);
  }
}

/// Counts the open cells that a faulty block map drops. Like ejkernel's Triton kernel it keeps a
/// block when its first key is inside the left side of the first row, and its last key inside the
/// right side of the last row.
Index dropped(Index tokens, BlockSize size, Index left, Index right) {
  const Index rows = ceil_div(tokens, size.q), columns = ceil_div(tokens, size.k);
  const Tensor map = map_of({rows, columns}, [&](Index i) {
    const Index q = i / columns * size.q, k = i % columns * size.k;
    const Index q_last = std::min(q + size.q, tokens) - 1;
    const Index k_last = std::min(k + size.k, tokens) - 1;
    return k <= q_last && k >= q - left && k_last <= q_last + right;
  });
  const Mask mask(diagonal_band(tokens, tokens, -left, 0));
  return audit_blocks(mask, map, size).dropped;
}

TEST_CASE(
    "a block map that tests only the first key of a block drops the published share of cells") {
  CHECK(dropped(512, {64, 64}, 100, 100) == 3996);      // 8.6 % of 46662 open cells
  CHECK(dropped(512, {64, 64}, 127, 127) == 12096);     // 21.1 % of 57408 open cells
  CHECK(dropped(4096, {64, 64}, 1023, 1023) == 96768);  // 2.6 % of 3670528 open cells
  CHECK(dropped(512, {64, 64}, 128, 128) == 0);         // a window of whole blocks hides the fault
  CHECK(dropped(4096, {64, 64}, 1024, 1024) == 0);
  CHECK(dropped(512, {64, 128}, 128, 128) == 6240);  // 10.8 % of 57792 open cells
  CHECK(dropped(512, {64, 128}, 128, 0) == 14560);   // 25.2 % of 57792 open cells
}

TEST_CASE("block maps that do not fit the mask are refused") {
  const Mask mask(full_plane(8, 8));
  const auto ones = [](Index) { return 1; };
  CHECK_THROWS_AS(audit_blocks(mask, map_of({2, 3}, ones), {4, 4}), Error);
  CHECK_THROWS_AS(audit_blocks(mask, map_of({4}, ones), {4, 4}), Error);
  CHECK_THROWS_AS(audit_blocks(mask, map_of({3, 2, 2}, ones), {4, 4}), Error);
  CHECK_THROWS_AS(audit_blocks(mask, map_of({2, 2}, [](Index) { return 3; }), {4, 4}), Error);
  CHECK(audit_blocks(mask, map_of({2, 2}, ones), {4, 4}).ok());
}

}  // namespace
}  // namespace maskctl
