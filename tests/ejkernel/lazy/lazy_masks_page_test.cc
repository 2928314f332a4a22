// Tests every class and function of ejkernel's documentation of lazy masks, in its order.
#include "maskctl/ejkernel/lazy/lazy_mask.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "support/catch_compat.h"
#include "support/twin.h"

using namespace maskctl;
using namespace maskctl::lazy;

namespace {

/// Draws a matrix as one string for each row, '1' for open and '.' for closed cells.
std::vector<std::string> drawn(const Tensor& matrix) {
  std::vector<std::string> out;
  for (Index q = 0; q < matrix.extent(0); ++q) {
    std::string row;
    for (Index k = 0; k < matrix.extent(1); ++k) {
      const auto i = static_cast<std::size_t>(q * matrix.extent(1) + k);
      row += matrix.as<std::uint8_t>()[i] ? '1' : '.';
    }
    out.push_back(row);
  }
  return out;
}

Tensor whole(const MaskPtr& mask) {
  return mask->at(std::vector<Subscript>(mask->shape().size(), Slice{}));
}

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("the page of lazy masks is right about CausalMask(shape, offset, shard_count)",
          "[lazy_masks_page]") {
  REQUIRE(drawn(whole(causal_mask({3, 4}))) == Rows{"1...", "11..", "111."});
  // A positive offset opens more keys to each query; a negative one leaves the first queries
  // without keys.
  REQUIRE(drawn(whole(causal_mask({3, 4}, 1))) == Rows{"11..", "111.", "1111"});
  REQUIRE(drawn(whole(causal_mask({3, 4}, -2))) == Rows{"....", "....", "1..."});
  REQUIRE(drawn(whole(causal_mask({4, 4}, 0, 2))) == drawn(whole(causal_mask({4, 4}))));
}

TEST_CASE("the page of lazy masks is right about ChunkedCausalMask(shape, chunk_size, shard_count)",
          "[lazy_masks_page]") {
  REQUIRE(drawn(whole(chunked_causal_mask({5, 5}, 2))) ==
          Rows{"1....", "11...", "..1..", "..11.", "....1"});
  REQUIRE(chunked_causal_mask({4, 4}, 2, 2)->shape() == std::vector<Index>{4, 4});
}

TEST_CASE("the page of lazy masks is right about FullMask(shape)", "[lazy_masks_page]") {
  const MaskPtr mask = full_mask({2, 3});
  REQUIRE(mask->shape() == std::vector<Index>{2, 3});
  REQUIRE(drawn(whole(mask)) == Rows{"111", "111"});
}

TEST_CASE(
    "the page of lazy masks is right about LocalMask(shape, window_size, offset, shard_count)",
    "[lazy_masks_page]") {
  REQUIRE(drawn(whole(local_mask({4, 4}, {1, 0}, 0))) == Rows{"1...", "11..", ".11.", "..11"});
  // nullopt is Python's None: no limit on that side.
  REQUIRE(drawn(whole(local_mask({3, 4}, {std::nullopt, 1}, 0))) == Rows{"11..", "111.", "1111"});
  REQUIRE(drawn(whole(local_mask({3, 4}, {0, std::nullopt}, 1))) == Rows{".111", "..11", "...1"});
  REQUIRE(drawn(whole(local_mask({2, 2}, {std::nullopt, std::nullopt}, 9))) == Rows{"11", "11"});
  REQUIRE(local_mask({4, 4}, {1, 0}, 0, 2)->is_computable());
}

TEST_CASE("the page of lazy masks is right about LogicalAnd(left, right)", "[lazy_masks_page]") {
  const MaskPtr mask = logical_and(causal_mask({4, 4}), local_mask({4, 4}, {1, 1}, 0));
  REQUIRE(mask->shape() == std::vector<Index>{4, 4});
  REQUIRE(drawn(whole(mask)) == Rows{"1...", "11..", ".11.", "..11"});
}

TEST_CASE("the page of lazy masks is right about LogicalOr(left, right)", "[lazy_masks_page]") {
  const MaskPtr mask = logical_or(chunked_causal_mask({4, 4}, 2), local_mask({4, 4}, {0, 0}, 1));
  REQUIRE(mask->shape() == std::vector<Index>{4, 4});
  REQUIRE(drawn(whole(mask)) == Rows{"11..", "111.", "..11", "..11"});
}

TEST_CASE("the page of lazy masks is right: Mask is the base of all, combined by & and |",
          "[lazy_masks_page]") {
  const MaskPtr a = causal_mask({3, 3}), b = full_mask({3, 3});
  REQUIRE((a & b)->equals(*logical_and(a, b)));
  REQUIRE((a | b)->equals(*logical_or(a, b)));
  REQUIRE_THROWS_AS(a->to_bool(), PythonError);
}

TEST_CASE("the page of lazy masks is right about MultiHeadMask(masks)", "[lazy_masks_page]") {
  const MaskPtr mask = multi_head_mask({causal_mask({2, 2}), full_mask({2, 2})});
  REQUIRE(mask->shape() == std::vector<Index>{2, 2, 2});
  REQUIRE(heads_of(mask).size() == 2);
  const std::vector<Subscript> head{Index{1}, Slice{}, Slice{}};
  REQUIRE(drawn(mask->at(head)) == Rows{"11", "11"});
  REQUIRE(whole(mask).shape() == std::vector<Index>{2, 2, 2});
}

TEST_CASE("the page of lazy masks is right about NumpyMask(array)", "[lazy_masks_page]") {
  Tensor array(DType::kBool, {2, 2});
  array.as<std::uint8_t>()[1] = 1;
  const MaskPtr mask = numpy_mask(array);
  REQUIRE(mask->shape() == std::vector<Index>{2, 2});
  REQUIRE(drawn(whole(mask)) == Rows{".1", ".."});
}

TEST_CASE("the page of lazy masks is right about make_causal_mask(shape, offset)",
          "[lazy_masks_page]") {
  REQUIRE(drawn(make_causal_mask(3, 3)) == Rows{"1..", "11.", "111"});
  REQUIRE(drawn(make_causal_mask(3, 3, -1)) == Rows{"...", "1..", "11."});
}

TEST_CASE("the page of lazy masks is right about make_chunk_attention_mask(shape, chunk_size)",
          "[lazy_masks_page]") {
  REQUIRE(drawn(make_chunk_attention_mask(4, 4, 3)) == Rows{"1...", "11..", "111.", "...1"});
  REQUIRE_THROWS_AS(make_chunk_attention_mask(4, 4, 0), PythonError);
}

TEST_CASE(
    "the page of lazy masks is right about make_local_attention_mask(shape, window_size, offset)",
    "[lazy_masks_page]") {
  REQUIRE(drawn(make_local_attention_mask(3, 3, {0, 1})) == Rows{"11.", ".11", "..1"});
  REQUIRE(drawn(make_local_attention_mask(3, 3, {0, 1}, 1)) == Rows{".11", "..1", "..."});
}

TEST_CASE("the page of lazy masks is right about make_random_mask(shape, sparsity, seed)",
          "[lazy_masks_page]") {
  // The values are those of numpy.random.seed(0); numpy.random.binomial(n=1, p=0.5, size=(2, 5)).
  REQUIRE(drawn(make_random_mask(2, 5, 0.5, 0)) == Rows{"1111.", "1.11."});
  REQUIRE(drawn(make_random_mask(1, 3, 1.0, 5)) == Rows{"..."});
  REQUIRE(drawn(make_random_mask(1, 3, 0.0, 5)) == Rows{"111"});
}
