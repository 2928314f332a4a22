// Compares the block information of lazy masks with ejkernel's reference vectors and with a twin in
// plain loops.
#include "maskctl/ejkernel/lazy/block_info.h"

#include <random>

#include "ejkernel/lazy/block_check.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/dense.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::lazy;
using twin::Dense;

namespace {

Tensor tensor_of(const Dense& dense) {
  Tensor out(DType::kBool, {dense.q, dense.k});
  std::copy(dense.cells.begin(), dense.cells.end(), out.as<std::uint8_t>().begin());
  return out;
}

/// Makes a mask in which head h has masks[of_head[h]], once from ejkernel's lazy masks and once as
/// our Mask. Returns how the block information of one differs from the twin's; "" if neither does.
std::string check(const std::vector<Dense>& masks, const std::vector<std::size_t>& of_head,
                  const BlockInfoOptions& options) {
  const twin::Blocks want = twin::BlockTwin(masks, of_head, options).result();
  std::vector<MaskPtr> heads;
  for (const std::size_t mask : of_head) heads.push_back(numpy_mask(tensor_of(masks[mask])));
  const Mask own = Mask::make(1, std::ssize(of_head), masks[0].q, masks[0].k, [&](Index, Index h) {
    return twin::plane_of_matrix(masks[of_head[static_cast<std::size_t>(h)]]);
  });
  try {
    const BlockInfo info = process_mask(multi_head_mask(heads), options);
    if (!want.error.empty()) return "expected an error: " + want.error;
    if (info.has_mask_function || info.q_sequence || info.is_dynamic_mask) return "flags";
    if (auto e = twin::check_info(info, want, options); !e.empty()) return e;
  } catch (const PythonError& e) {
    const auto type =
        want.error == "assert" ? PythonType::kAssertionError : PythonType::kValueError;
    if (want.error.empty() || e.type() != type) return std::string("error: ") + e.what();
    if (want.error == "concatenate") return "";
    REQUIRE_THROWS_AS(process_mask(own, 0, options), PythonError);
    return "";
  }
  if (auto e = twin::check_info(process_mask(own, 0, options), want, options); !e.empty()) {
    return "own mask: " + e;
  }
  return "";
}

std::string text(const BlockInfoOptions& o) {
  std::ostringstream out;
  out << "block " << o.q_block << "x" << o.kv_block << " dkv " << o.is_dkv << " small "
      << o.downcast_smem_data << " head shards " << o.head_shards << " q shards " << o.q_seq_shards
      << " shrink " << o.shrink_grid;
  return out.str();
}

/// Returns a random divisor of n.
Index part_of(Index n, std::mt19937& random) {
  Index part = 0;
  do {
    part = 1 + static_cast<Index>(random() % static_cast<std::uint64_t>(n));
  } while (n % part != 0);
  return part;
}

/// Makes a mask of blocks drawn from a few different ones, so that blocks repeat.
Dense patchwork(Index rows, Index columns, Index bq, Index bk, std::mt19937& random) {
  const auto kinds = 2 + random() % 4;
  std::vector<Dense> tiles = {Dense(1, 1, bq, bk, false), Dense(1, 1, bq, bk, true)};
  while (tiles.size() < kinds) {
    tiles.push_back(twin::matrix(bq, bk, [&](Index, Index) { return random() % 2 == 0; }));
  }
  std::vector<std::size_t> which(static_cast<std::size_t>(rows * columns));
  const bool sparse = random() % 2 == 0;
  for (auto& w : which) w = sparse && random() % 4 != 0 ? 0 : random() % tiles.size();
  return twin::matrix(rows * bq, columns * bk, [&](Index q, Index k) {
    return tiles[which[static_cast<std::size_t>(q / bq * columns + k / bk)]].get(q % bq, k % bk);
  });
}

twin::Cube cube(const std::vector<std::vector<Index>>& rows) {
  twin::Cube out(1, std::ssize(rows), std::ssize(rows[0]));
  out.cells.clear();
  for (const auto& row : rows) out.cells.insert(out.cells.end(), row.begin(), row.end());
  return out;
}

}  // namespace

