#include "maskctl/attention/cuda/paged/tiles/tiling.h"

#include <algorithm>

namespace maskctl::attention::cuda {
namespace {

constexpr int kFewThreads = 128;  // threads of a block whose tiles have few vectors
// The most vectors of a tile, and the most of a tile for small blocks.
constexpr int kMostVectors = 64, kFewVectors = 16;

Index units_of(const PagedCache& cache) {
  return ceil_div(cache.dim * size_bytes(cache.dtype), kUnitBytes);
}

std::size_t shared_bytes(const Tiling& t, Index elements) {
  const Index stages = Index{4} * t.stage_units() * kUnitBytes;
  const Index sums = Index{t.threads / 2} * t.held * elements * Index{sizeof(float)};
  const Index floats = t.vectors * t.units * elements + t.keys * t.logit_stride() + 3 * t.vectors;
  return as_size(std::max(stages, sums)) + as_size(t.keys) * 2 * sizeof(Index) +
         as_size(t.vectors) * 2 * sizeof(int) + as_size(floats) * sizeof(float);
}

}  // namespace

/// Chooses a tiling. Few vectors get small blocks: many of these run at a time, each in another
/// phase, which keeps both loads and arithmetic going. Many vectors get large blocks, where more
/// vectors share each key read.
Tiling tiling(const PagedProblem& p, Index usual_rows) {
  // bytes of shared memory that any GPU has for a block
  constexpr std::size_t kMostShared = 96 << 10;
  const Index elements = kUnitBytes / size_bytes(p.cache.dtype);
  Tiling t;
  t.units = static_cast<int>(units_of(p.cache));
  while (1 << t.column_bits < t.units) ++t.column_bits;
  t.aligned = is_aligned(p.cache);
  const Index wanted = p.group() * std::max<Index>(usual_rows, 1);
  t.threads = wanted <= kFewVectors && t.units <= kFewThreads ? kFewThreads : kMostThreads;
  const int most = std::min(kMostVectors, 8 * (t.threads >> t.column_bits));
  t.vectors = t.held = wanted <= 4 ? 4 : 8;
  while (t.vectors < wanted && t.vectors < most) t.vectors *= 2;
  constexpr int kStageBytes = 8 << 10;
  const auto fits = [&] {
    t.keys = 1 << t.key_bits;
    return (t.keys <= 8 || t.stage_units() * kUnitBytes <= kStageBytes) &&
           (t.keys == 1 || shared_bytes(t, elements) <= kMostShared);
  };
  t.key_bits = kMostKeyBits;
  while (!fits()) --t.key_bits;
  t.shared_bytes = shared_bytes(t, elements);
  return t;
}

}  // namespace maskctl::attention::cuda
