// Masks written as every kind of array in every format, read back, and compared with dense arrays.
#include <algorithm>
#include <cmath>

#include "io/mask_files.h"
#include "maskctl/mask/planes/bands.h"
#include "support/catch_compat.h"
#include "support/twin.h"

using namespace maskctl;
using namespace maskctl::test;

namespace {

const std::vector<ArrayKind> kWritable = [] {
  std::vector<ArrayKind> out;
  std::ranges::copy_if(all_kinds(), std::back_inserter(out), is_writable);
  return out;
}();

constexpr BlockSize kBlock{2, 3};

MaskWriteOptions writing(ArrayKind kind) {
  MaskWriteOptions options;
  options.kind = kind;
  if (kind == ArrayKind::kBlockmap) {
    options.block = kBlock;
    options.dtype = DType::kBool;  // no partial blocks: these cannot be read
  }
  if (lists_blocks(kind)) options.block = kBlock;
  return options;
}

/// True for the kinds whose masks have as many keys as queries.
bool is_square(ArrayKind kind) {
  return kind == ArrayKind::kPadding || kind == ArrayKind::kFlashmaskCausal ||
         kind == ArrayKind::kTreeBits;
}

std::vector<Index> shape_of(const Mask& mask) {
  return {mask.batch(), mask.heads(), mask.queries(), mask.keys()};
}

// The options for reading a kind: what its arrays do not say, such as the shape.
MaskReadOptions reading(ArrayKind kind, const Mask& mask) {
  MaskReadOptions options = as(kind);
  options.shape = shape_of(mask);
  if (kind == ArrayKind::kBlockmap) options.block = kBlock;
  return options;
}

Mask in_full(const Mask& mask, const Mask& like) {
  return Mask::make(like.batch(), like.heads(), like.queries(), like.keys(),
                    [&](Index b, Index h) { return mask.plane(b, h); });
}

Index differing(const Mask& a, const Mask& b) {
  const Cells left = cells_of(a);
  const Cells right = cells_of(b);
  REQUIRE(left.size() == right.size());
  Index count = 0;
  for (std::size_t i = 0; i < left.size(); ++i) count += left[i] != right[i];
  return count;
}

Mask documents(std::vector<std::int64_t> q, std::vector<std::int64_t> kv) {
  const auto n = [](const auto& ids) { return static_cast<Index>(ids.size()); };
  return mask_from_segments(int_tensor({1, n(q)}, q), int_tensor({1, n(kv)}, kv), -1);
}

struct Sample {
  std::string name;
  Mask mask;
};

std::vector<Sample> samples() {
  const auto random = [](std::vector<Index> shape, unsigned seed, double density) {
    const Index n = shape[0] * shape[1] * shape[2] * shape[3];
    return mask_from_dense(bool_tensor(shape, random_cells(n, seed, density)));
  };
  std::vector<Sample> out = {
      {"causal", Mask(diagonal_band(7, 7, -kUnbounded, 0))},
      {"documents", documents({0, 0, 0, 1, 1, 2}, {0, 0, 0, 1, 1, 2})},
      {"documents with padding", documents({0, 0, 1, 1, -1, -1}, {0, 0, 1, 1, -1, -1})},
      {"padding in the middle", documents({0, 0, -1, 1, 1}, {0, 0, -1, 1, 1})},
      {"cross documents", documents({0, 0, 1, 2}, {0, 1, 1, 1, 2, 2})},
      {"swapped documents", documents({0, 0, 1, 1}, {1, 1, 0, 0})},
      {"interleaved", documents({0, 1, 0, 1, 0}, {0, 1, 0, 1, 0})},
      {"full", Mask(full_plane(4, 6))},
      {"empty", Mask(empty_plane(4, 4))},
      {"no keys", Mask(empty_plane(3, 0))},
      {"nothing", Mask(empty_plane(0, 0))},
      {"random", random({1, 1, 6, 6}, 1, 0.5)},
      {"random cross", random({1, 1, 4, 7}, 2, 0.3)},
      {"heads", random({2, 3, 5, 5}, 3, 0.2)},
      {"batches", random({3, 1, 4, 4}, 4, 0.1)},
  };
  out.push_back(
      {"equal heads", in_full(documents({0, 0, 1}, {0, 0, 1}), random({1, 4, 3, 3}, 1, 0))});
  return out;
}

std::string suffix_for(const ConvertedMask& converted, std::string wanted) {
  return converted.arrays.size() > 1 && wanted == ".npy" ? ".npz" : wanted;
}

}  // namespace

