// What attention under a mask costs: exact pairs, FLOPs, tiles, the bytes of every form of the
// mask, and the balance between ranks.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/inspect/count/stats.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

struct CostQuery {
  static std::vector<BlockSize> usual_blocks();  // 16, 32, 64, 128, 256, 512, square
  std::vector<BlockSize> blocks = usual_blocks();
  Index heads = 0;  // query heads that share a mask of one head; 0: as many as the mask has
  Index head_dim = 128;
  Index ranks = 8;
};

/// Which quantiles a Spread has.
inline constexpr std::array<double, 5> kQuantiles{0.05, 0.25, 0.5, 0.75, 0.95};

/// A distribution. Quantile p of ascending values v[0..n) is the value at index p * (n - 1),
/// interpolated linearly (numpy's default). All members are 0 if there are no values.
struct Spread {
  Index min = 0;
  Index max = 0;
  double mean = 0;
  std::array<double, kQuantiles.size()> quantiles{};
};

/// FLOPs: multiplications and additions. The forward pass has two matrix products, Q K^T (2 * D per
/// pair of query and key) and P V (2 * Dv). The backward pass has five: Q K^T again, and those for
/// dQ, dK, dP and dV. So forward = 2 * (D + Dv) * pairs, backward = (6 * D + 4 * Dv) * pairs.
/// Softmax is not counted. The doubles are exact up to 2^53.
struct Flops {
  double forward = 0;
  double backward = 0;
};
Flops flops(Index pairs, Index head_dim, Index value_dim);

/// The cost of a kernel that computes every cell of the non-empty tiles.
struct BlockCost {
  BlockStats tiles;             // tiles of this size over all batches and heads
  std::optional<double> waste;  // executed / open cells; absent without open cells
  Flops executed;
  /// A weighted cost, in cells: executed * (1 + 32 / q + 32 / k). A tile multiplies q * k pairs of
  /// rows but loads q + k rows, and loading a row takes about as long as 32 products. A guide, not
  /// a prediction.
  double weighted = 0;
  /// The bytes of a lossless block map of the mask: one byte per tile for its class, plus one bit
  /// per cell of partial tiles. Edge tiles count whole; tiles larger than the mask count as the
  /// mask.
  Index map_bytes = 0;
};

/// The size of a mask in one of the forms that `convert --to` writes, for all batches and heads.
struct FormBytes {
  /// "dense bool", "bits", "bias float16", "bias float32", "runs", "segments" or "cu_seqlens".
  std::string_view form;
  std::optional<Index> bytes;  // absent if the form cannot hold the mask
  /// True if the form holds the mask only when the kernel itself adds causal (top-left), as for
  /// packed documents in decoders.
  bool with_causal = false;
};

/// Ways to distribute n queries over N ranks, each of which has all keys. kContiguous: rank r has
/// queries [r * n / N, (r + 1) * n / N). kZigzag: queries are cut into 2 * N such parts, and rank r
/// has parts r and 2 * N - 1 - r. kStriped: rank r has the queries q with q % N = r.
enum class Split : std::uint8_t { kContiguous, kZigzag, kStriped };
std::string_view name(Split split);

struct Balance {
  Split split = Split::kContiguous;
  std::vector<Index> pairs;         // open cells per rank
  std::optional<double> imbalance;  // largest / mean; 1 is even, absent without pairs
};

/// The cost of one distinct plane.
struct PlaneCost {
  Index pairs = 0;
  Spread keys_per_row;
};

/// Pairs, tiles, FLOPs and ranks are counted for `heads` heads; bytes are those of the mask itself.
struct Cost {
  Index heads = 0;
  Index head_dim = 0;
  Index pairs = 0;  // open cells over all batches and heads
  Index cells = 0;
  Flops useful;
  Spread keys_per_row;
  Spread pairs_per_head;  // over all batches and heads
  std::vector<PlaneCost> planes;
  std::vector<BlockCost> blocks;  // in the order of CostQuery::blocks
  /// The index of the block with the least `weighted`; absent without open cells.
  std::optional<std::size_t> best;
  std::vector<FormBytes> forms;
  std::vector<Balance> balance;  // one per Split
};

/// The exact cost, computed from the structure of the mask, once per distinct plane. Throws
/// Error(kInvalidArgument) if block sizes, heads, head_dim or ranks are out of range (1 to 65536
/// ranks), or if `heads` differs from the heads of a mask with several; and Error(kLimit) if 16
/// times the number of cells does not fit an Index.
Cost mask_cost(const Mask& mask, const CostQuery& query = {});

}  // namespace maskctl
