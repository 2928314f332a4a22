// Splits mean keys into two float16 parts each, in the layout that mean_parts.cuh describes.
#include "maskctl/attention/cuda/blocks/mean_parts.cuh"
#include "maskctl/attention/cuda/blocks/row_scale.cuh"
#include "maskctl/attention/cuda/warp_mma.cuh"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256;

/// Returns what is put into the float16 parts for element x of a mean in which some element is
/// infinite or NaN. A finite x becomes its sign (1, -1 or 0), which cannot overflow: products with
/// such a mean are infinite or NaN whatever its finite elements are.
__device__ float part_of_infinite(float x) {
  if (magnitude_bits(x) >= magnitude_bits(INFINITY) || x == 0) return x;
  return x > 0 ? 1 : -1;
}

/// Each thread splits 8 neighbouring elements of a mean into their two float16 parts. Rows of a
/// tile past the last mean become zeros.
template <int kDim>
__global__ void __launch_bounds__(kThreads)
    split(const SelectionCall c, Index rows, Index tiles_of_head, MeanTile<kDim>* tiles) {
  constexpr int kUnits = kDim / 8;
  static_assert(kUnits <= 32 && kMeans * kUnits % kThreads == 0);
  const Index i = Index{blockIdx.x} * kThreads + threadIdx.x;
  const int unit = static_cast<int>(i % kUnits);
  const Index u = i / kUnits % c.kv_heads, row = i / kUnits / c.kv_heads;
  alignas(16) float x[8] = {};
  if (row < rows && unit * 8 < c.dim) {
    const float* const from =
        static_cast<const float*>(c.means.data) + (row * c.kv_heads + u) * c.dim + unit * 8;
    for (int n = 0; n < 8; n += 4) {
      *reinterpret_cast<float4*>(x + n) = *reinterpret_cast<const float4*>(from + n);
    }
  }
  unsigned greatest = 0;
  for (const float element : x) {
    const unsigned bits = magnitude_bits(element);
    greatest = greatest > bits ? greatest : bits;
  }
  const RowScale scale(greatest_of_lanes<kUnits>(greatest));
  std::uint32_t high[4], low[4];
#pragma unroll
  for (int n = 0; n < 4; ++n) {
    float rest[2];
    for (int k = 0; k < 2; ++k) {
      float& element = x[2 * n + k];
      element = scale.is_finite() ? element * scale.to_half() : part_of_infinite(element);
      const float rounded = to_float(__float2half_rn(element));
      rest[k] = scale.is_finite() ? __fsub_rn(element, rounded) : 0;
    }
    high[n] = rounded_pair<__half>(x[2 * n], x[2 * n + 1]);
    low[n] = rounded_pair<__half>(rest[0], rest[1]);
  }
  MeanTile<kDim>& tile = tiles[u * tiles_of_head + row / kMeans];
  const int mean = static_cast<int>(row % kMeans), lane = mean % 8 * 4 + unit % 4;
  auto& parts = tile.units[mean / 8];
  parts[1][unit / 4][lane] = make_uint4(high[0], high[1], high[2], high[3]);
  parts[0][unit / 4][lane] = make_uint4(low[0], low[1], low[2], low[3]);
  if (unit == 0) tile.powers[mean] = scale.is_finite() ? scale.power() : 1;
}

}  // namespace

template <int kDim>
MeanParts<kDim> split_means(Workspace& workspace, const SelectionCall& c, Index rows) {
  const Index tiles_of_head = ceil_div(rows, kMeans), count = tiles_of_head * c.kv_heads;
  auto* const tiles = workspace.take<MeanTile<kDim>>(count);
  constexpr Index kBlocksOfTile = kMeans * kDim / 8 / kThreads;
  launch("select_blocks: parts of means", split<kDim>, static_cast<unsigned>(count * kBlocksOfTile),
         kThreads, 0, workspace.stream(), c, rows, tiles_of_head, tiles);
  return {tiles, tiles_of_head};
}

template MeanParts<64> split_means(Workspace&, const SelectionCall&, Index);
template MeanParts<128> split_means(Workspace&, const SelectionCall&, Index);
template MeanParts<256> split_means(Workspace&, const SelectionCall&, Index);

}  // namespace maskctl::attention::cuda
