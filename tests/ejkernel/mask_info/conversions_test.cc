// Compares the module functions of ejkernel's MaskInfo with the same rules written out on small
// arrays.
#include "maskctl/ejkernel/mask_info/conversions.h"

#include <random>

#include "ejkernel/mask_info/info_support.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using info_test::bools;
using info_test::check_cells;
using info_test::i32;
using info_test::list;
using info_test::list_array;
using info_test::python_error_of;
using info_test::row;
using info_test::Shape;
using info_test::Values;
using info_test::values;

Tensor random_ids(std::mt19937& random, const Shape& shape) {
  Tensor out(DType::kInt32, shape);
  for (auto& id : out.as<std::int32_t>()) id = static_cast<std::int32_t>(random() % 6) - 3;
  return out;
}

std::int32_t at(const Tensor& ids, std::initializer_list<Index> where) {
  Index offset = 0;
  std::size_t axis = 0;
  for (const Index i : where) {
    const Index extent = ids.shape()[axis++];
    offset = offset * extent + (extent == 1 ? 0 : i);
  }
  return ids.as<std::int32_t>()[static_cast<std::size_t>(offset)];
}

}  // namespace

TEST_CASE("segment ids open cells with equal ids above -1", "[conversions]") {
  std::mt19937 random(1);
  for (int round = 0; round < 60; ++round) {
    const Index batch = 1 + random() % 3, q_len = random() % 6, kv_len = random() % 6;
    const Tensor q = random_ids(random, {batch, q_len});
    const Tensor kv = random_ids(random, {random() % 2 ? batch : 1, kv_len});
    const MaskArray mask = segment_ids_to_mask(q, kv);
    CHECK(mask.lazy());
    check_cells(mask, {batch, 1, q_len, kv_len}, [&](Index b, Index, Index i, Index j) {
      return at(q, {b, i}) == at(kv, {b, j}) && at(q, {b, i}) > -1;
    });
  }
}

TEST_CASE("segment ids of other ranks are broadcast as in numpy", "[conversions]") {
  std::mt19937 random(2);
  const Tensor q = random_ids(random, {2, 3, 4}), kv = random_ids(random, {2, 3, 4});
  const MaskArray mask = segment_ids_to_mask(q, kv, DType::kInt32);
  REQUIRE(mask.shape() == Shape{2, 1, 3, 3, 4});
  CHECK_FALSE(mask.lazy());
  const Tensor cells = mask.tensor();
  std::size_t i = 0;
  for (Index b = 0; b < 2; ++b) {
    for (Index g = 0; g < 3; ++g) {
      for (Index h = 0; h < 3; ++h) {
        for (Index s = 0; s < 4; ++s) {
          // For ids [2,3,4], numpy compares q[:, :, None] of shape [2,3,1,4] with kv[:, None, :] of
          // shape [2,1,3,4].
          const bool open = at(q, {b, g, s}) == at(kv, {b, h, s}) && at(q, {b, g, s}) > -1;
          REQUIRE(cells.as<std::int32_t>()[i++] == open);
        }
      }
    }
  }
  CHECK(segment_ids_to_mask(random_ids(random, {2, 3}), random_ids(random, {2, 3, 4})).shape() ==
        Shape{2, 1, 2, 3, 4});
  CHECK(python_error_of([&] { segment_ids_to_mask(list({1, 2})); }).starts_with("IndexError"));
  CHECK(python_error_of([&] { segment_ids_to_mask(row({1}), i32({0, 1}, {})); }) == "nothing");
  CHECK(python_error_of([&] {
          segment_ids_to_mask(random_ids(random, {2, 3}), random_ids(random, {3, 3}));
        }).starts_with("TypeError"));
}

TEST_CASE("fractional segment ids are compared as numbers", "[conversions]") {
  const Tensor halves = astype(row({-2, -1, 0, 1, 2}), DType::kFloat32);
  Tensor q = halves;
  for (float& id : q.as<float>()) id *= 0.5f;
  check_cells(segment_ids_to_mask(q, halves), {1, 1, 5, 5}, [](Index, Index, Index i, Index j) {
    return static_cast<double>(i - 2) / 2 == static_cast<double>(j - 2) && i > 0 && j > 1;
  });
}

TEST_CASE("masks for queries and keys are 1 for ids above -1, in the requested dtype",
          "[conversions]") {
  const QkvMasks masks = segment_ids_to_qkv_masks(make_array(row({2, -1, 0, -5})),
                                                  make_array(row({0, 2})), DType::kFloat16);
  CHECK(masks.q->dtype() == DType::kFloat16);
  CHECK(values(astype(*masks.q, DType::kInt32)) == Values{1, 0, 1, 0});
  CHECK(values(astype(*masks.kv, DType::kInt32)) == Values{1, 1});
  CHECK(masks.attention.dtype() == DType::kFloat16);
  CHECK(values(astype(masks.attention.tensor(), DType::kInt32)) == Values{0, 1, 0, 0, 1, 0, 0, 0});
}

TEST_CASE("pairs contain the first and the last valid token", "[conversions]") {
  const Tensor q = i32({3, 4}, {0, 7, 0, -1, 0, 0, 0, 0, 1, 0, 0, 0});
  CHECK(values(qkv_masks_to_cu_seqlens(q).q) == Values{1, 4, 0, 0, 0, 1});
  CHECK(values(qkv_masks_to_cu_seqlens(q).kv) == Values{1, 4, 0, 0, 0, 1});
  CHECK(values(qkv_masks_to_cu_seqlens(q, make_array(bools({1, 2}, {0, 1}))).kv) == Values{1, 2});
  CHECK(python_error_of([&] { qkv_masks_to_cu_seqlens(list({1})); }) ==
        "ValueError: Expected 2D q_mask/kv_mask, got shapes (1,) and (1,).");
  CHECK(python_error_of([&] {
          qkv_masks_to_cu_seqlens(i32({2, 0}, {}));
        }).starts_with("ValueError"));
}

