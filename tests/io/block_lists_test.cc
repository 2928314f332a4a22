// Lists of blocks (kinds flex, fa4 and bsr), against plain loops and torch's own arrays, and lists
// that are refused.
#include <algorithm>
#include <array>

#include "io/mask_files.h"
#include "maskctl/mask/arrays/nearest.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/rounds.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

constexpr Index kMaxBytes = Index{1} << 30;
constexpr std::array kKinds{ArrayKind::kFlex, ArrayKind::kFa4, ArrayKind::kBsr};

/// A mask with a random plane of any kind for each batch entry and head.
Mask random_mask(std::mt19937& random) {
  const auto pick = twin::pick_from(random);
  const Index batch = pick(1, 2), heads = pick(1, 3), q = pick(1, 700), k = pick(1, 700);
  return Mask::make(batch, heads, q, k, [&](Index, Index) {
    const auto low = pick(-q, k), high = low + pick(0, 300);
    const PlanePtr band = diagonal_band(q, k, low, high);
    const Index from = pick(0, q - 1), at = pick(0, k - 1);
    return combine(Op::kXor, band, rectangle(q, k, {from, pick(from, q)}, {at, pick(at, k)}));
  });
}

BlockSize random_size(std::mt19937& random) {
  constexpr std::array<Index, 5> kSizes{16, 32, 64, 128, 256};
  return {kSizes[random() % 5], kSizes[random() % 5]};
}

/// The class of each block by plain loops: 0 empty, 1 partial, 2 full. Cells past the edge are
/// closed.
Cells classes_of(const Mask& mask, BlockSize size) {
  const Cells cells = cells_of(mask);
  Cells out;
  for (Index p = 0; p < mask.batch() * mask.heads(); ++p) {
    for (Index i = 0; i < ceil_div(mask.queries(), size.q); ++i) {
      for (Index j = 0; j < ceil_div(mask.keys(), size.k); ++j) {
        Index open = 0;
        for (Index q = i * size.q; q < std::min((i + 1) * size.q, mask.queries()); ++q) {
          for (Index k = j * size.k; k < std::min((j + 1) * size.k, mask.keys()); ++k) {
            open += cells[as_size((p * mask.queries() + q) * mask.keys() + k)];
          }
        }
        out.push_back(open == 0 ? 0 : open < size.q * size.k ? 1 : 2);
      }
    }
  }
  return out;
}

LoadedMask read_arrays(const std::vector<NamedTensor>& arrays, MaskReadOptions options = {}) {
  std::vector<NamedView> views;
  for (const NamedTensor& array : arrays) views.push_back({array.name, array.tensor});
  return read_mask("lists", views, options);
}

Tensor& array_in(std::vector<NamedTensor>& arrays, std::string_view name) {
  return std::ranges::find(arrays, name, &NamedTensor::name)->tensor;
}

/// The list that torch makes of a row of classes: first the columns of class `value`, then the
/// others, both ascending.
std::vector<std::int32_t> ordered(std::span<const std::uint8_t> row, std::uint8_t value) {
  std::vector<std::int32_t> out;
  for (const bool wanted : {true, false}) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      if ((row[i] == value) == wanted) out.push_back(static_cast<std::int32_t>(i));
    }
  }
  return out;
}

std::vector<NamedTensor> causal_lists(ArrayKind kind) {
  const Mask mask(diagonal_band(300, 300, -kUnbounded, 0));
  return block_list_arrays(mask_blocks(mask, {128, 128}), kind, false, kMaxBytes);
}

/// The error message of reading the lists of a causal mask after a change.
template <typename Change>
std::string refused(ArrayKind kind, const Change& change) {
  std::vector<NamedTensor> arrays = causal_lists(kind);
  change(arrays);
  return error_of([&] { read_arrays(arrays); });
}

}  // namespace

TEST_CASE("block lists: 1000 random masks are written and read back in each kind") {
  std::mt19937 random(37);
  for (int round = 0; round < rounds(1000); ++round) {
    const Mask mask = random_mask(random);
    const BlockSize size = random_size(random);
    const Cells classes = classes_of(mask, size);
    CAPTURE(round, shape_text(mask), size.q, size.k);
    for (const ArrayKind kind : kKinds) {
      const auto arrays = block_list_arrays(mask_blocks(mask, size), kind, false, kMaxBytes);
      const LoadedMask back = read_arrays(arrays);
      REQUIRE(back.kind == kind);
      REQUIRE(back.blocks->size == size);
      Cells expected = classes;
      if (kind == ArrayKind::kBsr) {
        for (auto& value : expected) value = value != 0;
      }
      REQUIRE(std::ranges::equal(back.blocks->map.bytes(), std::as_bytes(std::span(expected))));
      REQUIRE(differing_cells(back.mask, opened_blocks(mask, size.q, size.k)) == 0);
    }
  }
}

