// Compares ejkernel's conversion of masks to segment ids and pairs with its rules in plain loops,
// on small arrays.
#include <random>

#include "ejkernel/mask_info/info_support.h"
#include "maskctl/ejkernel/mask_info/conversions.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

using info_test::i32;
using info_test::python_error_of;
using info_test::Shape;
using info_test::Values;
using info_test::values;

/// Makes a random mask of elements 0 and 2 in a shape [B,H,Q,K], or the last axes of it.
Tensor random_mask(std::mt19937& random, Shape shape) {
  Tensor out(DType::kInt32, std::move(shape));
  const unsigned percent = random() % 101;
  for (auto& cell : out.as<std::int32_t>()) cell = random() % 100 < percent ? 2 : 0;
  return out;
}

/// Returns row i of a Q x K matrix, or column i if `column`.
std::vector<bool> line(std::span<const std::int32_t> cells, Index keys, bool column, Index i) {
  std::vector<bool> out;
  const Index queries = static_cast<Index>(cells.size()) / keys;
  for (Index j = 0; j < (column ? queries : keys); ++j) {
    out.push_back(cells[static_cast<std::size_t>(column ? j * keys + i : i * keys + j)] != 0);
  }
  return out;
}

Values slow_ids(std::span<const std::int32_t> cells, Index keys, bool column) {
  const Index queries = static_cast<Index>(cells.size()) / keys;
  std::vector<std::vector<bool>> seen;
  Values ids;
  for (Index i = 0; i < (column ? keys : queries); ++i) {
    const auto now = line(cells, keys, column, i);
    if (std::ranges::find(now, true) == now.end()) {
      ids.push_back(-1);
      continue;
    }
    const auto found = std::ranges::find(seen, now);
    ids.push_back(static_cast<std::int32_t>(found - seen.begin()));
    if (found == seen.end()) seen.push_back(now);
  }
  return ids;
}

Values slow_planes(const Tensor& mask, Index every, bool column) {
  const Index keys = mask.shape().back(), queries = mask.shape()[mask.shape().size() - 2];
  Values out;
  for (Index p = 0; p < mask.elements() / (queries * keys); p += every) {
    const auto cells = mask.as<std::int32_t>().subspan(static_cast<std::size_t>(p * queries * keys),
                                                       static_cast<std::size_t>(queries * keys));
    const Values ids = slow_ids(cells, keys, column);
    out.insert(out.end(), ids.begin(), ids.end());
  }
  return out;
}

}  // namespace

TEST_CASE("ids from equal rows and columns have ejkernel's shapes and values", "[conversions]") {
  std::mt19937 random(1);
  for (int round = 0; round < 40; ++round) {
    const Index b = 1 + random() % 3, h = 1 + random() % 3, q = 1 + random() % 6,
                k = 1 + random() % 6;
    for (const bool as_bool : {false, true}) {
      const auto array = [&](const Tensor& mask) {
        return MaskArray(as_bool ? astype(mask, DType::kBool) : mask);
      };
      const Tensor two = random_mask(random, {q, k}), three = random_mask(random, {b, q, k}),
                   four = random_mask(random, {b, h, q, k});
      CHECK(values(mask_to_segment_ids(array(two)).q) == slow_planes(two, 1, false));
      CHECK(mask_to_segment_ids(array(two)).kv->shape() == Shape{k});
      CHECK(values(mask_to_segment_ids(array(three), true).kv) == slow_planes(three, 1, true));
      CHECK(mask_to_segment_ids(array(three)).q->shape() == Shape{b, q});
      CHECK(values(mask_to_segment_ids(array(four)).q) == slow_planes(four, h, false));
      CHECK(mask_to_segment_ids(array(four)).kv->shape() == Shape{b, k});
      CHECK(values(mask_to_segment_ids(array(four), true).kv) == slow_planes(four, 1, true));
      CHECK(mask_to_segment_ids(array(four), true).q->shape() == Shape{b, h, q});
    }
  }
}

