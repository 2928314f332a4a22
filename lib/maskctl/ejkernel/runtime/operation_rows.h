// The rows of all operations that have configs: ejkernel's config classes, and tile sizes worth
// measuring.
#pragma once

#include <algorithm>
#include <array>

#include "maskctl/attention/operations/all.h"
#include "maskctl/ejkernel/runtime/operation_row.h"
#include "maskctl/kernels/all.h"

namespace maskctl::attention {

/// The tile sizes that ejkernel measures for its portable path, for both passes.
template <class Config>
std::vector<Config> block_candidates() {
  std::vector<Config> candidates;
  for (const Index q : {128, 256}) {
    for (const Index kv : {128, 256, 512}) {
      candidates.push_back({.fwd_params = FwdParams{.q_blocksize = q, .kv_blocksize = kv},
                            .bwd_params = BwdParams{.q_blocksize = q, .kv_blocksize = kv}});
    }
  }
  return candidates;
}

template <>
struct ModuleOf<FlashAttentionOp> : ModuleTypes<FlashAttentionOp, FlashAttentionConfig> {
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    return block_candidates<Config>();
  }
};

template <>
struct ModuleOf<RingAttentionOp> : ModuleTypes<RingAttentionOp, RingAttentionConfig> {
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index size : {128, 256, 1024}) {
      candidates.push_back({.query_chunk_size = size, .key_chunk_size = size});
    }
    return candidates;
  }
};

template <>
struct ModuleOf<ScaledDotProductAttentionOp>
    : ModuleTypes<ScaledDotProductAttentionOp, ScaledDotProductAttentionConfig> {
  static constexpr ModuleRow kRow = {.tunes = false};
};

template <>
struct ModuleOf<AttentionOp> : ModuleTypes<AttentionOp, AttentionConfig> {
  static constexpr ModuleRow kRow = {.tunes = false};
};

template <>
struct ModuleOf<BlockSparseAttentionOp>
    : ModuleTypes<BlockSparseAttentionOp, BlockSparseAttentionConfig> {
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    return block_candidates<Config>();
  }
};

inline constexpr HintName kLatentHints[] = {{"q_blocksize", "block_q"},
                                            {"kv_blocksize", "block_k"}};
template <>
struct ModuleOf<FlashMLAOp> : ModuleTypes<FlashMLAOp, FlashMLAConfig> {
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index q : {48, 96, 192}) {
      for (const Index k : {64, 256}) candidates.push_back({.block_q = q, .block_k = k});
    }
    return candidates;
  }
  static constexpr ModuleRow kRow = {.hint_names = kLatentHints};
};

template <>
struct ModuleOf<NativeSparseAttentionOp>
    : ModuleTypes<NativeSparseAttentionOp, NativeSparseAttentionConfig> {};

// Paged and dense caches of keys and values.

/// Returns how many pages hold 64, 128 and 512 keys, each number once: candidates for the number of
/// pages to read at a time. `axis`: the axis of the cache that has the slots of a page. If the
/// cache has no such axis, the operation reports it later.
inline std::vector<Index> page_counts(const Tensor* cache, Index axis) {
  const Index page_size = cache && cache->rank() > axis ? cache->extent(axis) : 1;
  std::vector<Index> counts;
  for (const Index keys : {64, 128, 512}) {
    const Index pages = ceil_div(keys, std::max<Index>(page_size, 1));
    if (counts.empty() || counts.back() != pages) counts.push_back(pages);
  }
  return counts;
}

template <class Config>
std::vector<Config> ragged_candidates(const Tensor* cache) {
  std::vector<Config> candidates;
  for (const Index pages : page_counts(cache, 1)) {
    candidates.push_back({.num_kv_pages_per_block = pages});
  }
  for (const Index queries : {96, 288}) candidates.push_back({.num_queries_per_block = queries});
  return candidates;
}