TEST_CASE("block info of a causal band equals ejkernel's reference vectors", "[block_info]") {
  const MaskPtr band = causal_mask({8, 8}) & local_mask({8, 8}, {1, 0}, 0);
  const MaskPtr mask = multi_head_mask({band});
  const auto expect = [&](bool dkv, bool shrink, const twin::Cube& classes, const twin::Cube& data,
                          const twin::Cube& next) {
    BlockInfoOptions options;
    options.q_block = options.kv_block = 2;
    options.is_dkv = dkv;
    options.shrink_grid = shrink;
    twin::Blocks want;
    want.block_mask = classes;
    want.data_next = data;
    want.mask_next = next;
    want.partial = {{1, 0, 1, 1}, {0, 1, 0, 0}};
    if (dkv) want.partial = {{1, 1, 0, 1}, {0, 0, 1, 0}};
    const BlockInfo info = process_mask(mask, options);
    REQUIRE(twin::check_info(info, want, options) == "");
    REQUIRE_FALSE(info.has_mask_function);
    REQUIRE_FALSE(info.q_sequence.has_value());
  };
  const twin::Cube classes = cube({{1, 0, 0, 0}, {1, 1, 0, 0}, {0, 1, 1, 0}, {0, 0, 1, 1}});
  expect(false, false, classes, cube({{0, 0, 0, 0}, {0, 1, 1, 1}, {1, 1, 2, 2}, {2, 2, 2, 3}}),
         cube({{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}}));
  expect(false, true, cube({{1, 0}, {1, 1}, {1, 1}, {1, 1}}),
         cube({{0, 0}, {0, 1}, {1, 2}, {2, 3}}), cube({{0, 0}, {1, 0}, {1, 0}, {1, 0}}));
  expect(true, false, classes, cube({{0, 1, 2, 3}, {1, 1, 2, 3}, {1, 2, 2, 3}, {1, 2, 3, 3}}),
         cube({{0, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}}));
  expect(true, true, cube({{1, 1, 1, 0}, {1, 1, 1, 1}}), cube({{0, 1, 2, 0}, {1, 2, 3, 3}}),
         cube({{0, 0, 0, 0}, {1, 1, 1, 0}}));
}

TEST_CASE("block info equals the twin for every mask of 4 x 3 cells", "[block_info]") {
  for (int bits = 0; bits < 1 << 12; ++bits) {
    const Dense mask =
        twin::matrix(4, 3, [&](Index q, Index k) { return (bits >> (q * 3 + k) & 1) != 0; });
    for (int o = 0; o < 8; ++o) {
      BlockInfoOptions options;
      options.q_block = 2;
      options.kv_block = 1;
      options.is_dkv = (o & 1) != 0;
      options.shrink_grid = (o & 2) != 0;
      options.q_seq_shards = (o & 4) != 0 ? 2 : 1;
      const std::string error = check({mask}, {0}, options);
      if (!error.empty()) FAIL("bits " << bits << ", " << text(options) << ": " << error);
    }
  }
}

