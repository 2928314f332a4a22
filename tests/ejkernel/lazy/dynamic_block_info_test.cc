// Tests the block information of masks known only at run time, and what all forms of process_mask()
// refuse.
#include <random>

#include "ejkernel/lazy/block_check.h"
#include "maskctl/ejkernel/lazy/block_info.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::lazy;
using twin::Dense;

namespace {

/// Returns the type and the text of the PythonError that `f` throws, or "nothing".
template <typename F>
std::string raised(F&& f) {
  try {
    f();
  } catch (const PythonError& e) {
    const bool value = e.type() == PythonType::kValueError;
    return (value ? "ValueError: " : "other: ") + std::string(e.what());
  }
  return "nothing";
}

}  // namespace

TEST_CASE("dynamic block info keeps every block", "[block_info]") {
  std::mt19937 random(11);
  for (int round = 0; round < 300; ++round) {
    const Index shards = 1 + static_cast<Index>(random() % 3), per_shard = 1 + round % 2;
    const Index q_shards = 1 + static_cast<Index>(random() % 3), rows_per_shard = 1 + round % 3;
    const Index heads = shards * per_shard, rows = q_shards * rows_per_shard,
                columns = 1 + round % 4;
    BlockInfoOptions o;
    o.q_block = 1 + static_cast<Index>(random() % 3);
    o.kv_block = 1 + static_cast<Index>(random() % 3);
    o.head_shards = shards;
    o.q_seq_shards = q_shards;
    o.is_dkv = random() % 2 == 0;
    o.downcast_smem_data = random() % 2 == 0;
    const Dense dense = twin::make(1, heads, rows * o.q_block, columns * o.kv_block,
                                   [&](Index, Index, Index, Index) { return random() % 3 != 0; });
    Tensor mask(DType::kBool, {heads, dense.q, dense.k});
    // Any nonzero byte counts as true.
    for (std::size_t i = 0; i < dense.cells.size(); ++i) {
      mask.as<std::uint8_t>()[i] = dense.cells[i] ? static_cast<std::uint8_t>(1 + i % 255) : 0;
    }
    const BlockInfo info = process_dynamic_mask(mask, o);
    REQUIRE(info.is_dynamic_mask);
    REQUIRE_FALSE(info.has_mask_function);
    twin::Cube classes(heads, rows, columns), data = classes, next = classes;
    std::vector<std::uint8_t> partial;
    for (Index h = 0; h < heads; ++h) {
      for (Index r = 0; r < rows; ++r) {
        for (Index c = 0; c < columns; ++c) {
          std::vector<std::uint8_t> cells;
          for (Index i = 0; i < o.q_block * o.kv_block; ++i) {
            const Index inner = o.is_dkv ? o.q_block : o.kv_block;
            const Index q = o.is_dkv ? i % inner : i / inner, k = o.is_dkv ? i / inner : i % inner;
            cells.push_back(dense.get(0, h, r * o.q_block + q, c * o.kv_block + k));
          }
          const auto open = std::count(cells.begin(), cells.end(), 1);
          classes.at(h, r, c) = open == 0 ? 0 : open == std::ssize(cells) ? 2 : 1;
          const Index local = r % rows_per_shard;
          if (open > 0) data.at(h, r, c) = o.is_dkv ? local : c;
          if (classes.at(h, r, c) == 1) {
            next.at(h, r, c) = (h % per_shard * rows_per_shard + local) * columns + c;
          }
          partial.insert(partial.end(), cells.begin(), cells.end());
        }
      }
    }
    REQUIRE(as_int64(info.block_mask, "b") == classes.cells);
    REQUIRE(as_int64(info.data_next, "d") == data.cells);
    REQUIRE(as_int64(*info.mask_next, "m") == next.cells);
    REQUIRE(info.block_mask.dtype() == (o.downcast_smem_data ? DType::kInt8 : DType::kInt32));
    const std::vector<Index> shape{heads, rows, columns, o.is_dkv ? o.kv_block : o.q_block,
                                   o.is_dkv ? o.q_block : o.kv_block};
    REQUIRE(info.partial_mask_blocks->shape() == shape);
    const Tensor all = info.partial_mask_blocks->tensor();
    REQUIRE(std::equal(partial.begin(), partial.end(), all.as<std::uint8_t>().begin(),
                       all.as<std::uint8_t>().end()));
  }
}

