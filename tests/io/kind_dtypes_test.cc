// Every kind of array in every dtype: those that hold its values are read, others refused.
#include <cmath>
#include <string>
#include <vector>

#include "io/mask_files.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

struct KindCase {
  ArrayKind kind;
  std::vector<Index> shape;
  Int64s values;
  bool flags;  // the kind holds only 0 and 1
};

const std::vector<KindCase> kCases = {
    {ArrayKind::kDense,
     {2, 2, 3, 2},
     {1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0, 1},
     true},
    {ArrayKind::kPadding, {2, 4}, {1, 1, 0, 1, 1, 0, 0, 0}, true},
    {ArrayKind::kKeyPadding, {2, 4}, {1, 1, 0, 1, 1, 0, 0, 0}, true},
    {ArrayKind::kSegments, {2, 5}, {0, 0, 1, 1, 7, 3, 3, 0, 3, 3}, false},
    {ArrayKind::kPositions, {2, 5}, {0, 1, 2, 0, 1, 0, 0, 1, 2, 3}, false},
    {ArrayKind::kCuSeqlens, {4}, {0, 3, 3, 7}, false},
    {ArrayKind::kPairs, {4}, {0, 3, 2, 5}, false},
    {ArrayKind::kBlockmap, {1, 2, 2, 2}, {2, 0, 2, 2, 0, 2, 2, 0}, false},
};

MaskReadOptions reading(ArrayKind kind) {
  MaskReadOptions options = as(kind);
  if (kind == ArrayKind::kBlockmap) options.block = BlockSize{2, 3};
  return options;
}

}  // namespace

TEST_CASE(
    "kinds: every dtype that holds the values gives the same mask, and fractions are refused") {
  const Folder folder;
  const std::string path = folder / "a.safetensors";
  for (const auto& [kind, shape, values, flags] : kCases) {
    const Tensor array = int_tensor(shape, values);
    write_array(path, array, {.force = true});
    const Cells expected = cells_of(read_mask(path, reading(kind)).mask);
    for (const DType dtype : all_dtypes()) {
      if (dtype == DType::kBool && !flags) continue;
      CAPTURE(name(kind), name(dtype));
      write_array(path, astype(array, dtype), {.force = true});
      if (kind == ArrayKind::kBlockmap && is_floating(dtype)) {
        CHECK(contains(error_of(path, reading(kind)), "a block map is bool or integers"));
        continue;
      }
      CHECK(cells_of(read_mask(path, reading(kind)).mask) == expected);
    }
    Tensor halves = astype(array, DType::kFloat32);
    for (float& value : halves.as<float>()) value /= 2;
    write_array(path, halves, {.force = true});
    CAPTURE(name(kind));
    CHECK(error_of(path, reading(kind)) != "no error");
  }
}

TEST_CASE("kinds: a bool block map is full where true, and a float bias is closed where -inf") {
  const Folder folder;
  const std::string path = folder / "a.safetensors";
  const Cells map{1, 0, 1, 1};
  write_array(path, bool_tensor({2, 2}, map));
  const Cells blocks = cells_of(read_mask(path, reading(ArrayKind::kBlockmap)).mask);
  REQUIRE(blocks.size() == 24);
  for (std::size_t i = 0; i < blocks.size(); ++i) CHECK(blocks[i] == map[i / 12 * 2 + i % 6 / 3]);
  for (const DType dtype : all_dtypes()) {
    CAPTURE(name(dtype));
    Tensor values(DType::kFloat64, {2, 2});
    for (std::size_t i = 0; i < 4; ++i) values.as<double>()[i] = map[i] != 0 ? 0.0 : -INFINITY;
    if (dtype == DType::kFloat8E4M3) continue;  // float8_e4m3 has no -inf
    if (is_floating(dtype)) {
      write_array(path, astype(values, dtype), {.force = true});
      CHECK(cells_of(read_mask(path, as(ArrayKind::kBias)).mask) == map);
    } else {
      write_array(path, astype(bool_tensor({2, 2}, map), dtype), {.force = true});
      CHECK(contains(error_of(path, as(ArrayKind::kBias)), "a bias is floats"));
    }
  }
}

TEST_CASE("kinds: packed bits must have the dtype uint8") {
  const Folder folder;
  const std::string path = folder / "a.safetensors";
  MaskReadOptions options = as(ArrayKind::kBits);
  options.shape = std::vector<Index>{1, 1, 3, 4};
  for (const DType dtype : all_dtypes()) {
    CAPTURE(name(dtype));
    write_array(path, int_tensor({2}, {1, 1}, dtype), {.force = true});
    CHECK((error_of(path, options) == "no error") == (dtype == DType::kUInt8));
  }
}