TEST_CASE("convert: a written array is read back as the promised mask, in every format") {
  const Folder folder;
  const std::string format = GENERATE(".npy", ".npz", ".safetensors", ".npz:group/x");
  int written = 0;
  for (const auto& [name, mask] : samples()) {
    for (const ArrayKind kind : kWritable) {
      CAPTURE(format, name, maskctl::name(kind));
      if (is_square(kind) && mask.queries() != mask.keys()) continue;
      if (kind == ArrayKind::kCuSeqlens && mask.batch() > 1)
        continue;  // batches become one row: tests/mask/varlen_test.cc
      const MaskWriteOptions options = writing(kind);
      const ConvertedMask converted = convert_mask(mask, options);
      REQUIRE(converted.changed == differing(mask, in_full(converted.mask, mask)));
      const std::string path =
          folder / ("m" + std::to_string(written++) + suffix_for(converted, format));
      write_mask(path, converted, options);
      const LoadedMask back = read_mask(path, reading(kind, mask));
      REQUIRE(differing(back.mask, in_full(converted.mask, mask)) == 0);
    }
  }
  CHECK(written > 100);
}

TEST_CASE("convert: arrays in memory equal those of a file, and are read as the same mask") {
  const Folder folder;
  for (const auto& [name, mask] : samples()) {
    for (const ArrayKind kind : kWritable) {
      CAPTURE(name, maskctl::name(kind));
      if (is_square(kind) && mask.queries() != mask.keys()) continue;
      if (kind == ArrayKind::kCuSeqlens && mask.batch() > 1) continue;
      MaskWriteOptions options = writing(kind);
      options.force = true;
      const ConvertedMask converted = convert_mask(mask, options);
      const std::vector<NamedTensor> arrays = mask_arrays(converted, options);
      std::vector<NamedView> views;
      for (const NamedTensor& array : arrays) views.push_back({array.name, array.tensor});
      views.resize(views.size() - converted.beside.size());
      const LoadedMask back = read_mask("m", views, reading(kind, mask));
      REQUIRE(differing(back.mask, in_full(converted.mask, mask)) == 0);
      write_mask(folder / "m.npz", converted, options);
      for (const NamedTensor& array : arrays) {
        const std::string key = arrays.size() == 1 ? "arr_0" : array.name;
        const Tensor stored = read_array((folder / "m.npz") + ":" + key);
        REQUIRE(stored.shape() == array.tensor.shape());
        REQUIRE(std::ranges::equal(stored.bytes(), array.tensor.bytes()));
      }
    }
  }
}

TEST_CASE("arrays in memory keep to the limit, and errors name an object that is no array") {
  MaskWriteOptions options = writing(ArrayKind::kDense);
  options.max_bytes = 99;
  const Mask mask(full_plane(10, 10));
  CHECK(contains(error_of([&] { mask_arrays(convert_mask(mask, options), options); }),
                 "the array (1, 1, 10, 10) of bool exceeds the limit of 99 bytes"));
  const Tensor flags = bool_tensor({4}, {1, 1, 0, 0});
  const NamedView view{"", flags};
  CHECK(contains(error_of([&] {
                   read_mask("x", {&view, 1});
                 }),
                 "x: (4,) of bool fits several kinds"));
  const TensorView far(flags.bytes().data(), flags.dtype(), flags.shape(),
                       {MemorySpace::kDevice, 0});
  const NamedView on_device{"", far};
  CHECK(contains(error_of([&] { read_mask("x", {&on_device, 1}); }), "x: memory of a device"));
}

TEST_CASE("convert: every kind is converted to every other kind") {
  const Folder folder;
  for (const ArrayKind from : kWritable) {
    for (const ArrayKind to : kWritable) {
      for (const auto& [name, mask] : samples()) {
        CAPTURE(maskctl::name(from), maskctl::name(to), name);
        const bool square = mask.queries() == mask.keys();
        if (!square && (is_square(from) || is_square(to))) continue;
        if (from == ArrayKind::kCuSeqlens && mask.batch() > 1) continue;
        const std::string first = folder / "first.npz";
        MaskWriteOptions options = writing(from);
        options.force = true;
        write_mask(first, mask, options);
        const Mask middle = read_mask(first, reading(from, mask)).mask;
        const ConvertedMask converted = convert_mask(middle, writing(to));
        REQUIRE(converted.changed == differing(middle, in_full(converted.mask, mask)));
        if (from == to) REQUIRE(converted.changed == 0);
      }
    }
  }
}

