// Files exchanged with numpy: numpy_exchange.py writes and checks them.
#include <algorithm>
#include <filesystem>

#include "io/array_support.h"
#include "maskctl/io/masks/mask_io.h"
#include "maskctl/mask/arrays/dense.h"

using namespace maskctl;
using maskctl::test::Scratch;

namespace {

std::string exchange(const Scratch& folder, const std::string& what) {
  return test::python(folder, "import os\nos.execv('/usr/bin/python3', ['python3', '" +
                                  std::string(MASKCTL_SOURCE_DIR) +
                                  "/tests/io/numpy_exchange.py', '" + what + "'])\n");
}

MaskWriteOptions as_kind(ArrayKind kind) {
  MaskWriteOptions options;
  options.kind = kind;
  return options;
}

}  // namespace

TEST_CASE("numpy: every dtype, shape, order of axes and byte order is exchanged without a change") {
  const Scratch folder;
  const std::string files = exchange(folder, "write");
  std::filesystem::create_directory(folder / "out");
  int copied = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.folder())) {
    const std::string file = entry.path().filename().string();
    if (!entry.is_regular_file() || file.find(".expected.") != std::string::npos) continue;
    const Tensor array = read_array(entry.path().string());
    const std::size_t dot = file.find('.');
    const std::string base =
        folder / ("out/" + file.substr(0, dot) + ".from." + file.substr(dot + 1));
    write_array(base + ".npy", array);
    write_array(base + ".npz:a", array);
    write_array(base + ".safetensors:a", array);
    ++copied;
  }
  CHECK(copied == 4 * std::stoi(files));
  CHECK(exchange(folder, "check") == std::to_string(copied) + "\n");
}

TEST_CASE("numpy: masks of every kind open the same cells in numpy") {
  const Scratch folder;
  Tensor square(DType::kBool, {2, 3, 7, 7});
  for (std::size_t i = 0; i < square.as<std::uint8_t>().size(); ++i) {
    square.as<std::uint8_t>()[i] = i * i % 13 < 2 && i % 49 < 30 && i % 7 < 5;
  }
  write_array(folder / "mask.npy", square);
  const Mask mask = mask_from_dense(square);
  write_mask(folder / "dense.npy", mask, as_kind(ArrayKind::kDense));
  write_mask(folder / "bits.npy", mask, as_kind(ArrayKind::kBits));
  write_mask(folder / "runs.npz", mask, as_kind(ArrayKind::kRuns));
  write_mask(folder / "padding.npy", mask, as_kind(ArrayKind::kPadding));
  write_mask(folder / "key-padding.npy", mask, as_kind(ArrayKind::kKeyPadding));
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16, DType::kFloat32, DType::kFloat64}) {
    MaskWriteOptions options = as_kind(ArrayKind::kBias);
    options.dtype = dtype;
    options.fill = dtype == DType::kFloat16 ? BiasFill::kMin : BiasFill::kInf;
    write_mask(folder / ("bias_" + std::string(name(dtype)) + ".npy"), mask, options);
  }
  MaskWriteOptions blocks = as_kind(ArrayKind::kBlockmap);
  blocks.block = BlockSize{2, 3};
  write_mask(folder / "blockmap.npy", mask, blocks);
  Tensor q(DType::kInt32, {1, 4}), kv(DType::kInt32, {1, 6});
  std::ranges::copy(std::vector{3, 3, 5, 9}, q.as<std::int32_t>().begin());
  std::ranges::copy(std::vector{3, 5, 5, 5, 9, 9}, kv.as<std::int32_t>().begin());
  const Mask documents = mask_from_segments(q, kv, -1);
  write_mask(folder / "documents.npy", documents);
  write_mask(folder / "segments.npz", documents, as_kind(ArrayKind::kSegments));
  write_mask(folder / "cu_seqlens.npz", documents, as_kind(ArrayKind::kCuSeqlens));
  CHECK(exchange(folder, "kinds") == "equal\n");
}
