// Fuzz target: read_mask on every kind and format of file, with options from the first two bytes.
#include <bit>
#include <cstdlib>

#include "fuzz/memory_file.h"
#include "fuzz/target.h"
#include "maskctl/base/error.h"
#include "maskctl/io/masks/mask_io.h"

using namespace maskctl;

namespace {

constexpr Index kMostCells = Index{1} << 22;

/// Makes options from two bytes. `kind` has the mask kind in bits 0-5, whether to set a limit for
/// closed biases in bit 6, and whether 0 means open in bit 7. `more` chooses shape, block size, pad
/// id and strictness.
MaskReadOptions options_of(std::uint8_t kind, std::uint8_t more) {
  MaskReadOptions options;
  options.read = fuzz::read_options();
  const auto kinds = all_kinds();
  const std::size_t choice = (kind & 0x3F) % (kinds.size() + 1);
  if (choice < kinds.size()) options.as = kinds[choice];
  options.keep_value_is_zero = (kind & 0x80) != 0;
  if ((kind & 0x40) != 0) options.closed_below = -1e4;
  if ((more & 1) != 0) options.shape = {1, 1, 12, 16};
  if ((more & 2) != 0) options.shape = {2, 1, 0x7FFFFFFF, 0x7FFFFFFF};
  if ((more & 4) != 0) options.block = BlockSize{4, 8};
  if ((more & 8) != 0) options.block = BlockSize{0x40000000, 1};
  if ((more & 16) != 0) options.pad_id = 0;
  options.read.strict = (more & 32) != 0;
  return options;
}

Index open_keys(const Keys& keys) {
  Index open = 0;
  for (const Run& run : keys.runs) open += run.end - run.begin;
  for (const std::uint64_t word : keys.words) open += std::popcount(word);
  return open;
}

/// Reads some rows of each plane. In planes with few cells, all rows together must have as many
/// open cells as the plane says.
void walk(const Mask& mask) {
  for (const PlanePtr& plane : mask.distinct()) {
    const bool is_small = plane->queries() <= kMostCells / std::max<Index>(plane->keys(), 1);
    const Range q{0, is_small ? plane->queries() : std::min<Index>(plane->queries(), 64)};
    const Range k{0, std::min<Index>(plane->keys(), kMostCells)};
    Index open = 0;
    plane->rows(q, [&](Range rows, const Keys& keys) { open += open_keys(keys) * rows.size(); });
    if (is_small && open != plane->count()) std::abort();
    if (!q.empty() && !k.empty()) plane->classify(q, k);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const fuzz::MemoryFile file(data + 2, size - 2);
  try {
    const LoadedMask loaded = read_mask(file.name(), options_of(data[0], data[1]));
    walk(loaded.mask);
    if (const auto dtype = dtype_from_name(loaded.dtype)) closed_by(loaded.bias_seen, *dtype);
    if (loaded.mask.cells() <= 1 << 16) varlen_batch(loaded.mask, PaddingTokens::kDrop);
    return 0;
  } catch (const Error&) {
    return -1;
  }
}
