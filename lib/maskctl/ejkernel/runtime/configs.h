// How an operation is to be run: ejkernel's configuration classes, with its fields and defaults.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string_view>
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

  static constexpr std::string_view kName = "ScaledDotProductAttentionConfig";
  bool operator==(const ScaledDotProductAttentionConfig&) const = default;
};

struct AttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;

  static constexpr std::string_view kName = "AttentionConfig";
  bool operator==(const AttentionConfig&) const = default;
};

struct FlashAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  std::optional<BwdParams> bwd_params = {};

  static constexpr std::string_view kName = "FlashAttentionConfig";
  bool operator==(const FlashAttentionConfig&) const = default;
};

struct BlockSparseAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  std::optional<BwdParams> bwd_params = {};

  static constexpr std::string_view kName = "BlockSparseAttentionConfig";
  bool operator==(const BlockSparseAttentionConfig&) const = default;
};

struct RingAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128, query_chunk_size = 512, key_chunk_size = 512;
  Index num_warps = 4, num_stages = 2;

  static constexpr std::string_view kName = "RingAttentionConfig";
  bool operator==(const RingAttentionConfig&) const = default;
};

/// ejkernel keeps the block_size of native sparse attention here. It is part of the meaning, so the
/// operation takes it as an argument and ignores this one.
struct NativeSparseAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64, block_size = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "NativeSparseAttentionConfig";
  bool operator==(const NativeSparseAttentionConfig&) const = default;
};

struct PageAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index num_splits = 0;  // 0: the kernel's own choice
  std::optional<Index> pages_per_compute_block = {};
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "PageAttentionConfig";
  bool operator==(const PageAttentionConfig&) const = default;
};

struct RaggedPageAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<Index> num_kv_pages_per_block = {}, num_queries_per_block = {};
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "RaggedPageAttentionConfig";
  bool operator==(const RaggedPageAttentionConfig&) const = default;
};

struct RaggedPageAttentionv3Config {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<Index> chunk_prefill_size = {}, num_kv_pages_per_block = {},
                       num_queries_per_block = {};
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "RaggedPageAttentionv3Config";
  bool operator==(const RaggedPageAttentionv3Config&) const = default;
};

struct RaggedDecodeAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};

  static constexpr std::string_view kName = "RaggedDecodeAttentionConfig";
  bool operator==(const RaggedDecodeAttentionConfig&) const = default;
};

struct RecurrentAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "RecurrentAttentionConfig";
  bool operator==(const RecurrentAttentionConfig&) const = default;
};

struct GLAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "GLAttentionConfig";
  bool operator==(const GLAttentionConfig&) const = default;
};

struct LightningAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "LightningAttentionConfig";
  bool operator==(const LightningAttentionConfig&) const = default;
};

struct FlashMLAConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;

  static constexpr std::string_view kName = "FlashMLAConfig";
  bool operator==(const FlashMLAConfig&) const = default;
};

struct GroupedMatmulConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_m = 128, block_n = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;
  bool bypass_xla_tiling = false;

  static constexpr std::string_view kName = "GroupedMatmulConfig";
  bool operator==(const GroupedMatmulConfig&) const = default;
};

struct MeanPoolingConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_size = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "MeanPoolingConfig";
  bool operator==(const MeanPoolingConfig&) const = default;
};

/// A config of any operation: what caches and tuners hold.
using AnyConfig =
    std::variant<ScaledDotProductAttentionConfig, AttentionConfig, FlashAttentionConfig,
                 BlockSparseAttentionConfig, RingAttentionConfig, NativeSparseAttentionConfig,
                 PageAttentionConfig, RaggedPageAttentionConfig, RaggedPageAttentionv3Config,
                 RaggedDecodeAttentionConfig, RecurrentAttentionConfig, GLAttentionConfig,
                 LightningAttentionConfig, FlashMLAConfig, GroupedMatmulConfig, MeanPoolingConfig>;

/// f(name, value) for each field that a config, or its FwdParams or BwdParams, has. The one list of
/// their names, which text, parsing, checks and hashes go by.
template <class Config, class F>
void for_each_field(Config& c, F&& f) {
  if constexpr (requires { c.platform; }) f("platform", c.platform);
  if constexpr (requires { c.backend; }) f("backend", c.backend);
  if constexpr (requires { c.fwd_params; }) f("fwd_params", c.fwd_params);
  if constexpr (requires { c.bwd_params; }) f("bwd_params", c.bwd_params);
  if constexpr (requires { c.blocksize_m; }) f("blocksize_m", c.blocksize_m);
  if constexpr (requires { c.blocksize_k; }) f("blocksize_k", c.blocksize_k);
  if constexpr (requires { c.blocksize_n; }) f("blocksize_n", c.blocksize_n);
  if constexpr (requires { c.q_blocksize; }) f("q_blocksize", c.q_blocksize);
  if constexpr (requires { c.kv_blocksize; }) f("kv_blocksize", c.kv_blocksize);
  if constexpr (requires { c.blocksize_heads; }) f("blocksize_heads", c.blocksize_heads);
  if constexpr (requires { c.blocksize_keys; }) f("blocksize_keys", c.blocksize_keys);
  if constexpr (requires { c.num_key_splits; }) f("num_key_splits", c.num_key_splits);
  if constexpr (requires { c.block_q; }) f("block_q", c.block_q);
  if constexpr (requires { c.block_m; }) f("block_m", c.block_m);
  if constexpr (requires { c.block_n; }) f("block_n", c.block_n);
  if constexpr (requires { c.block_k; }) f("block_k", c.block_k);
  if constexpr (requires { c.block_d; }) f("block_d", c.block_d);
  if constexpr (requires { c.block_size; }) f("block_size", c.block_size);
  if constexpr (requires { c.query_chunk_size; }) f("query_chunk_size", c.query_chunk_size);
  if constexpr (requires { c.key_chunk_size; }) f("key_chunk_size", c.key_chunk_size);
  if constexpr (requires { c.num_splits; }) f("num_splits", c.num_splits);
  if constexpr (requires { c.pages_per_compute_block; })
    f("pages_per_compute_block", c.pages_per_compute_block);
  if constexpr (requires { c.chunk_prefill_size; }) f("chunk_prefill_size", c.chunk_prefill_size);
  if constexpr (requires { c.num_kv_pages_per_block; })
    f("num_kv_pages_per_block", c.num_kv_pages_per_block);
  if constexpr (requires { c.num_queries_per_block; })
    f("num_queries_per_block", c.num_queries_per_block);
  if constexpr (requires { c.num_warps; }) f("num_warps", c.num_warps);
  if constexpr (requires { c.num_stages; }) f("num_stages", c.num_stages);
  if constexpr (requires { c.bypass_xla_tiling; }) f("bypass_xla_tiling", c.bypass_xla_tiling);
}

/// Fields that both hold, in order: unlike ejkernel's hash, equal numbers in different fields
/// differ.
std::size_t hash_of(const FwdParams& params);
std::size_t hash_of(const BwdParams& params);

}  // namespace maskctl::attention

template <class Params>
requires std::same_as<Params, maskctl::attention::FwdParams> ||
    std::same_as<Params, maskctl::attention::BwdParams>
struct std::hash<Params> {
  std::size_t operator()(const Params& params) const { return hash_of(params); }
};
