// How to run an operation: ejkernel's configuration classes, with the same fields and defaults.
// config_rows.h has a row for each class, with its name and fields.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <variant>

#include "maskctl/base/index.h"
#include "maskctl/ejkernel/runtime/platform.h"

namespace maskctl::attention {

// Every number is a hint, above 0 unless noted, in tokens (block...), pages, heads, warps or
// stages; none of them changes a result. A kernel ignores hints that do not apply to it: CPU
// kernels have no warps or stages.

/// Tile sizes of a forward pass; the kernel chooses those that are not set.
struct FwdParams {
  std::optional<Index> blocksize_m = {}, blocksize_k = {}, blocksize_n = {};
  std::optional<Index> q_blocksize = {}, kv_blocksize = {};
  std::optional<Index> blocksize_heads = {}, blocksize_keys = {}, num_key_splits = {};
  std::optional<Index> num_warps = {}, num_stages = {};
  bool operator==(const FwdParams&) const = default;
};

/// Tile sizes of a backward pass; the kernel chooses those that are not set.
struct BwdParams {
  std::optional<Index> blocksize_m = {}, blocksize_k = {}, blocksize_n = {};
  std::optional<Index> q_blocksize = {}, kv_blocksize = {};
  std::optional<Index> num_warps = {}, num_stages = {};
  bool operator==(const BwdParams&) const = default;
};

struct ScaledDotProductAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  bool operator==(const ScaledDotProductAttentionConfig&) const = default;
};

struct AttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;
  bool operator==(const AttentionConfig&) const = default;
};

struct FlashAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  std::optional<BwdParams> bwd_params = {};
  bool operator==(const FlashAttentionConfig&) const = default;
};

struct BlockSparseAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  std::optional<BwdParams> bwd_params = {};
  bool operator==(const BlockSparseAttentionConfig&) const = default;
};

struct RingAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128, query_chunk_size = 512, key_chunk_size = 512;
  Index num_warps = 4, num_stages = 2;
  bool operator==(const RingAttentionConfig&) const = default;
};

/// In ejkernel, the block_size of native sparse attention is part of the config. Since it changes
/// the result, our operation has an argument for it and ignores this one.
struct NativeSparseAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64, block_size = 64;
  Index num_warps = 4, num_stages = 1;
  bool operator==(const NativeSparseAttentionConfig&) const = default;
};

struct PageAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index num_splits = 0;  // 0: the kernel chooses
  std::optional<Index> pages_per_compute_block = {};
  Index num_warps = 4, num_stages = 1;
  bool operator==(const PageAttentionConfig&) const = default;
};

struct RaggedPageAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<Index> num_kv_pages_per_block = {}, num_queries_per_block = {};
  Index num_warps = 4, num_stages = 1;
  bool operator==(const RaggedPageAttentionConfig&) const = default;
};

struct RaggedPageAttentionv3Config {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<Index> chunk_prefill_size = {}, num_kv_pages_per_block = {},
                       num_queries_per_block = {};
  Index num_warps = 4, num_stages = 1;
  bool operator==(const RaggedPageAttentionv3Config&) const = default;
};

struct RaggedDecodeAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  bool operator==(const RaggedDecodeAttentionConfig&) const = default;
};

struct RecurrentAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;
  bool operator==(const RecurrentAttentionConfig&) const = default;
};

struct GLAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;
  bool operator==(const GLAttentionConfig&) const = default;
};

struct LightningAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;
  bool operator==(const LightningAttentionConfig&) const = default;
};

struct FlashMLAConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;
  bool operator==(const FlashMLAConfig&) const = default;
};

struct GroupedMatmulConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_m = 128, block_n = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;
  bool bypass_xla_tiling = false;
  bool operator==(const GroupedMatmulConfig&) const = default;
};

struct MeanPoolingConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_size = 64;
  Index num_warps = 4, num_stages = 1;
  bool operator==(const MeanPoolingConfig&) const = default;
};

/// A config of any operation; caches and tuners store this type.
using AnyConfig =
    std::variant<ScaledDotProductAttentionConfig, AttentionConfig, FlashAttentionConfig,
                 BlockSparseAttentionConfig, RingAttentionConfig, NativeSparseAttentionConfig,
                 PageAttentionConfig, RaggedPageAttentionConfig, RaggedPageAttentionv3Config,
                 RaggedDecodeAttentionConfig, RecurrentAttentionConfig, GLAttentionConfig,
                 LightningAttentionConfig, FlashMLAConfig, GroupedMatmulConfig, MeanPoolingConfig>;

/// A hash of which fields are set and of their values. Unlike in ejkernel, equal numbers in
/// different fields give different hashes.
std::size_t hash_of(const FwdParams& params);
std::size_t hash_of(const BwdParams& params);

}  // namespace maskctl::attention

template <class Params>
requires std::same_as<Params, maskctl::attention::FwdParams> ||
    std::same_as<Params, maskctl::attention::BwdParams>
struct std::hash<Params> {
  std::size_t operator()(const Params& params) const { return hash_of(params); }
};