TEST_CASE("block info equals the twin for random masks, heads, shards and options",
          "[block_info]") {
  std::mt19937 random(20240607);
  for (int round = 0; round < 1500; ++round) {
    const Index rows = 1 + static_cast<Index>(random() % 6);
    const Index columns = 1 + static_cast<Index>(random() % 6);
    BlockInfoOptions options;
    options.q_block = 1 + static_cast<Index>(random() % 5);
    options.kv_block = 1 + static_cast<Index>(random() % (round % 10 == 0 ? 130 : 5));
    const Index heads = 1 + static_cast<Index>(random() % 4);
    std::vector<Dense> masks;
    std::vector<std::size_t> of_head;
    for (Index h = 0; h < heads; ++h) {
      const bool old = h > 0 && random() % 3 != 0;
      const std::size_t mask = old ? random() % masks.size() : masks.size();
      if (!old) {
        masks.push_back(patchwork(rows, columns, options.q_block, options.kv_block, random));
        for (std::size_t i = 0; i + 1 < masks.size(); ++i) {
          if (masks[i] == masks.back()) masks.back().set(0, 0, !masks.back().get(0, 0)), i = 0;
        }
      }
      of_head.push_back(mask);
    }
    bool distinct = true;
    for (std::size_t i = 0; i < masks.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) distinct = distinct && masks[i] != masks[j];
    }
    if (!distinct) continue;
    options.head_shards = part_of(heads, random);
    options.q_seq_shards = part_of(rows, random);
    options.downcast_smem_data = random() % 4 != 0;
    options.is_dkv = random() % 2 == 0;
    options.shrink_grid = random() % 3 != 0;
    const std::string error = check(masks, of_head, options);
    if (!error.empty()) FAIL("round " << round << ", " << text(options) << ": " << error);
  }
}

TEST_CASE("block info of bands equals that of their dense cells", "[block_info]") {
  std::mt19937 random(7);
  const auto leaf = [&]() -> MaskPtr {
    const Index offset = static_cast<Index>(random() % 31) - 15;
    const std::optional<Index> left = static_cast<Index>(random() % 40);
    switch (random() % 4) {
      case 0:
        return causal_mask({48, 64}, offset);
      case 1:
        return local_mask({48, 64}, {left, random() % 2 == 0 ? std::nullopt : left}, offset);
      case 2:
        return chunked_causal_mask({48, 64}, 1 + static_cast<Index>(random() % 30));
      default:
        return full_mask({48, 64});
    }
  };
  for (int round = 0; round < 250; ++round) {
    MaskPtr mask = leaf();
    for (auto more = random() % 3; more > 0; --more) {
      mask = random() % 2 == 0 ? mask & leaf() : mask | leaf();
    }
    // The conjunction has the same cells, but no rule that a kernel could compute.
    mask = mask & mask;
    const std::vector<Subscript> everything(2, Slice{});
    const Tensor cells = mask->at(everything);
    Dense dense(1, 1, 48, 64);
    std::copy(cells.as<std::uint8_t>().begin(), cells.as<std::uint8_t>().end(),
              dense.cells.begin());
    BlockInfoOptions options;
    options.q_block = part_of(48, random);
    options.kv_block = part_of(64, random);
    if (options.q_block * options.kv_block < 12) options.q_block = 16, options.kv_block = 8;
    options.is_dkv = random() % 2 == 0;
    options.shrink_grid = random() % 2 == 0;
    const twin::Blocks want = twin::BlockTwin({dense}, {0}, options).result();
    if (!want.error.empty()) continue;
    const std::string error =
        twin::check_info(process_mask(multi_head_mask({mask}), options), want, options);
    if (!error.empty()) FAIL("round " << round << ", " << text(options) << ": " << error);
  }
}

TEST_CASE("blocks with equal cells are stored once, whatever plane they come from",
          "[block_info]") {
  const Dense causal = twin::matrix(32, 32, [](Index q, Index k) { return k <= q; });
  const std::vector<MaskPtr> heads = {causal_mask({32, 32}),
                                      local_mask({32, 32}, {std::nullopt, 0}, 0),
                                      numpy_mask(tensor_of(causal))};
  BlockInfoOptions options;
  options.q_block = options.kv_block = 8;
  // Lazy masks of three classes count as three masks, although they have the same cells.
  const BlockInfo info = process_mask(multi_head_mask(heads), options);
  REQUIRE(info.block_mask.shape() == std::vector<Index>{3, 4, 4});
  REQUIRE(info.partial_mask_blocks->shape() == std::vector<Index>{1, 8, 8});
  // Our Mask compares heads by their cells: all three have one mask. The first axis then has one
  // index for each head shard.
  options.head_shards = 3;
  const BlockInfo own = process_mask(multi_head_mask(heads)->mask(), 0, options);
  REQUIRE(own.block_mask.shape() == std::vector<Index>{3, 4, 4});
  options.head_shards = 1;
  REQUIRE(process_mask(multi_head_mask(heads)->mask(), 0, options).block_mask.shape() ==
          std::vector<Index>{1, 4, 4});
}

