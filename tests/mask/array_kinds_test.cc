// Masks of bits, biases, block maps and position ids, against plain loops.
#include "maskctl/mask/arrays/array_kinds.h"

#include <cmath>
#include <random>

#include "maskctl/mask/arrays/bias.h"
#include "maskctl/mask/arrays/bits.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/tensor/convert.h"
#include "support/catch_compat.h"
#include "support/error_of.h"
#include "support/twin.h"

using namespace maskctl;
using maskctl::test::error_of;
using twin::Dense;

namespace {

using Shape = std::vector<Index>;

Dense random_dense(const Shape& shape, unsigned seed) {
  std::mt19937 random(seed);
  return twin::make(shape[0], shape[1], shape[2], shape[3],
                    [&](Index, Index, Index, Index) { return random() % 3 == 0; });
}

std::vector<std::uint8_t> packed(const Dense& dense) {
  std::vector<std::uint8_t> out((dense.cells.size() + 7) / 8);
  for (std::size_t i = 0; i < dense.cells.size(); ++i) {
    out[i / 8] = static_cast<std::uint8_t>(out[i / 8] | dense.cells[i] << (i % 8));
  }
  return out;
}

Tensor ints(Shape shape, const std::vector<std::int64_t>& values, DType dtype = DType::kInt64) {
  Tensor out(DType::kInt64, std::move(shape));
  std::copy(values.begin(), values.end(), out.as<std::int64_t>().begin());
  return astype(out, dtype);
}

}  // namespace

TEST_CASE("bits: packing and unpacking equals plain loops at any alignment") {
  const Shape shape = GENERATE(Shape{1, 1, 1, 1}, Shape{3, 2, 1, 1}, Shape{1, 1, 5, 7},
                               Shape{2, 3, 5, 13}, Shape{2, 1, 65, 64}, Shape{1, 2, 3, 200},
                               Shape{7, 1, 1, 3}, Shape{1, 1, 300, 129}, Shape{2, 2, 64, 128});
  CAPTURE(shape);
  const Dense dense = random_dense(shape, 3);
  const std::vector<std::uint8_t> expected = packed(dense);
  for (const bool stored : {true, false}) {  // a mask stored as words, or as runs
    const Mask mask = stored ? mask_from_dense(dense_from_mask(twin::mask_of(dense), 1 << 20))
                             : twin::mask_of(dense);
    const Tensor bits = bits_from_mask(mask, 1 << 20);
    CHECK(std::ranges::equal(bits.as<std::uint8_t>(), expected));
    CHECK(twin::dense_of(mask_from_bits(bits.bytes(), shape)) == dense);
  }
}

TEST_CASE("bits: a large mask that is packed in parts equals its twin") {
  const Index keys = GENERATE(4099, 8192);
  const Dense dense = random_dense({2, 1, 2500, keys}, 5);
  const Tensor bits = bits_from_mask(twin::mask_of(dense), 1 << 24);
  CHECK(std::ranges::equal(bits.as<std::uint8_t>(), packed(dense)));
  CHECK(twin::dense_of(mask_from_bits(bits.bytes(), Shape{2, 1, 2500, keys})) == dense);
}

TEST_CASE("bits: empty masks have no bytes, and wrong sizes are refused") {
  for (const Shape& shape : {Shape{0, 1, 2, 2}, Shape{1, 1, 0, 3}, Shape{1, 1, 3, 0}}) {
    const Mask mask = Mask::make(shape[0], shape[1], shape[2], shape[3],
                                 [&](Index, Index) { return empty_plane(shape[2], shape[3]); });
    CHECK(bits_from_mask(mask, 100).elements() == 0);
    CHECK(mask_from_bits({}, shape).cells() == 0);
  }
  const std::vector<std::byte> two(2, std::byte{0xff});
  CHECK(error_of([&] {
          mask_from_bits(two, Shape{1, 1, 3, 3});
        }) ==
        "the 7 spare bits of the last byte are not zero; the mask has another shape than "
        "(1, 1, 3, 3)");
  CHECK(error_of([&] {
          mask_from_bits(two, Shape{1, 1, 5, 5});
        }) == "2 bytes of bits; the shape (1, 1, 5, 5) takes 4");
  CHECK_THROWS_AS(mask_from_bits({}, (Shape{Index{1} << 40, 1, 0, 3})), Error);
  CHECK_THROWS_AS(mask_from_bits(two, (Shape{1, 1, Index{1} << 40, Index{1} << 40})), Error);
  CHECK_THROWS_AS(bits_from_mask(Mask(full_plane(100, 100)), 1000), Error);
}