TEST_CASE("block lists: flex lists columns in torch's order, also after the counted ones") {
  std::mt19937 random(38);
  for (int round = 0; round < rounds(200); ++round) {
    const Mask mask = random_mask(random);
    const BlockSize size = random_size(random);
    auto arrays = block_list_arrays(mask_blocks(mask, size), ArrayKind::kFlex, false, kMaxBytes);
    const Cells classes = classes_of(mask, size);
    const Index rows = ceil_div(mask.queries(), size.q), columns = ceil_div(mask.keys(), size.k);
    std::vector<std::int32_t> partial, full, by_key;
    for (Index i = 0; i < mask.batch() * mask.heads(); ++i) {
      const auto plane =
          std::span(classes).subspan(as_size(i * rows * columns), as_size(rows * columns));
      for (Index r = 0; r < rows; ++r) {
        const auto row = plane.subspan(as_size(r * columns), as_size(columns));
        std::ranges::copy(ordered(row, 1), std::back_inserter(partial));
        std::ranges::copy(ordered(row, 2), std::back_inserter(full));
      }
      for (Index c = 0; c < columns; ++c) {
        Cells column;
        for (Index r = 0; r < rows; ++r) column.push_back(plane[as_size(r * columns + c)]);
        std::ranges::copy(ordered(column, 2), std::back_inserter(by_key));
      }
    }
    CAPTURE(round, shape_text(mask), size.q, size.k);
    REQUIRE(std::ranges::equal(array_in(arrays, "kv_indices").as<std::int32_t>(), partial));
    REQUIRE(std::ranges::equal(array_in(arrays, "full_kv_indices").as<std::int32_t>(), full));
    REQUIRE(std::ranges::equal(array_in(arrays, "full_q_indices").as<std::int32_t>(), by_key));
  }
}

TEST_CASE("block lists: the arrays that torch 2.15 makes are equal to ours, and can be read") {
  const auto window = [](Index keys) {
    return [keys](Index q, Index k) { return diagonal_band(q, k, 1 - keys, 0); };
  };
  const auto causal = [](Index q, Index k) { return diagonal_band(q, k, -kUnbounded, 0); };
  const auto documents = [&](Index q, Index k) {
    const std::vector<Slab> slabs{
        {{0, 70}, {{0, 70}}}, {{70, 200}, {{70, 200}}}, {{200, 300}, {{200, 300}}}};
    return combine(Op::kAnd, bands(q, k, slabs), causal(q, k));
  };
  struct Case {
    std::string name;
    Mask mask;
    BlockSize size;
  };
  const std::vector<Case> cases = {
      {"causal", Mask(causal(300, 300)), {128, 128}},
      {"whole", Mask(causal(256, 256)), {64, 64}},
      {"documents", Mask(documents(300, 300)), {16, 16}},
      {"window", Mask(window(40)(500, 500)), {256, 256}},
      {"cross", Mask(causal(200, 333)), {32, 64}},
      {"heads",
       Mask::make(2, 3, 150, 150,
                  [&](Index b, Index h) { return window(20 + 60 * h + 100 * b)(150, 150); }),
       {32, 32}}};
  const std::string file = std::string(MASKCTL_SOURCE_DIR) + "/tests/data/block_masks.npz";
  for (const auto& [name, mask, size] : cases) {
    CAPTURE(name);
    for (const NamedTensor& made :
         block_list_arrays(mask_blocks(mask, size), ArrayKind::kFlex, false, kMaxBytes)) {
      const std::string stored = made.name == "block_size" ? "BLOCK_SIZE" : made.name;
      CAPTURE(stored);
      REQUIRE(same_elements(made.tensor, read_array(file + ":" + name + "/" + stored)));
    }
    const LoadedMask back = read_mask(file + ":" + name);
    CHECK(back.kind == ArrayKind::kFlex);
    CHECK(differing_cells(back.mask, opened_blocks(mask, size.q, size.k)) == 0);
  }
}

