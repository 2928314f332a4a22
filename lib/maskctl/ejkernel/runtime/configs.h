// How an operation is to be run: ejkernel's configuration classes, with its fields and defaults.
// config_rows.h has a row for each: its name, and those of its fields.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <optional>
#include <variant>

#include "maskctl/base/index.h"
#include "maskctl/ejkernel/runtime/platform.h"

namespace maskctl::attention {

// Every number is a hint, in tokens (block...), pages, heads, warps or stages, above 0; none
// changes a result. A kernel ignores what it does not have: CPU kernels have no warps and stages.

/// Tile sizes of a forward pass; what is absent is the kernel's own choice.
struct FwdParams {
  std::optional<Index> blocksize_m = {}, blocksize_k = {}, blocksize_n = {};
  std::optional<Index> q_blocksize = {}, kv_blocksize = {};
  std::optional<Index> blocksize_heads = {}, blocksize_keys = {}, num_key_splits = {};
  std::optional<Index> num_warps = {}, num_stages = {};
  bool operator==(const FwdParams&) const = default;
};

/// Tile sizes of a backward pass.
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

/// ejkernel keeps the block_size of native sparse attention here. It is part of the meaning, so the
/// operation takes it as an argument and ignores this one.
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
  Index num_splits = 0;  // 0: the kernel's own choice
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

/// A config of any operation: what caches and tuners hold.
using AnyConfig =
    std::variant<ScaledDotProductAttentionConfig, AttentionConfig, FlashAttentionConfig,
                 BlockSparseAttentionConfig, RingAttentionConfig, NativeSparseAttentionConfig,
                 PageAttentionConfig, RaggedPageAttentionConfig, RaggedPageAttentionv3Config,
                 RaggedDecodeAttentionConfig, RecurrentAttentionConfig, GLAttentionConfig,
                 LightningAttentionConfig, FlashMLAConfig, GroupedMatmulConfig, MeanPoolingConfig>;

/// A hash of which fields are present and of their numbers: unlike ejkernel's, equal numbers in
/// different fields differ.
std::size_t hash_of(const FwdParams& params);
std::size_t hash_of(const BwdParams& params);

}  // namespace maskctl::attention

template <class Params>
requires std::same_as<Params, maskctl::attention::FwdParams> ||
    std::same_as<Params, maskctl::attention::BwdParams>
struct std::hash<Params> {
  std::size_t operator()(const Params& params) const { return hash_of(params); }
};