TEST_CASE("bias: packing equals plain loops for each dtype, fill and length") {
  const DType dtype = GENERATE(DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64,
                               DType::kFloat8E5M2);
  const BiasFill fill = GENERATE(BiasFill::kInf, BiasFill::kMin);
  const Index n = GENERATE(0, 1, 63, 64, 65, 5000);
  CAPTURE(name(dtype), static_cast<int>(fill), n);
  std::mt19937 random(1);
  std::vector<std::uint8_t> open(static_cast<std::size_t>(n));
  for (auto& cell : open) cell = random() % 2;
  Tensor bias(dtype, {n});
  expand_bias(dtype, open, bias.bytes(), fill);
  const Tensor numbers = astype(bias, DType::kFloat64);
  for (Index i = 0; i < n; ++i) {
    const double closed = fill == BiasFill::kInf ? -INFINITY : -largest_number(dtype);
    REQUIRE(numbers.as<double>()[static_cast<std::size_t>(i)] ==
            (open[static_cast<std::size_t>(i)] ? 0.0 : closed));
  }
  std::vector<std::uint64_t> words(static_cast<std::size_t>((n + 63) / 64), ~std::uint64_t{0});
  BiasSeen seen;
  REQUIRE(pack_bias({dtype}, bias.bytes(), words, seen));
  bool any_closed = false;
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    REQUIRE((words[at / 64] >> (at % 64) & 1) == open[at]);
    any_closed |= open[at] == 0;
  }
  if (n % 64 != 0) CHECK(words.back() >> (n % 64) == 0);
  CHECK(seen.inf == (any_closed && fill == BiasFill::kInf));
  CHECK(seen.min == (any_closed && fill == BiasFill::kMin));
  CHECK_FALSE(first_not_bias({dtype}, bias.bytes()));
}

TEST_CASE("bias: the first number that is neither open nor closed is found; minus zero is open") {
  const DType dtype = GENERATE(DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64);
  Tensor numbers(DType::kFloat64, {70});
  numbers.as<double>()[0] = -0.0;
  numbers.as<double>()[66] = GENERATE(1.0, -1.0, INFINITY, NAN, -32000.0, 40000.0);
  const Tensor bias = astype(numbers, dtype);
  std::vector<std::uint64_t> words(2);
  BiasSeen seen;
  CHECK_FALSE(pack_bias({dtype}, bias.bytes(), words, seen));
  CHECK((words[0] & 1) == 1);
  CHECK(first_not_bias({dtype}, bias.bytes()) == 66);
}

TEST_CASE("bias: 8-bit floats are closed by the same numbers as others") {
  for (const DType dtype : {DType::kFloat8E4M3, DType::kFloat8E5M2}) {
    for (const std::optional<double> limit :
         {std::optional<double>(), std::optional(-1.0), std::optional(-100.0),
          std::optional(-448.0), std::optional(-1e4), std::optional(-60000.0)}) {
      for (std::uint64_t bits = 0; bits < 256; ++bits) {
        CAPTURE(name(dtype), limit.value_or(0), bits);
        const double value = number_from_bits(dtype, bits);
        const bool penalty = value == number_from_bits(dtype, float_bits(dtype, -1e4));
        const bool closed = limit ? value <= *limit : value <= kAlwaysCloses || penalty;
        const bool open = !closed && (limit ? std::isfinite(value) : value == 0);
        Tensor one(dtype, {1});
        one.bytes()[0] = static_cast<std::byte>(bits);
        std::vector<std::uint64_t> words(1);
        BiasSeen seen;
        REQUIRE(pack_bias({dtype, limit}, one.bytes(), words, seen) == (open || closed));
        REQUIRE(words[0] == open);
        REQUIRE(seen.inf == (closed && std::isinf(value)));
        REQUIRE((!seen.min || (seen.nearest == value && seen.farthest == value)));
      }
    }
  }
}