TEST_CASE("convert: kinds that can hold any mask lose no cell") {
  for (const auto& [name, mask] : samples()) {
    for (const ArrayKind kind :
         {ArrayKind::kDense, ArrayKind::kBias, ArrayKind::kBits, ArrayKind::kRuns}) {
      CAPTURE(name, maskctl::name(kind));
      CHECK(convert_mask(mask, writing(kind)).changed == 0);
    }
  }
}

TEST_CASE("convert: polarity, pad id, fill and dtype are used for the written file") {
  const Folder folder;
  const Mask mask = documents({0, 0, 1, -1}, {0, 0, 1, -1});
  MaskWriteOptions options;
  options.keep_value_is_zero = true;
  options.dtype = DType::kInt32;
  write_mask(folder / "d.npy", mask, options);
  const Tensor dense = read_array(folder / "d.npy");
  CHECK(dense.dtype() == DType::kInt32);
  CHECK(dense.as<std::int32_t>()[0] == 0);
  CHECK(dense.as<std::int32_t>()[2] == 1);
  options.kind = ArrayKind::kKeyPadding;
  write_mask(folder / "k.npy", mask, options);
  CHECK(std::ranges::equal(read_array(folder / "k.npy").as<std::int32_t>(),
                           std::vector<std::int32_t>{0, 0, 0, 1}));
  options = writing(ArrayKind::kSegments);
  options.pad_id = 0;
  write_mask(folder / "s.npy", mask, options);
  CHECK(std::ranges::equal(read_array(folder / "s.npy").as<std::int32_t>(),
                           std::vector<std::int32_t>{1, 1, 2, 0}));
  for (const DType dtype :
       {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64, DType::kFloat8E5M2}) {
    for (const BiasFill fill : {BiasFill::kInf, BiasFill::kMin}) {
      options = writing(ArrayKind::kBias);
      options.dtype = dtype;
      options.fill = fill;
      options.force = true;
      const std::string path = folder / "b.safetensors";
      write_mask(path, mask, options);
      const Tensor bias = astype(read_array(path), DType::kFloat64);
      CHECK(bias.as<double>()[0] == 0);
      CHECK(bias.as<double>()[2] == (fill == BiasFill::kInf ? -INFINITY : -largest_number(dtype)));
      const LoadedMask back = read_mask(path, as(ArrayKind::kBias));
      CHECK(differing(back.mask, mask) == 0);
      CHECK(back.notes.empty());
    }
  }
  options = writing(ArrayKind::kBlockmap);
  options.dtype.reset();
  write_mask(folder / "m.npy", Mask(diagonal_band(4, 6, -kUnbounded, 0)), options);
  CHECK(std::ranges::equal(read_array(folder / "m.npy").as<std::uint8_t>(),
                           std::vector<std::uint8_t>{1, 0, 2, 1}));
}