template <>
struct ModuleOf<PageAttentionOp> : ModuleTypes<PageAttentionOp, PageAttentionConfig> {
  static std::vector<Config> candidates(const Inputs& in, const Options& o) {
    std::vector<Config> candidates;
    for (const Index splits : {1, 2, 4, 8}) candidates.push_back({.num_splits = splits});
    const bool heads_first = o.kv_layout != KvLayout::kTokensFirst;
    for (const Index pages : page_counts(in.key_cache, heads_first ? 2 : 1)) {
      candidates.push_back({.pages_per_compute_block = pages});
    }
    return candidates;
  }
  static constexpr ModuleRow kRow = {.version = "1"};
};

template <>
struct ModuleOf<RaggedPageAttentionOp>
    : ModuleTypes<RaggedPageAttentionOp, RaggedPageAttentionConfig> {
  static std::vector<Config> candidates(const Inputs& in, const Options&) {
    return ragged_candidates<Config>(in.kv_pages);
  }
  static constexpr ModuleRow kRow = {.version = "1"};
};

template <>
struct ModuleOf<RaggedPageAttentionv3Op>
    : ModuleTypes<RaggedPageAttentionv3Op, RaggedPageAttentionv3Config> {
  static std::vector<Config> candidates(const Inputs& in, const Options&) {
    return ragged_candidates<Config>(in.kv_cache);
  }
  static constexpr ModuleRow kRow = {.version = "1"};
};

template <>
struct ModuleOf<RaggedPageAttentionv3PagesOp>
    : ModuleTypes<RaggedPageAttentionv3PagesOp, RaggedPageAttentionv3Config> {
  static std::vector<Config> candidates(const Inputs& in, const Options&) {
    return ragged_candidates<Config>(in.key_pages);
  }
  static constexpr ModuleRow kRow = {.version = "1"};
};

template <>
struct ModuleOf<RaggedDecodeAttentionOp>
    : ModuleTypes<RaggedDecodeAttentionOp, RaggedDecodeAttentionConfig> {
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index size : {64, 128, 256, 512}) {
      candidates.push_back({.fwd_params = FwdParams{.kv_blocksize = size}});
    }
    return candidates;
  }
  static constexpr ModuleRow kRow = {.version = "1"};
};

// Linear attention.

inline constexpr HintName kLinearHints[] = {{"chunk_size", "block_q"}};
template <class Op, class C>
struct LinearModule : ModuleTypes<Op, C> {
  static std::vector<C> candidates(const typename Op::Inputs&, const typename Op::Options&) {
    std::vector<C> candidates;
    for (const Index tokens : {32, 48, 96}) candidates.push_back({.block_q = tokens});
    return candidates;
  }
  static constexpr ModuleRow kRow = {.version = "1", .hint_names = kLinearHints};
};

template <>
struct ModuleOf<GLAttentionOp> : LinearModule<GLAttentionOp, GLAttentionConfig> {};

template <>
struct ModuleOf<LightningAttentionOp>
    : LinearModule<LightningAttentionOp, LightningAttentionConfig> {};

template <>
struct ModuleOf<RecurrentAttentionOp>
    : LinearModule<RecurrentAttentionOp, RecurrentAttentionConfig> {};

template <>
struct ModuleOf<GroupedMatmulOp> : ModuleTypes<GroupedMatmulOp, GroupedMatmulConfig> {
  static Config heuristic() { return {.block_m = 384, .block_n = 128, .block_k = 256}; }
  static std::vector<Config> candidates(const Inputs&, const Options&) {
    std::vector<Config> candidates;
    for (const Index m : {96, 384}) {
      for (const Index n : {64, 256}) {
        for (const Index k : {128, 512}) {
          candidates.push_back({.block_m = m, .block_n = n, .block_k = k});
        }
      }
    }
    return candidates;
  }
  static constexpr ModuleRow kRow = {.version = "1"};
};

template <>
struct ModuleOf<MeanPoolingOp> : ModuleTypes<MeanPoolingOp, MeanPoolingConfig> {};

}  // namespace maskctl::attention