TEST_CASE("bias: numbers that other programs write for closed cells are closed, and named") {
  struct Written {
    double number;
    DType of, held;  // the number is rounded to `of`, then saved as `held`
    std::string name;
  };
  const Written all[] = {
      {-65504.0, DType::kFloat16, DType::kFloat32, "the minimum of float16"},
      {-0x1.fep127, DType::kBFloat16, DType::kFloat32, "the minimum of bfloat16"},
      {-0x1.fep127, DType::kBFloat16, DType::kFloat64, "the minimum of bfloat16"},
      {-0x1.fffffep127, DType::kFloat32, DType::kFloat64, "the minimum of float32"},
      {-2.3819763e38, DType::kFloat32, DType::kFloat32, "0.7 of the minimum of float32"},
      {-2.3819763e38, DType::kBFloat16, DType::kFloat32, "0.7 of the minimum of float32"},
      {-1e9, DType::kFloat32, DType::kFloat32, "-1e9"},
      {-1e9, DType::kBFloat16, DType::kFloat32, "-1e9"},
      {-1e4, DType::kFloat16, DType::kFloat16, "-1e4"},
      {-1e4, DType::kBFloat16, DType::kBFloat16, "-1e4"},
      {-1e4, DType::kBFloat16, DType::kFloat32, "-1e4"},
      {-1e4, DType::kFloat32, DType::kFloat64, "-1e4"},
  };
  for (const Written& written : all) {
    CAPTURE(written.number, name(written.of), name(written.held));
    Tensor numbers(DType::kFloat64, {100});
    numbers.as<double>()[7] = numbers.as<double>()[99] = written.number;
    const Tensor bias = astype(astype(numbers, written.of), written.held);
    std::vector<std::uint64_t> words(2);
    BiasSeen seen;
    REQUIRE(pack_bias({written.held}, bias.bytes(), words, seen));
    CHECK(words[0] == ~(std::uint64_t{1} << 7));
    CHECK(words[1] == (std::uint64_t{1} << 35) - 1);
    CHECK_FALSE(seen.is_mixed());
    const std::string text = closed_by(seen, written.held);
    CAPTURE(text);
    CHECK(text.find("(" + written.name) != std::string::npos);
  }
}

TEST_CASE("bias: -1e4 beside lower numbers is a penalty, unless a limit says that it closes") {
  Tensor numbers(DType::kFloat32, {5});
  const auto values = numbers.as<float>();
  values[1] = -10000;
  values[2] = -1e9F;
  std::vector<std::uint64_t> words(1);
  BiasSeen seen;
  CHECK(pack_bias({DType::kFloat32}, numbers.bytes(), words, seen));
  CHECK(seen.is_mixed());
  values[3] = 2.5F;
  seen = {};
  CHECK(pack_bias({DType::kFloat32, -20000.0}, numbers.bytes(), words, seen));
  CHECK(words[0] == 0b11011);
  CHECK(seen.nearest == -1e9);
  CHECK(pack_bias({DType::kFloat32, -10000.0}, numbers.bytes(), words, seen));
  CHECK(words[0] == 0b11001);
  values[4] = NAN;
  CHECK_FALSE(pack_bias({DType::kFloat32, -10000.0}, numbers.bytes(), words, seen));
  CHECK(first_not_bias({DType::kFloat32, -10000.0}, numbers.bytes()) == 4);
}

TEST_CASE("token flags are read from axes of extent 1 and from additive floats") {
  Tensor bias(DType::kFloat32, {2, 1, 1, 3});
  bias.as<float>()[2] = -10000;
  bias.as<float>()[4] = -10000;
  const Tensor flags = token_flags(bias);
  REQUIRE(flags.dtype() == DType::kBool);
  REQUIRE(flags.shape() == Shape{2, 3});
  const auto open = flags.as<std::uint8_t>();
  CHECK(std::vector<int>(open.begin(), open.end()) == std::vector<int>{1, 1, 0, 1, 0, 1});
  bias.as<float>()[4] = -3;  // -3 is no additive mask: flags stay floats
  CHECK(token_flags(bias).dtype() == DType::kFloat32);
  CHECK(token_flags(Tensor(DType::kInt64, {2, 1, 4})).shape() == Shape{2, 4});
  CHECK(token_flags(Tensor(DType::kInt64, {2, 3, 4})).shape() == Shape{2, 3, 4});
}

