#include "maskctl/attention/operations/native_sparse/compression.h"

#include <algorithm>
#include <functional>

#include "maskctl/attention/arrays/floats.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl::attention {
namespace {

/// Calls f(mean row, token row) for each token of each whole block and each key head. The rows are
/// indices in [B,C,Hkv] and [B,T,Hkv].
void for_each_member(const BlockProblem& c, const std::vector<Index>& first, Index blocks,
                     const std::function<void(Index, Index)>& f) {
  for (std::size_t n = 0; n < c.sequences.size(); ++n) {
    const TokenSequence& s = c.sequences[n];
    const Index whole = s.tokens.size() / c.block_size * c.block_size;
    for (Index t = 0; t < whole; ++t) {
      const Index block = s.batch * blocks + first[n] + t / c.block_size;
      const Index token = s.batch * c.d.keys + s.tokens.begin + t;
      for (Index u = 0; u < c.d.kv_heads; ++u) {
        f(block * c.d.kv_heads + u, token * c.d.kv_heads + u);
      }
    }
  }
}

Tensor means_of(const BlockProblem& c, const std::vector<Index>& first, Index blocks,
                const TensorView& array) {
  const Index n = array.extent(3);
  const Floats rows(array);
  std::vector<double> sums(as_size(c.d.batch * blocks * c.d.kv_heads * n));
  for_each_member(c, first, blocks, [&](Index mean, Index token) {
    for (Index x = 0; x < n; ++x) {
      sums[as_size(mean * n + x)] += static_cast<double>(rows.data()[token * n + x]);
    }
  });
  Tensor means(DType::kFloat32, {c.d.batch, blocks, c.d.kv_heads, n});
  std::transform(sums.begin(), sums.end(), means.as<float>().begin(), [&c](double sum) {
    return static_cast<float>(sum / static_cast<double>(c.block_size));
  });
  return means;
}

/// Token t sees the blocks that end at t or before. The mask has one slab (rows with equal keys)
/// for each whole block, from its last token up to (not including) the last token of the next
/// block.
Mask whole_blocks_mask(const BlockProblem& c, const std::vector<Index>& first, Index blocks) {
  std::vector<Slab> slabs;
  for (std::size_t n = 0; n < c.sequences.size(); ++n) {
    // All batch rows have the same sequences, so those of the first batch row suffice.
    if (c.sequences[n].batch > 0) break;
    const Range tokens = c.sequences[n].tokens;
    for (Index seen = 1; seen * c.block_size <= tokens.size(); ++seen) {
      const Index begin = tokens.begin + seen * c.block_size - 1;
      slabs.push_back({{begin, std::min(begin + c.block_size, tokens.end)},
                       {{first[n], first[n] + seen, 0, 0}}});
    }
  }
  return Mask(bands(c.d.queries, blocks, slabs));
}

}  // namespace

BlockMeans block_means(const BlockProblem& c) {
  BlockMeans means;
  Index blocks = 0;  // whole blocks in one batch row
  for (const TokenSequence& s : c.sequences) {
    means.first.push_back(s.batch == 0 ? blocks : 0);
    if (s.batch == 0) blocks += s.tokens.size() / c.block_size;
  }
  means.key = means_of(c, means.first, blocks, c.key);
  means.value = means_of(c, means.first, blocks, c.value);
  means.mask = whole_blocks_mask(c, means.first, blocks);
  return means;
}

void add_mean_gradient(const BlockProblem& c, const BlockMeans& blocks, const Tensor& means,
                       Tensor& sums) {
  const Index n = means.extent(3);
  const float share = 1 / static_cast<float>(c.block_size);
  const float* const from = means.as<float>().data();
  float* const to = sums.as<float>().data();
  for_each_member(c, blocks.first, means.extent(1), [&](Index mean, Index token) {
    for (Index x = 0; x < n; ++x) to[token * n + x] += share * from[mean * n + x];
  });
}

}  // namespace maskctl::attention
