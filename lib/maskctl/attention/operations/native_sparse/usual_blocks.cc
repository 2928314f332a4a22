// The block lists of a typical native sparse attention call.
#include <algorithm>
#include <numeric>
#include <random>

#include "maskctl/attention/operations/native_sparse/spec.h"

namespace maskctl::attention {

UsualCall usual_blocks(AxisExtents extents) {
  const NativeSparseOptions usual;
  const Index tokens = extents.at("T"), slots = usual.block_counts;
  const Index rows = extents.at("B") * tokens * extents.at("Hkv");
  Tensor blocks(DType::kInt32, {extents.at("B"), tokens, extents.at("Hkv"), slots});
  std::ranges::fill(blocks.as<std::int32_t>(), -1);  // -1 pads lists that have fewer blocks
  std::mt19937_64 random(1);
  std::vector<std::int32_t> before;
  for (Index row = 0; row < rows; ++row) {
    const auto listed = blocks.as<std::int32_t>().subspan(as_size(row * slots), as_size(slots));
    const Index own = row / extents.at("Hkv") % tokens / usual.block_size;
    before.resize(as_size(own));
    std::iota(before.begin(), before.end(), 0);
    listed[0] = static_cast<std::int32_t>(own);
    for (std::size_t i = 1; i < listed.size() && i <= before.size(); ++i) {
      std::swap(before[i - 1], before[i - 1 + random() % (before.size() - i + 1)]);
      listed[i] = before[i - 1];
    }
  }
  return {std::move(extents), {{"block_indices", std::move(blocks)}}};
}

}  // namespace maskctl::attention
