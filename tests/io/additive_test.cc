// Additive masks and padding, read from files as other stacks save them.
#include <cmath>
#include <limits>

#include "io/mask_files.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

/// An additive causal mask [B,H,Q,K]: `closed` where it is closed, else 0.
Tensor causal(DType dtype, std::vector<Index> shape, double closed) {
  Tensor out(DType::kFloat64, shape);
  const auto values = out.as<double>();
  const Index keys = shape.back();
  const Index queries = shape[shape.size() - 2];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Index at = static_cast<Index>(i);
    if (at % keys > at / keys % queries) values[i] = closed;
  }
  return astype(out, dtype);
}

}  // namespace

TEST_CASE("additive: floats that are 0 or negative are read as a bias, from files and pipes") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  const Cells expected =
      cells_of(mask_from_dense(bool_tensor({3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1})));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    for (const double closed : {static_cast<double>(-INFINITY), -65504.0, -40000.0, -1e4}) {
      CAPTURE(name(dtype), closed);
      write_array(path, causal(dtype, {1, 1, 3, 3}, closed), {.force = true});
      const LoadedMask read = read_mask(path);
      CHECK(read.kind == ArrayKind::kBias);
      CHECK(cells_of(read.mask) == expected);
      CHECK(read.bias_seen.inf == std::isinf(closed));
      const Fifo pipe(folder, path);
      CHECK(cells_of(read_mask(pipe.path).mask) == expected);
    }
  }
  // A first row that is all open does not hide the values of the rows after it.
  write_array(path, causal(DType::kFloat32, {1, 1, 300, 300}, -1e9), {.force = true});
  MaskReadOptions turned;
  CHECK(read_mask(path).kind == ArrayKind::kBias);
  turned.keep_value_is_zero = true;
  CHECK(contains(error_of(path, turned), "values other than 0 and 1"));
}

TEST_CASE("additive: all zeros are an open bias; the error about another number gives its place") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  write_array(path, Tensor(DType::kFloat32, {4, 4}), {.force = true});
  const LoadedMask zeros = read_mask(path);
  CHECK(zeros.kind == ArrayKind::kBias);
  CHECK(zeros.mask.count() == 16);
  REQUIRE(zeros.notes.size() == 1);
  CHECK(contains(zeros.notes[0], "as a 0/1 mask, of the kind dense, they are closed everywhere"));
  CHECK(read_mask(path, as(ArrayKind::kDense)).notes.empty());
  CHECK(read_mask(path, as(ArrayKind::kDense)).mask.count() == 0);
  Tensor alibi(DType::kFloat32, {1, 1, 2, 2});
  alibi.as<float>()[1] = -INFINITY;
  alibi.as<float>()[2] = -0.25F;
  write_array(path, alibi, {.force = true});
  CHECK(contains(error_of(path), "the first is -0.25 at (0, 0, 1, 0)"));
  CHECK(offers(Remedy::kSetClosedBelow, [&] { read_mask(path); }));
  MaskReadOptions options;
  options.closed_below = -1e4;
  CHECK(cells_of(read_mask(path, options).mask) == Cells{1, 0, 1, 1});
  options.as = ArrayKind::kSegments;
  CHECK(contains(error_of(path, options), "numbers that close are for biases"));
}

TEST_CASE("additive: untyped elements of two bytes are read as bfloat16 in every kind") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  Tensor ones(DType::kFloat32, {2, 3});
  for (float& value : ones.as<float>()) value = 1;
  ones.as<float>()[2] = 0;
  write_array(path, astype(ones, DType::kBFloat16));  // saved as |V2, like bfloat16 in numpy
  CHECK(cells_of(read_mask(path, as(ArrayKind::kDense)).mask) == Cells{1, 1, 0, 1, 1, 1});
  CHECK(cells_of(read_mask(path, as(ArrayKind::kKeyPadding)).mask).size() == 2 * 3 * 3);
  write_array(path, causal(DType::kBFloat16, {2, 3}, std::numeric_limits<float>::lowest()),
              {.force = true});
  CHECK(cells_of(read_mask(path, as(ArrayKind::kBias)).mask) == Cells{1, 0, 0, 1, 1, 0});
}

TEST_CASE("additive: a mask of shape [B,1,1,K] is a key padding, or one query for all") {
  const Folder folder;
  const std::string path = folder / "m.npy";
  Tensor bert(DType::kFloat32, {2, 1, 1, 3});
  bert.as<float>()[5] = -10000;
  write_array(path, bert, {.force = true});
  const Cells keys{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0};
  CHECK(cells_of(read_mask(path, as(ArrayKind::kKeyPadding)).mask) == keys);
  MaskReadOptions options;
  options.shape = std::vector<Index>{2, 1, 3, 3};
  CHECK(cells_of(read_mask(path, options).mask) == keys);
  options.as = ArrayKind::kKeyPadding;
  options.shape = std::vector<Index>{2, 4, 3, 3};
  CHECK(read_mask(path, options).mask.heads() == 4);
  CHECK(cells_of(read_mask(path, as(ArrayKind::kPadding)).mask) ==
        Cells{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0});
  options.keep_value_is_zero = true;
  CHECK(offers(Remedy::kReadZeroAsClosed, [&] { read_mask(path, options); }));
  Tensor penalty(DType::kFloat32, {2, 1, 1, 3});
  penalty.as<float>()[5] = -3;
  write_array(path, penalty, {.force = true});
  CHECK(contains(error_of(path, as(ArrayKind::kKeyPadding)), "the first is -3"));
}