TEST_CASE("equal blocks are found even if there are more than the cache remembers",
          "[block_info]") {
  std::mt19937 random(3);
  Tensor cells(DType::kBool, {4096, 8192});
  for (std::uint8_t& cell : cells.as<std::uint8_t>()) cell = random() & 1;
  // Two planes with equal cells, made separately so that they share no memory.
  const Mask mask = Mask::make(1, 2, 4096, 8192,
                               [&](Index, Index) { return mask_from_dense(cells).plane(0, 0); });
  REQUIRE(mask.distinct().size() == 2);
  BlockInfoOptions options;
  options.q_block = 64;
  options.kv_block = 128;
  const BlockInfo info = process_mask(mask, 0, options);
  REQUIRE(info.block_mask.shape() == std::vector<Index>{1, 64, 64});
  REQUIRE(info.partial_mask_blocks->shape() == std::vector<Index>{4096, 64, 128});
  const Index last = 4095;
  REQUIRE(info.mask_next->as<std::int16_t>()[4095] == last);
  const Tensor block = info.partial_mask_blocks->block(last);
  const std::span<const std::uint8_t> have = block.as<std::uint8_t>(),
                                      want = cells.as<std::uint8_t>();
  for (Index row = 0; row < 64; ++row) {
    const auto from = want.begin() + (4096 - 64 + row) * 8192 + 8192 - 128;
    REQUIRE(std::equal(from, from + 128, have.begin() + row * 128));
  }
}

TEST_CASE(
    "if all heads share one mask with a rule, the kernel computes it and no blocks are stored",
    "[block_info]") {
  BlockInfoOptions options;
  options.q_block = options.kv_block = 4;
  const BlockInfo info =
      process_mask(multi_head_mask({causal_mask({16, 16}), causal_mask({16, 16}, 0, 2)}), options);
  REQUIRE(info.has_mask_function);
  REQUIRE_FALSE(info.mask_next.has_value());
  REQUIRE(info.partial_mask_blocks == nullptr);
  REQUIRE(info.block_mask.shape() == std::vector<Index>{1, 4, 4});
  REQUIRE(info.q_sequence->dtype() == DType::kInt32);
  REQUIRE(info.q_sequence->shape() == std::vector<Index>{16});
  for (Index q = 0; q < 16; ++q) {
    REQUIRE(info.q_sequence->as<std::int32_t>()[static_cast<std::size_t>(q)] == q);
  }
  const BlockInfo two =
      process_mask(multi_head_mask({causal_mask({16, 16}), causal_mask({16, 16}, 1)}), options);
  REQUIRE_FALSE(two.has_mask_function);
  REQUIRE(two.mask_next.has_value());
  REQUIRE_FALSE(process_mask(multi_head_mask({full_mask({16, 16})}), options).has_mask_function);
}

TEST_CASE("block info uses wider dtypes for values beyond 127 and 32767", "[block_info]") {
  for (const auto& [blocks, dtype] : {std::pair{Index{128}, DType::kInt8},
                                      {Index{129}, DType::kInt16},
                                      {Index{32768}, DType::kInt16},
                                      {Index{32769}, DType::kInt32}}) {
    BlockInfoOptions options;
    options.q_block = 2;
    options.kv_block = 1;
    const BlockInfo info = process_mask(multi_head_mask({full_mask({2, blocks})}), options);
    REQUIRE(info.block_mask.dtype() == DType::kInt8);
    REQUIRE(info.data_next.dtype() == dtype);
    REQUIRE_FALSE(info.mask_next.has_value());
    REQUIRE(as_int64(info.data_next, "data").back() == blocks - 1);
  }
}
