// Ragged offsets of cuDNN (kind ragged-offsets), against plain loops over elements.
#include <array>
#include <map>

#include "io/mask_files.h"
#include "maskctl/base/checked.h"
#include "maskctl/mask/arrays/requests.h"
#include "support/catch_compat.h"
#include "support/leaf_maker.h"
#include "support/rounds.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

/// One side of a packed batch, as a program that calls cuDNN has it.
struct Side {
  Int64s lengths, offsets{0};
  Index elements = 1;

  Index tokens() const { return offsets.back() / elements; }
  /// The sequence of the token that the elements from `at` on are, or -1.
  Index sequence_at(Index at) const {
    for (std::size_t b = 0; b < lengths.size(); ++b)
      for (Index t = 0; t < lengths[b]; ++t)
        if (offsets[b] + t * elements == at) return static_cast<Index>(b);
    return -1;
  }
};

Side drawn_side(const twin::Pick& pick, Index batch) {
  Side out;
  out.elements = pick(1, 3) * pick(1, 64);
  for (Index b = 0; b < batch; ++b) {
    out.lengths.push_back(pick(0, 6));
    out.offsets.push_back(out.offsets.back() + (out.lengths.back() + pick(0, 3)) * out.elements);
  }
  return out;
}

Tensor shaped(const Int64s& values, bool four, DType dtype) {
  const Index size = std::ssize(values);
  return int_tensor(four ? std::vector<Index>{size, 1, 1, 1} : std::vector<Index>{size}, values,
                    dtype);
}

LoadedMask read_arrays(const std::map<std::string, Tensor>& arrays, MaskReadOptions options = {}) {
  std::vector<NamedView> views;
  for (const auto& [name, tensor] : arrays) views.push_back({name, tensor});
  return read_mask("arrays", views, options);
}

TEST_CASE("ragged offsets: 1000 drawn batches mean the tokens at their elements") {
  std::mt19937 random(71);
  for (int round = 0; round < rounds(1000); ++round) {
    const auto pick = twin::pick_from(random);
    const Index batch = pick(0, 5);
    const Side q = drawn_side(pick, batch), k = pick(0, 2) ? drawn_side(pick, batch) : q;
    const bool four = pick(0, 1) == 1;
    const DType dtype = pick(0, 1) ? DType::kInt32 : DType::kInt64;
    std::map<std::string, Tensor> arrays{{"seq_len_q", shaped(q.lengths, four, dtype)},
                                         {"q_ragged_offset", shaped(q.offsets, four, dtype)},
                                         {"seq_len_kv", shaped(k.lengths, four, dtype)},
                                         {"k_ragged_offset", shaped(k.offsets, four, dtype)}};
    MaskReadOptions options;
    if (pick(0, 1)) {
      options.as = ArrayKind::kRaggedOffsets;
      options.block = {q.elements, k.elements};
    } else {
      arrays.emplace("token_elements", int_tensor({2}, {q.elements, k.elements}));
    }
    Cells expected(as_size(q.tokens() * k.tokens()));
    for (Index i = 0; i < q.tokens(); ++i)
      for (Index j = 0; j < k.tokens(); ++j) {
        const Index own = q.sequence_at(i * q.elements);
        expected[as_size(i * k.tokens() + j)] = own >= 0 && own == k.sequence_at(j * k.elements);
      }
    CAPTURE(round, batch, q.offsets, k.offsets, q.lengths, k.lengths);
    const LoadedMask loaded = read_arrays(arrays, options);
    REQUIRE(loaded.kind == ArrayKind::kRaggedOffsets);
    REQUIRE(cells_of(loaded.mask) == expected);
    // Back as offsets in tokens.
    MaskWriteOptions write;
    write.kind = ArrayKind::kRaggedOffsets;
    const ConvertedMask converted = convert_mask(loaded.mask, write);
    REQUIRE(converted.changed == 0);
    std::map<std::string, Tensor> written;
    for (const NamedTensor& array : converted.arrays) written.emplace(array.name, array.tensor);
    REQUIRE(cells_of(read_arrays(written).mask) == expected);
  }
}

TEST_CASE("ragged offsets: keys are as queries where only these are given") {
  const std::map<std::string, Tensor> arrays{{"seq_len_q", i32({2}, {3, 2})},
                                             {"q_ragged_offset", i32({3}, {0, 64, 96})},
                                             {"token_elements", i32({2}, {16, 8})}};
  const LoadedMask loaded = read_arrays(arrays);
  CHECK(shape_text(loaded.mask) == "[B 1, H 1, Q 6, K 6]");
  CHECK(loaded.mask.count() == 9 + 4);
  CHECK(loaded.shared_ids);
}

TEST_CASE("ragged offsets: arrays that do not fit are refused in one line") {
  const auto refused = [](std::vector<std::int32_t> lens, std::vector<std::int32_t> offsets,
                          std::optional<BlockSize> elements) {
    const Index size = std::ssize(lens), ends = std::ssize(offsets);
    MaskReadOptions options;
    options.block = elements;
    return error_of([&] {
      read_arrays({{"seq_len_q", i32({size}, lens)}, {"q_ragged_offset", i32({ends}, offsets)}},
                  options);
    });
  };
  const BlockSize eight{8, 8};
  CHECK(contains(refused({3}, {0, 24}, {}), "without an array token_elements do not say how many"));
  CHECK(contains(refused({3}, {0, 28}, eight),
                 "q_ragged_offset, entry 1: 28 is no multiple of the 8 elements of a token"));
  CHECK(
      contains(refused({4}, {0, 24}, eight),
               "seq_len_q, entry 0: 4; expected 0 to 3, the tokens between the offsets 0 and 24"));
  CHECK(contains(refused({-1}, {0, 24}, eight), "seq_len_q, entry 0: -1; expected 0 to 3"));
  CHECK(contains(refused({1}, {8, 24}, eight), "q_ragged_offset starts with 8; expected 0"));
  CHECK(contains(refused({1, 1}, {0, 24, 16}, eight), "falls from 24 to 16 at entry 2"));
  CHECK(contains(refused({1, 1}, {0, 24}, eight),
                 "q_ragged_offset has the shape (2,); expected (3,) or (3, 1, 1, 1)"));
}

}  // namespace