TEST_CASE("masks of pairs are open from start to end, clipped to the length", "[conversions]") {
  std::mt19937 random(3);
  for (int round = 0; round < 60; ++round) {
    Values q, kv;
    const Index batch = random() % 4, kv_batch = random() % 2 ? batch : 1;
    for (Index i = 0; i < 2 * batch; ++i) q.push_back(static_cast<int>(random() % 12) - 3);
    for (Index i = 0; i < 2 * kv_batch; ++i) kv.push_back(static_cast<int>(random() % 12) - 3);
    const auto valid = [](const Values& pairs, Index b, Index i) {
      const std::size_t p = pairs.size() == 2 ? 0 : static_cast<std::size_t>(2 * b);
      return i >= pairs[p] && i < pairs[p + 1];
    };
    const Tensor mask = cu_seqlens_to_mask(list(q), 6, DType::kInt32);
    REQUIRE(mask.shape() == Shape{batch, 6});
    for (Index b = 0; b < batch; ++b) {
      for (Index i = 0; i < 6; ++i) REQUIRE(at(mask, {b, i}) == valid(q, b, i));
    }
    const Index both = batch == 1 ? kv_batch : batch;
    const MaskArray pairs = qkv_cu_seqlens_to_attention_mask(list(q), 6, list_array(kv), 5);
    CHECK(pairs.lazy());
    check_cells(pairs, {both, 1, 6, 5}, [&](Index b, Index, Index i, Index j) {
      return valid(q, b, i) && valid(kv, b, j);
    });
  }
}

TEST_CASE("pairs that cannot be read are refused with ejkernel's message", "[conversions]") {
  CHECK(python_error_of([] {
          cu_seqlens_to_mask(list({0, 1}), -3);
        }) == "ValueError: max_len must be non-negative, got -3.");
  CHECK(python_error_of([] {
          cu_seqlens_to_mask(row({0, 1}), 3);
        }) == "ValueError: cu_seqlens must be 1D, got shape (1, 2).");
  CHECK(python_error_of([] {
          cu_seqlens_to_mask(list({0, 1, 2}), 3);
        }) == "ValueError: cu_seqlens must have even length (batch*2), got 3.");
  CHECK(python_error_of([] {
          qkv_cu_seqlens_to_attention_mask(list({0, 1, 0, 1}), 3, list_array({0, 1, 0, 1, 0, 1}));
        }).starts_with("TypeError"));
}

TEST_CASE("cumulative counts leave out ids below 0 and beyond the limit", "[conversions]") {
  const Tensor ids = i32({2, 3}, {0, 2, -1, 2, 5, -7});
  CHECK(values(segment_ids_to_cu_seqlens(ids, DType::kInt32, 4)) == Values{0, 1, 1, 3, 3});
  CHECK(values(segment_ids_to_cu_seqlens(ids, DType::kInt32, 0)) == Values{0});
  CHECK(segment_ids_to_cu_seqlens(ids).extent(0) == 129);
}

TEST_CASE("positions start at 0 after each change of the id and after padding", "[conversions]") {
  CHECK(values(positions_from_segments_2d(row({1, 1, 2, 2, -1, 2, 1, 1}), 9)) ==
        Values{0, 1, 0, 1, 9, 0, 0, 1});
  CHECK(python_error_of([] {
          positions_from_segments_2d(i32({1, 1, 1}, {0}), 0);
        }).starts_with("TypeError"));
}

TEST_CASE("ids from anchors are numbered in ascending order", "[conversions]") {
  const Tensor padding = bools({6}, {0, 0, 1, 0, 0, 0});
  CHECK(values(compress_ids_from_anchors(list({4, 0, 0, 2, 4, -1}), padding)) ==
        Values{3, 1, -1, 2, 3, 0});
  // ejkernel marks padding with n + 1, here 7.
  CHECK(values(compress_ids_from_anchors(list({7, 0, 0, 8, 0, 0}), padding)) ==
        Values{-1, 0, -1, 1, 0, 0});
}

TEST_CASE("a chunked mask is lazy and causal inside each chunk", "[conversions]") {
  for (const Index offset : {-3, 0, 2}) {
    for (const Index size : {1, 3, 100}) {
      const MaskArray mask = create_chunked_attention_mask(size, 7, 9, offset);
      REQUIRE(mask.shape() == Shape{7, 9});
      CHECK(mask.lazy());
      for (Index q = 0; q < 7; ++q) {
        for (Index k = 0; k < 9; ++k) {
          REQUIRE((mask.tensor().as<std::uint8_t>()[static_cast<std::size_t>(q * 9 + k)] != 0) ==
                  (q / size == k / size && k <= q + offset));
        }
      }
    }
  }
  CHECK(create_chunked_attention_mask(8192, 1 << 20).mask().plane(0, 0)->bytes() < 1 << 20);
  CHECK(python_error_of([] { create_chunked_attention_mask(0, 4); }) ==
        "ValueError: Invalid chunk_size: expected a positive integer, but got 0. Chunk size must "
        "be greater than 0.");
}

}  // namespace maskctl