TEST_CASE("ids of a structured mask of a million tokens need no dense array", "[conversions]") {
  constexpr Index kTokens = 1 << 20, kDocuments = 64;
  Tensor ids(DType::kInt32, {1, kTokens});
  for (Index i = 0; i < kTokens; ++i) {
    ids.as<std::int32_t>()[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(i * kDocuments / kTokens);
  }
  const QkvArrays back = mask_to_segment_ids(segment_ids_to_mask(ids));
  CHECK(values(back.q) == values(ids));
  CHECK(values(back.kv) == values(ids));
}

TEST_CASE("padding ids are 0 for rows and columns that are open in any head", "[conversions]") {
  const Tensor mask = i32({1, 2, 2, 3}, {0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3});
  CHECK(values(attention_mask_to_padding_segment_ids(MaskArray(mask)).q) == Values{-1, 0});
  CHECK(values(attention_mask_to_padding_segment_ids(MaskArray(mask)).kv) == Values{-1, 0, 0});
  Tensor three = mask;
  three.reshape({2, 2, 3});
  const QkvArrays ids = attention_mask_to_padding_segment_ids(MaskArray(three));
  CHECK(ids.kv->shape() == Shape{2, 3});
  CHECK(values(ids.kv) == Values{-1, 0, -1, -1, -1, 0});
}

TEST_CASE("pairs of a mask are computed after its heads are reduced", "[conversions]") {
  const Tensor mask = i32({1, 2, 2, 4}, {0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1});
  const auto pairs = [&](std::string_view reduce) {
    const QkvArrays both = attention_mask_to_qkv_cu_seqlens(MaskArray(mask), reduce);
    Values all = values(both.q);
    const Values kv = values(both.kv);
    all.insert(all.end(), kv.begin(), kv.end());
    return all;
  };
  CHECK(pairs("any") == Values{0, 2, 1, 4});
  CHECK(pairs("all") == Values{0, 1, 2, 3});
  CHECK(pairs("first") == Values{0, 1, 1, 3});
  CHECK(python_error_of([&] { pairs("mean"); }) ==
        "ValueError: reduce_heads must be one of ['any','all','first'], got 'mean'.");
  const Tensor none(DType::kBool, {1, 0, 2, 2});
  CHECK(values(attention_mask_to_qkv_cu_seqlens(MaskArray(none), "all").q) == Values{0, 2});
  CHECK(values(attention_mask_to_qkv_cu_seqlens(MaskArray(none), "any").q) == Values{0, 0});
  CHECK_THROWS_AS(attention_mask_to_qkv_cu_seqlens(MaskArray(none), "first"), PythonError);
}

TEST_CASE("masks of other ranks are refused with ejkernel's message", "[conversions]") {
  const MaskArray one(i32({3}, {1, 0, 1})), five(Tensor(DType::kBool, {1, 1, 1, 1, 1}));
  CHECK(python_error_of([&] { mask_to_segment_ids(one); }) ==
        "ValueError: Invalid mask shape. Expected 2D (Q,K), 3D (batch,Q,K), or 4D "
        "(batch,heads,Q,K) mask, but got 1D mask with shape (3,). Ensure your attention mask has "
        "the correct dimensionality.");
  CHECK(python_error_of([&] { attention_mask_to_padding_segment_ids(five); }) ==
        "ValueError: attention_mask must be 2D, 3D, or 4D, got shape (1, 1, 1, 1, 1)");
  CHECK(python_error_of([&] { attention_mask_to_qkv_cu_seqlens(one); }) ==
        "ValueError: attention_mask must be 2D (batch, seq), 3D (batch, q, kv), or 4D (batch, "
        "heads, q, kv); got shape (3,).");
  CHECK_THROWS_AS(mask_to_segment_ids(MaskArray(Tensor(DType::kBool, {0, 4}))), PythonError);
}

}  // namespace maskctl