TEST_CASE("convert: options that a kind does not have are refused") {
  const Mask mask(full_plane(300, 300));
  const auto error = [&](const MaskWriteOptions& options) {
    try {
      convert_mask(mask, options);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("no error");
  };
  MaskWriteOptions options;
  options.kind = ArrayKind::kPositions;
  CHECK(error(options) ==
        "a mask cannot be written as positions; that kind can only be read, not written");
  options.kind = ArrayKind::kTokenTypes;
  CHECK(contains(error(options), "can only be read"));
  options.kind = ArrayKind::kBlockmap;
  CHECK(error(options) == "a block map needs the size of its blocks");
  options.kind = ArrayKind::kSegments;
  options.block = kBlock;
  CHECK(contains(error(options), "the size of blocks is for a block map"));
  options.block.reset();
  options.dtype = DType::kFloat32;
  CHECK(error(options) == "the kind segments is written as integers, not float32");
  options.kind = ArrayKind::kBias;
  options.dtype = DType::kInt8;
  CHECK(contains(error(options), "the kind bias is written as floats"));
  options.kind = ArrayKind::kPairs;
  CHECK(error(options) == "int8 cannot hold 300, a value of the pairs of this mask");
  options.dtype.reset();
  options.keep_value_is_zero = true;
  CHECK(contains(error(options), "0 cannot mean open in the kind pairs"));
  options.kind = ArrayKind::kRuns;
  options.keep_value_is_zero = false;
  options.dtype = DType::kInt32;
  CHECK(contains(error(options), "runs have types of their own"));
}

TEST_CASE("convert: two arrays can only be written to a container") {
  const Folder folder;
  const Mask cross = documents({0, 0, 1}, {0, 1, 1, 1});
  CHECK(contains(
      error_of([&] { write_mask(folder / "s.npy", cross, writing(ArrayKind::kSegments)); }),
      "an .npy holds one array, these are 2 (q, kv)"));
  CHECK_FALSE(std::filesystem::exists(folder / "s.npy"));
  write_mask(folder / "s.npz", cross, writing(ArrayKind::kSegments));
  CHECK(differing(read_mask(folder / "s.npz", as(ArrayKind::kSegments)).mask, cross) == 0);
  CHECK(differing(read_mask("q=" + (folder / "s.npz") + ":q,kv=" + (folder / "s.npz") + ":kv",
                            as(ArrayKind::kSegments))
                      .mask,
                  cross) == 0);
}

TEST_CASE("kinds: positions, biases and token types are read by their definitions") {
  const Folder folder;
  write_array(folder / "p.npy", int_tensor({2, 5}, {0, 1, 2, 0, 1, 0, 1, 0, 1, 2}));
  const LoadedMask positions = read_mask(folder / "p.npy", as(ArrayKind::kPositions));
  CHECK(cells_of(positions.mask) ==
        cells_of(mask_from_segments(int_tensor({2, 5}, {0, 0, 0, 1, 1, 0, 0, 1, 1, 1}),
                                    int_tensor({2, 5}, {0, 0, 0, 1, 1, 0, 0, 1, 1, 1}), -1)));
  REQUIRE(positions.q_segment_ids);
  CHECK(contains(error_of(folder / "p.npy"), "looks like position ids"));
  CHECK(contains(error_of(folder / "p.npy", as(ArrayKind::kTokenTypes)), "the step tokens:"));
  CHECK(contains(error_of(folder / "p.npy", as(ArrayKind::kBias)), "a bias is floats"));
  const auto read_as_blocks = [&] { read_mask(folder / "p.npy", as(ArrayKind::kBlockmap)); };
  CHECK(offers(Remedy::kReadAs, read_as_blocks));
  CHECK(offers(Remedy::kGiveShape, [&] { read_mask(folder / "p.npy", as(ArrayKind::kBits)); }));

  Tensor bias(DType::kFloat32, {2, 3});
  bias.as<float>()[1] = -INFINITY;
  bias.as<float>()[5] = -3.4028234663852886e38F;
  write_array(folder / "b.npy", bias);
  const LoadedMask mixed = read_mask(folder / "b.npy", as(ArrayKind::kBias));
  CHECK(cells_of(mixed.mask) == Cells{1, 0, 1, 1, 1, 0});
  REQUIRE(mixed.notes.size() == 1);
  CHECK(contains(mixed.notes[0],
                 "closed cells hold -inf and -3.40282347e+38 (the minimum of float32)"));
  bias.as<float>()[4] = -10000;
  save(folder / "b.npy", bias, true, true);
  CHECK(contains(error_of(folder / "b.npy", as(ArrayKind::kBias)), "-1e4 beside other numbers"));
  bias.as<float>()[4] = -3;
  save(folder / "b.npy", bias, true, true);
  CHECK(contains(error_of(folder / "b.npy", as(ArrayKind::kBias)),
                 ": values other than 0 and -inf, the first is -3 at (1, 1); expected 0 (open)"));
}

TEST_CASE("kinds: safetensors files are read piece by piece from files and pipes") {
  const Folder folder;
  const Cells cells = random_cells(2 * 300 * 301, 9);
  const Tensor mask = astype(bool_tensor({2, 300, 301}, cells), DType::kBFloat16);
  const Tensor ids = int_tensor({4}, {0, 0, 1, 1});
  const ArrayRef arrays[] = {{"ids", &ids}, {"mask", &mask}};
  const std::string path = folder / "m.safetensors";
  write_arrays(path, arrays);
  CHECK(cells_of(read_mask(path + ":mask").mask) == cells);
  const Fifo fifo(folder, path);
  CHECK(cells_of(read_mask(fifo.path + ":mask").mask) == cells);
}

TEST_CASE("kinds: a block map whose rows exceed the limit is refused") {
  const Folder folder;
  write_array(folder / "m.npy", int_tensor({1, 1}, {2}));
  MaskReadOptions options = as(ArrayKind::kBlockmap);
  options.block = BlockSize{(Index{1} << 31) - 1, 1};
  options.read.max_bytes = 1 << 20;
  CHECK(offers(Remedy::kRaiseMemoryLimit, [&] { read_mask(folder / "m.npy", options); }));
}