TEST_CASE("positions: a document starts wherever the count does not increase by 1") {
  const auto documents = [](const std::vector<std::int64_t>& positions) {
    const Tensor ids = documents_from_positions(ints({std::ssize(positions)}, positions));
    const auto all = ids.as<std::int32_t>();
    return std::vector<std::int32_t>(all.begin(), all.end());
  };
  using Ids = std::vector<std::int32_t>;
  CHECK(documents({0, 1, 2, 0, 1}) == Ids{0, 0, 0, 1, 1});
  CHECK(documents({0, 0, 0}) == Ids{0, 1, 2});
  CHECK(documents({5, 6, 0, 1}) == Ids{0, 0, 1, 1});
  CHECK(documents({0, 1, 7, 8}) == Ids{0, 0, 1, 1});
  CHECK(documents({-1, 0, 1, -1, -1, 0}) == Ids{-1, 0, 0, -1, -1, 1});
  CHECK(documents({}).empty());
  // Equal positions above 0 at an end are padding, as transformers fills in 1.
  CHECK(documents({0, 1, 2, 1, 1}) == Ids{0, 0, 0, -1, -1});
  CHECK(documents({0, 1, 2, 1}) == Ids{0, 0, 0, -1});
  CHECK(documents({1, 1, 0, 1, 2}) == Ids{-1, -1, 0, 0, 0});
  CHECK(documents({1, 0, 1}) == Ids{-1, 0, 0});
  CHECK(documents({0, 1, 1, 1}) == Ids{0, 0, -1, -1});
  CHECK(documents({1, 1, 1}) == Ids{-1, -1, -1});
  CHECK(documents({5, 5, 6, 7}) == Ids{0, 1, 1, 1});
  CHECK(documents({0, 1, 2, 2, 2}) == Ids{0, 0, 0, 1, 2});
  CHECK(documents({1}) == Ids{0});
  CHECK(documents({0, 1}) == Ids{0, 0});
  const Tensor two = documents_from_positions(ints({2, 3}, {0, 1, 0, 1, 2, 3}, DType::kInt16));
  CHECK(two.shape() == Shape{2, 3});
  CHECK(std::ranges::equal(two.as<std::int32_t>(), Ids{0, 0, 1, 0, 0, 0}));
  CHECK_THROWS_AS(documents_from_positions(ints({1, 1, 1}, {0})), Error);
}

TEST_CASE("block maps: full blocks are open, and blocks at the edge are cut") {
  const Tensor map = ints({2, 1, 2, 3}, {0, 2, 0, 2, 0, 2, 2, 2, 2, 0, 0, 0}, DType::kUInt8);
  const Mask whole = mask_from_blockmap(map, 2, 3);
  const Dense expected = twin::make(2, 1, 4, 9, [&](Index b, Index, Index i, Index j) {
    return map.as<std::uint8_t>()[static_cast<std::size_t>((b * 2 + i / 2) * 3 + j / 3)] == 2;
  });
  CHECK(twin::dense_of(whole) == expected);
  CHECK(twin::dense_of(mask_from_blockmap(map, 2, 3, 3, 8)) ==
        twin::sliced(expected, {0, 2}, {0, 1}, {0, 3}, {0, 8}));
  CHECK(twin::dense_of(mask_from_blockmap(astype(map, DType::kBool), 2, 3)) == expected);
  CHECK(mask_from_blockmap(ints({1, 0}, {}), 4, 4, 3, 0).cells() == 0);
  CHECK_THROWS_AS(mask_from_blockmap(map, 2, 3, 5, 9), Error);
  CHECK_THROWS_AS(mask_from_blockmap(map, 0, 3), Error);
  CHECK_THROWS_AS(mask_from_blockmap(map, Index{1} << 62, 3), Error);
  CHECK_THROWS_AS(mask_from_blockmap(astype(map, DType::kFloat32), 2, 3), Error);
  CHECK(error_of([] {
          mask_from_blockmap(ints({2, 2}, {0, 2, 1, 0}), 8, 8);
        }) ==
        "block (1, 0) is 1 (partial), and a block map does not say which of its cells are open; "
        "give a bool map if 1 means that all are open");
  CHECK(error_of([] {
          mask_from_blockmap(ints({1, 2}, {0, 3}), 8, 8);
        }) == "block (0, 1) is 3; expected 0 (empty), 1 (partial) or 2 (full)");
}
