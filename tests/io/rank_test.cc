// A mask is written with as many axes as the array that it was read from had.
#include "io/mask_files.h"
#include "maskctl/base/checked.h"
#include "support/catch_compat.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

using Shape = std::vector<Index>;

const std::vector<std::string> kFiles = {"m.npy", "m.npz:m", "m.safetensors:m", "m.h5:/m"};

/// An array of ones as cells or blocks, of ids of one document, or of zeros as a bias: all open.
Tensor ones(ArrayKind kind, const Shape& shape) {
  Tensor cells = bool_tensor(shape, Cells(static_cast<std::size_t>(*checked_product(shape)), 1));
  if (kind == ArrayKind::kSegments) return astype(cells, DType::kInt32);
  return kind == ArrayKind::kBias ? Tensor(DType::kFloat32, shape) : cells;
}

/// The shape of an array that is read as a mask and written again.
Shape shape_after(ArrayKind kind, const Shape& shape, const std::string& file) {
  const Folder folder;
  write_array(folder / file, ones(kind, shape));
  MaskReadOptions reading = as(kind);
  MaskWriteOptions writing;
  if (kind == ArrayKind::kBlockmap) reading.block = writing.block = BlockSize{2, 3};
  const LoadedMask loaded = read_mask(folder / file, reading);
  writing.kind = kind;
  writing.rank = loaded.rank;
  writing.force = true;
  write_mask(folder / file, loaded.mask, writing);
  return read_array(folder / file).shape();
}

Shape shape_written(const Mask& mask, Index rank) {
  const Folder folder;
  MaskWriteOptions options;
  options.rank = rank;
  write_mask(folder / "m.npy", mask, options);
  return read_array(folder / "m.npy").shape();
}

}  // namespace

TEST_CASE("rank: arrays are written in the shape in which they were read, in every format") {
  const std::string file = GENERATE(from_range(kFiles));
  const ArrayKind kind = GENERATE(ArrayKind::kDense, ArrayKind::kBias, ArrayKind::kBlockmap);
  const Shape shape = GENERATE(Shape{4, 6}, Shape{1, 4, 6}, Shape{2, 4, 6}, Shape{1, 1, 4, 6},
                               Shape{2, 1, 4, 6}, Shape{2, 3, 4, 6});
  CAPTURE(file, name(kind), shape);
  CHECK(shape_after(kind, shape, file) == shape);
}

TEST_CASE("rank: ids and padding are written with a batch axis only if they were read with one") {
  const std::string file = GENERATE(from_range(kFiles));
  const ArrayKind kind =
      GENERATE(ArrayKind::kSegments, ArrayKind::kPadding, ArrayKind::kKeyPadding);
  const Shape shape = GENERATE(Shape{6}, Shape{1, 6}, Shape{2, 6});
  CAPTURE(file, name(kind), shape);
  CHECK(shape_after(kind, shape, file) == shape);
}

TEST_CASE("rank: a result that does not fit the number of axes is written with all axes") {
  const auto mask = [](Index batch, Index heads) {
    const Mask one = mask_from_dense(ones(ArrayKind::kDense, {4, 6}));
    return Mask::make(batch, heads, 4, 6, [&](Index, Index) { return one.plane(0, 0); });
  };
  for (const Index rank : {1, 2}) {
    CHECK(shape_written(mask(1, 1), rank) == Shape{4, 6});
    CHECK(shape_written(mask(2, 1), rank) == Shape{2, 1, 4, 6});
    CHECK(shape_written(mask(1, 3), rank) == Shape{1, 3, 4, 6});
  }
  CHECK(shape_written(mask(1, 1), 3) == Shape{1, 4, 6});
  CHECK(shape_written(mask(2, 3), 3) == Shape{2, 3, 4, 6});
  CHECK(shape_written(mask(1, 1), 4) == Shape{1, 1, 4, 6});
}

TEST_CASE("rank: a mask that is read from lengths is written with all axes") {
  const Folder folder;
  Tensor lengths(DType::kInt32, {3});
  std::ranges::copy(std::vector<std::int32_t>{0, 2, 5}, lengths.as<std::int32_t>().begin());
  write_array(folder / "cu.npy", lengths);
  CHECK(read_mask(folder / "cu.npy", as(ArrayKind::kCuSeqlens)).rank == 4);
}