TEST_CASE("dynamic block info takes its dtypes from the extents", "[block_info]") {
  BlockInfoOptions o;
  o.q_block = o.kv_block = 1;
  const BlockInfo small = process_dynamic_mask(Tensor(DType::kBool, {1, 1, 127}), o);
  REQUIRE(small.data_next.dtype() == DType::kInt8);
  const BlockInfo wide = process_dynamic_mask(Tensor(DType::kBool, {1, 2, 128}), o);
  REQUIRE(wide.data_next.dtype() == DType::kInt16);
  REQUIRE(wide.mask_next->dtype() == DType::kInt16);
  o.is_dkv = true;
  REQUIRE(process_dynamic_mask(Tensor(DType::kBool, {1, 2, 128}), o).data_next.dtype() ==
          DType::kInt8);
}

TEST_CASE("blocks and shards that do not divide the mask are refused", "[block_info]") {
  const MaskPtr mask = multi_head_mask({causal_mask({12, 8}), full_mask({12, 8})});
  const Tensor dense(DType::kBool, {2, 12, 8});
  const auto both = [&](Index q, Index k, Index q_shards, Index head_shards) {
    BlockInfoOptions o;
    o.q_block = q;
    o.kv_block = k;
    o.q_seq_shards = q_shards;
    o.head_shards = head_shards;
    const std::string text = raised([&] { process_mask(mask, o); });
    REQUIRE(raised([&] { process_mask(mask->mask(), 0, o); }) == text);
    REQUIRE(raised([&] { process_dynamic_mask(dense, o); }) == text);
    return text;
  };
  REQUIRE(both(5, 4, 1, 1) == "ValueError: q_block_size=5 should divide q_seq_len=12.");
  REQUIRE(both(4, 3, 1, 1) == "ValueError: kv_blocksize=3 should divide kv_seq_len=8.");
  REQUIRE(both(4, 4, 5, 1) == "ValueError: q_seq_shards=5 should divide q_seq_len=12.");
  REQUIRE(both(4, 4, 2, 1) == "ValueError: q_block_size=4 should divide q_seq_len_per_shard=6.");
  REQUIRE(both(4, 4, 3, 4) == "ValueError: head_shards=4 should divide head_count=2.");
  BlockInfoOptions o;
  o.q_block = 0;
  o.kv_block = 4;
  REQUIRE_THROWS_AS(process_mask(mask, o), Error);
  o.q_block = 4;
  o.head_shards = -1;
  REQUIRE_THROWS_AS(process_mask(mask, o), Error);
  o.head_shards = 1;
  REQUIRE_THROWS_AS(process_mask(mask->mask(), 1, o), Error);
  REQUIRE(raised([&] {
            process_mask(causal_mask({12, 8}), o);
          }) == "ValueError: Expected a 3-dim mask, instead got: mask.shape=(12, 8)");
  REQUIRE(raised([&] {
            process_dynamic_mask(Tensor(DType::kBool, {12, 8}), o);
          }) == "ValueError: Expected a 3-dim mask, instead got: (12, 8).");
  REQUIRE(raised([&] {
            process_dynamic_mask(Tensor(DType::kInt32, {2, 12, 8}), o);
          }) == "ValueError: Expected a bool mask, instead got: int32.");
}

TEST_CASE("shrinking a mask without open cells fails, and arrays beyond the limit are refused",
          "[block_info]") {
  BlockInfoOptions o;
  o.q_block = o.kv_block = 4;
  const MaskPtr closed = multi_head_mask({causal_mask({8, 8}, -8)});
  try {
    process_mask(closed, o);
    FAIL("no error");
  } catch (const PythonError& e) {
    REQUIRE(e.type() == PythonType::kAssertionError);
    REQUIRE(std::string(e.what()).empty());
  }
  o.shrink_grid = false;
  const BlockInfo info = process_mask(closed->mask(), 0, o);
  REQUIRE(as_int64(info.block_mask, "b") == std::vector<std::int64_t>(4));
  REQUIRE(info.partial_mask_blocks == nullptr);

  // If all shards are full, ejkernel has no arrays to concatenate and fails; with our Mask the call
  // succeeds.
  o.shrink_grid = true;
  o.q_seq_shards = 2;
  const MaskPtr full = multi_head_mask({full_mask({8, 8})});
  REQUIRE(raised([&] { process_mask(full, o); }) ==
          "ValueError: need at least one array to concatenate");
  REQUIRE_FALSE(process_mask(full->mask(), 0, o).mask_next.has_value());

  o.q_seq_shards = 1;
  const Index large = Index{1} << 20;
  const MaskPtr wide = multi_head_mask({causal_mask({large, large}), full_mask({large, large})});
  REQUIRE_THROWS_AS(process_mask(wide, o), Error);
  o.q_block = o.kv_block = 1 << 19;
  const BlockInfo coarse = process_mask(wide, o);
  REQUIRE(coarse.partial_mask_blocks->shape() == std::vector<Index>{1, 1 << 19, 1 << 19});
  REQUIRE_THROWS_AS(coarse.partial_mask_blocks->tensor(), Error);
}
