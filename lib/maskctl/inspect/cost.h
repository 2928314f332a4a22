// What attention under a mask costs: exact pairs, FLOPs, tiles, bytes of every form, balance of
// ranks.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "maskctl/inspect/stats.h"
#include "maskctl/mask/block_size.h"
#include "maskctl/mask/mask.h"

namespace maskctl {

struct CostQuery {
  static std::vector<BlockSize> usual_blocks();  // 16, 32, 64, 128, 256, 512, square
  std::vector<BlockSize> blocks = usual_blocks();
  Index heads = 0;  // that share a mask of one head; 0: as many as the mask has
  Index head_dim = 128;
  Index ranks = 8;
};

/// Where the quantiles of a Spread lie.
inline constexpr std::array<double, 5> kQuantiles{0.05, 0.25, 0.5, 0.75, 0.95};

/// A distribution. Quantile p of the ascending values v[0..n) is v at p * (n - 1), between two of
/// them in proportion (numpy's default). All 0 without values.
struct Spread {
  Index min = 0;
  Index max = 0;
  double mean = 0;
  std::array<double, kQuantiles.size()> quantiles{};
};

/// Multiplications and additions of the two matrix products of attention forward, Q K^T (2 * D for
/// a pair of query and key) and P V (2 * Dv), and of the five of the backward pass, Q K^T again and
/// those of dQ, dK, dP and dV: forward = 2 * (D + Dv) * pairs, backward = (6 * D + 4 * Dv) * pairs.
/// Softmax is not counted. As doubles, exact up to 2^53.
struct Flops {
  double forward = 0;
  double backward = 0;
};
Flops flops(Index pairs, Index head_dim, Index value_dim);

/// A kernel that computes every cell of the tiles that are not empty.
struct BlockCost {
  BlockStats tiles;             // of all batches and heads
  std::optional<double> waste;  // executed / open cells; nothing without open cells
  Flops executed;
  /// executed cells * (1 + 32 / q + 32 / k): a tile multiplies q * k pairs of rows but loads q + k
  /// rows, and loading one takes about the time of 32 products. A guide, not a prediction.
  double weighted = 0;
  /// A class of one byte for each tile, and one bit for each cell of the partial ones (edge tiles
  /// counted whole, larger ones than the mask as the mask): what a lossless block map of the mask
  /// as it is holds.
  Index map_bytes = 0;
};

/// Bytes of the arrays that `convert --to` this form writes, all batches and heads of the mask in
/// full.
struct FormBytes {
  std::string_view form;       // "dense bool", "bits", "bias float16", "bias float32", "runs",
                               // "segments", "cu_seqlens"
  std::optional<Index> bytes;  // nothing where the form cannot hold the mask
  /// The form holds the mask when the kernel adds causal (top-left) itself: packed documents as
  /// decoders have them.
  bool with_causal = false;
};

/// Ways to deal out the queries to N ranks, each with all keys; n = queries.
/// kContiguous: rank r has [r * n / N, (r + 1) * n / N).
/// kZigzag: of 2 * N such parts rank r has parts r and 2 * N - 1 - r.
/// kStriped: rank r has the queries q with q % N = r.
enum class Split : std::uint8_t { kContiguous, kZigzag, kStriped };
std::string_view name(Split split);

struct Balance {
  Split split = Split::kContiguous;
  std::vector<Index> pairs;         // of each rank
  std::optional<double> imbalance;  // most / mean; 1 is even, nothing without pairs
};

/// One of mask.distinct().
struct PlaneCost {
  Index pairs = 0;
  Spread keys_per_row;
};

/// Pairs, tiles, FLOPs and ranks count `heads` heads; bytes are of the mask as it is.
struct Cost {
  Index heads = 0;
  Index head_dim = 0;
  Index pairs = 0;  // open cells of all batches and heads
  Index cells = 0;
  Flops useful;
  Spread keys_per_row;
  Spread pairs_per_head;  // over all batches and heads
  std::vector<PlaneCost> planes;
  std::vector<BlockCost> blocks;    // as asked for
  std::optional<std::size_t> best;  // the block of least `weighted`; nothing without open cells
  std::vector<FormBytes> forms;
  std::vector<Balance> balance;  // one of each Split
};

/// Exact, by structure, each distinct plane worked on once. Throws Error(kInvalidArgument) for
/// block sizes, heads, head_dim or ranks out of range (1 to 65536 ranks), heads that are not those
/// of a mask with several; Error(kLimit) for more cells than an Index counts sixteen times.
Cost mask_cost(const Mask& mask, const CostQuery& query = {});

}  // namespace maskctl