TEST_CASE("block lists: the error about a wrong list names the row") {
  const auto flex = [](const auto& change) { return refused(ArrayKind::kFlex, change); };
  const auto set = [](const char* name, Index at, std::int32_t value) {
    return [=](std::vector<NamedTensor>& arrays) {
      array_in(arrays, name).as<std::int32_t>()[as_size(at)] = value;
    };
  };
  // The lists of the three rows: partial (0) (1) (0 1 2), full () (0) ().
  CHECK(flex([](auto&) {}) == "no error");
  CHECK(flex(set("kv_indices", 7, 0)) ==
        "lists: kv_indices: batch 0, head 0, row 2: block 0 is listed twice");
  CHECK(flex(set("kv_indices", 6, 2)) ==
        "lists: kv_indices: batch 0, head 0, row 2: block 1 comes after 2; expected ascending "
        "blocks");
  CHECK(flex(set("kv_indices", 3, 3)) ==
        "lists: kv_indices: batch 0, head 0, row 1: block 3 is out of range; expected 0 to 2");
  CHECK(flex(set("kv_num_blocks", 1, 4)) ==
        "lists: kv_num_blocks: batch 0, head 0, row 1: 4 blocks; a row of kv_indices has 3");
  CHECK(flex(set("full_kv_indices", 3, 1)) ==
        "lists: full_kv_indices: batch 0, head 0, row 1: block 1 is in the list of partial blocks "
        "too");
  CHECK(contains(flex(set("q_num_blocks", 0, 1)),
                 "q_indices: batch 0, head 0, row 0: query block 2 is in no list; by kv_indices in "
                 "the partial list"));
  CHECK(contains(flex([](auto& arrays) {
                   array_in(arrays, "seq_lengths").template as<std::int64_t>()[0] = 500;
                 }),
                 "500 queries are 4 blocks of 128, but the lists have 3"));
  CHECK(contains(flex([](auto& arrays) {
                   array_in(arrays, "seq_lengths").template as<std::int64_t>()[1] = 128;
                 }),
                 "128 keys are 1 blocks of 128, but the lists have 3"));
  CHECK(contains(flex([](auto& arrays) {
                   array_in(arrays, "full_kv_num_blocks").reshape({3});
                   array_in(arrays, "full_kv_indices").reshape({3, 3});
                   array_in(arrays, "q_num_blocks").reshape({1, 3, 1});
                 }),
                 "q_indices has the shape (1, 1, 3, 3); q_num_blocks (1, 3, 1) needs one axis"));
  CHECK(contains(flex([](auto& arrays) {
                   std::erase_if(arrays, [](const auto& a) { return a.name == "full_kv_indices"; });
                 }),
                 "full_kv_num_blocks without full_kv_indices"));
  CHECK(contains(flex([](auto& arrays) {
                   std::erase_if(arrays, [](const auto& a) { return a.name == "block_size"; });
                 }),
                 "do not say how large blocks are"));
  CHECK(
      contains(refused(ArrayKind::kBsr, set("indptr", 1, 7)), "indptr: batch 0, head 0, row 1: 7"));
  CHECK(contains(refused(ArrayKind::kBsr, set("indices", 5, 9)),
                 "indices: batch 0, head 0, row 2: block 9 is out of range; expected 0 to 2"));
  CHECK(contains(refused(ArrayKind::kFa4,
                         [](auto& arrays) {
                           std::erase_if(arrays,
                                         [](const auto& a) { return a.name == "seq_lengths"; });
                         }),
                 "do not say how many keys there are"));
}

TEST_CASE("block lists: lists by key block are those of the transposed mask") {
  std::mt19937 random(39);
  for (int round = 0; round < rounds(100); ++round) {
    const Mask mask = random_mask(random);
    const BlockSize size = random_size(random);
    for (const ArrayKind kind : {ArrayKind::kFa4, ArrayKind::kBsr}) {
      const auto turned = block_list_arrays(mask_blocks(mask, size), kind, true, kMaxBytes);
      const auto plain = block_list_arrays(mask_blocks(transposed(mask), {size.k, size.q}), kind,
                                           false, kMaxBytes);
      for (std::size_t i = 0; i < plain.size(); ++i) {
        CAPTURE(round, plain[i].name);
        REQUIRE(same_elements(turned[i].tensor, plain[i].tensor));
      }
    }
  }
}
