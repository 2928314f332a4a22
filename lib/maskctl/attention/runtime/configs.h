// How an operation is to be run: the seed's configuration classes, with its fields and defaults.
#pragma once

#include <functional>
#include <variant>

#include "maskctl/attention/runtime/config_fields.h"
#include "maskctl/attention/runtime/platform.h"

namespace maskctl::attention {

// Every number is a hint, in tokens (block...), pages, heads, warps or stages, above 0; none
// changes a result. A kernel ignores what it does not have: CPU kernels have no warps and stages.

/// Tile sizes of a forward pass; what is absent is the kernel's own choice.
struct FwdParams {
  std::optional<Index> blocksize_m = {}, blocksize_k = {}, blocksize_n = {};
  std::optional<Index> q_blocksize = {}, kv_blocksize = {};
  std::optional<Index> blocksize_heads = {}, blocksize_keys = {}, num_key_splits = {};
  std::optional<Index> num_warps = {}, num_stages = {};

  static constexpr auto fields() {
    using C = FwdParams;
    return std::tuple_cat(pass_fields<C>(),
                          std::tuple{ConfigField{"blocksize_heads", &C::blocksize_heads},
                                     ConfigField{"blocksize_keys", &C::blocksize_keys},
                                     ConfigField{"num_key_splits", &C::num_key_splits}},
                          launch_fields<C>());
  }
  friend bool operator==(const FwdParams&, const FwdParams&) = default;
};

/// Tile sizes of a backward pass.
struct BwdParams {
  std::optional<Index> blocksize_m = {}, blocksize_k = {}, blocksize_n = {};
  std::optional<Index> q_blocksize = {}, kv_blocksize = {};
  std::optional<Index> num_warps = {}, num_stages = {};

  static constexpr auto fields() {
    return std::tuple_cat(pass_fields<BwdParams>(), launch_fields<BwdParams>());
  }
  friend bool operator==(const BwdParams&, const BwdParams&) = default;
};

struct ScaledDotProductAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;

  static constexpr std::string_view kName = "ScaledDotProductAttentionConfig";
  static constexpr auto fields() { return platform_fields<ScaledDotProductAttentionConfig>(); }
  friend bool operator==(const ScaledDotProductAttentionConfig&,
                         const ScaledDotProductAttentionConfig&) = default;
};

struct AttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;

  static constexpr std::string_view kName = "AttentionConfig";
  static constexpr auto fields() {
    using C = AttentionConfig;
    return std::tuple_cat(platform_fields<C>(), tile_fields<C>(), launch_fields<C>());
  }
  friend bool operator==(const AttentionConfig&, const AttentionConfig&) = default;
};

struct FlashAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  std::optional<BwdParams> bwd_params = {};

  static constexpr std::string_view kName = "FlashAttentionConfig";
  static constexpr auto fields() {
    using C = FlashAttentionConfig;
    return std::tuple_cat(platform_fields<C>(),
                          std::tuple{ConfigField{"fwd_params", &C::fwd_params},
                                     ConfigField{"bwd_params", &C::bwd_params}});
  }
  friend bool operator==(const FlashAttentionConfig&, const FlashAttentionConfig&) = default;
};

struct BlockSparseAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};
  std::optional<BwdParams> bwd_params = {};

  static constexpr std::string_view kName = "BlockSparseAttentionConfig";
  static constexpr auto fields() {
    using C = BlockSparseAttentionConfig;
    return std::tuple_cat(platform_fields<C>(),
                          std::tuple{ConfigField{"fwd_params", &C::fwd_params},
                                     ConfigField{"bwd_params", &C::bwd_params}});
  }
  friend bool operator==(const BlockSparseAttentionConfig&,
                         const BlockSparseAttentionConfig&) = default;
};

struct RingAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128, query_chunk_size = 512, key_chunk_size = 512;
  Index num_warps = 4, num_stages = 2;

  static constexpr std::string_view kName = "RingAttentionConfig";
  static constexpr auto fields() {
    using C = RingAttentionConfig;
    return std::tuple_cat(platform_fields<C>(), tile_fields<C>(),
                          std::tuple{ConfigField{"query_chunk_size", &C::query_chunk_size},
                                     ConfigField{"key_chunk_size", &C::key_chunk_size}},
                          launch_fields<C>());
  }
  friend bool operator==(const RingAttentionConfig&, const RingAttentionConfig&) = default;
};

/// The seed keeps the block_size of native sparse attention here. It is part of the meaning, so the
/// operation takes it as an argument and ignores this one.
struct NativeSparseAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64, block_size = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "NativeSparseAttentionConfig";
  static constexpr auto fields() {
    using C = NativeSparseAttentionConfig;
    return std::tuple_cat(
        platform_fields<C>(), tile_fields<C>(),
        std::tuple{ConfigField{"block_d", &C::block_d}, ConfigField{"block_size", &C::block_size}},
        launch_fields<C>());
  }
  friend bool operator==(const NativeSparseAttentionConfig&,
                         const NativeSparseAttentionConfig&) = default;
};

struct PageAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index num_splits = 0;  // 0: the kernel's own choice
  std::optional<Index> pages_per_compute_block = {};
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "PageAttentionConfig";
  static constexpr auto fields() {
    using C = PageAttentionConfig;
    return std::tuple_cat(
        platform_fields<C>(),
        std::tuple{ConfigField{"num_splits", &C::num_splits},
                   ConfigField{"pages_per_compute_block", &C::pages_per_compute_block}},
        launch_fields<C>());
  }
  friend bool operator==(const PageAttentionConfig&, const PageAttentionConfig&) = default;
};

struct RaggedPageAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<Index> num_kv_pages_per_block = {}, num_queries_per_block = {};
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "RaggedPageAttentionConfig";
  static constexpr auto fields() {
    using C = RaggedPageAttentionConfig;
    return std::tuple_cat(
        platform_fields<C>(),
        std::tuple{ConfigField{"num_kv_pages_per_block", &C::num_kv_pages_per_block},
                   ConfigField{"num_queries_per_block", &C::num_queries_per_block}},
        launch_fields<C>());
  }
  friend bool operator==(const RaggedPageAttentionConfig&,
                         const RaggedPageAttentionConfig&) = default;
};

struct RaggedPageAttentionv3Config {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<Index> chunk_prefill_size = {}, num_kv_pages_per_block = {},
                       num_queries_per_block = {};
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "RaggedPageAttentionv3Config";
  static constexpr auto fields() {
    using C = RaggedPageAttentionv3Config;
    return std::tuple_cat(
        platform_fields<C>(),
        std::tuple{ConfigField{"chunk_prefill_size", &C::chunk_prefill_size},
                   ConfigField{"num_kv_pages_per_block", &C::num_kv_pages_per_block},
                   ConfigField{"num_queries_per_block", &C::num_queries_per_block}},
        launch_fields<C>());
  }
  friend bool operator==(const RaggedPageAttentionv3Config&,
                         const RaggedPageAttentionv3Config&) = default;
};

struct RaggedDecodeAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  std::optional<FwdParams> fwd_params = {};

  static constexpr std::string_view kName = "RaggedDecodeAttentionConfig";
  static constexpr auto fields() {
    using C = RaggedDecodeAttentionConfig;
    return std::tuple_cat(platform_fields<C>(),
                          std::tuple{ConfigField{"fwd_params", &C::fwd_params}});
  }
  friend bool operator==(const RaggedDecodeAttentionConfig&,
                         const RaggedDecodeAttentionConfig&) = default;
};

/// The linear family has equal fields; the classes differ in type and name.
template <class C>
constexpr auto linear_fields() {
  return std::tuple_cat(platform_fields<C>(), tile_fields<C>(),
                        std::tuple{ConfigField{"block_d", &C::block_d}}, launch_fields<C>());
}

struct RecurrentAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "RecurrentAttentionConfig";
  static constexpr auto fields() { return linear_fields<RecurrentAttentionConfig>(); }
  friend bool operator==(const RecurrentAttentionConfig&,
                         const RecurrentAttentionConfig&) = default;
};

struct GLAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "GLAttentionConfig";
  static constexpr auto fields() { return linear_fields<GLAttentionConfig>(); }
  friend bool operator==(const GLAttentionConfig&, const GLAttentionConfig&) = default;
};

struct LightningAttentionConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 64, block_k = 64, block_d = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "LightningAttentionConfig";
  static constexpr auto fields() { return linear_fields<LightningAttentionConfig>(); }
  friend bool operator==(const LightningAttentionConfig&,
                         const LightningAttentionConfig&) = default;
};

struct FlashMLAConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_q = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;

  static constexpr std::string_view kName = "FlashMLAConfig";
  static constexpr auto fields() {
    using C = FlashMLAConfig;
    return std::tuple_cat(platform_fields<C>(), tile_fields<C>(), launch_fields<C>());
  }
  friend bool operator==(const FlashMLAConfig&, const FlashMLAConfig&) = default;
};

struct GroupedMatmulConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_m = 128, block_n = 128, block_k = 128;
  Index num_warps = 4, num_stages = 2;
  bool bypass_xla_tiling = false;

  static constexpr std::string_view kName = "GroupedMatmulConfig";
  static constexpr auto fields() {
    using C = GroupedMatmulConfig;
    return std::tuple_cat(
        platform_fields<C>(),
        std::tuple{ConfigField{"block_m", &C::block_m}, ConfigField{"block_n", &C::block_n},
                   ConfigField{"block_k", &C::block_k}},
        launch_fields<C>(), std::tuple{ConfigField{"bypass_xla_tiling", &C::bypass_xla_tiling}});
  }
  friend bool operator==(const GroupedMatmulConfig&, const GroupedMatmulConfig&) = default;
};

struct MeanPoolingConfig {
  Platform platform = Platform::kAuto;
  DeviceKind backend = DeviceKind::kAny;
  Index block_size = 64;
  Index num_warps = 4, num_stages = 1;

  static constexpr std::string_view kName = "MeanPoolingConfig";
  static constexpr auto fields() {
    using C = MeanPoolingConfig;
    return std::tuple_cat(platform_fields<C>(),
                          std::tuple{ConfigField{"block_size", &C::block_size}},
                          launch_fields<C>());
  }
  friend bool operator==(const MeanPoolingConfig&, const MeanPoolingConfig&) = default;
};

/// A config of any operation: what caches and tuners hold.
using AnyConfig =
    std::variant<ScaledDotProductAttentionConfig, AttentionConfig, FlashAttentionConfig,
                 BlockSparseAttentionConfig, RingAttentionConfig, NativeSparseAttentionConfig,
                 PageAttentionConfig, RaggedPageAttentionConfig, RaggedPageAttentionv3Config,
                 RaggedDecodeAttentionConfig, RecurrentAttentionConfig, GLAttentionConfig,
                 LightningAttentionConfig, FlashMLAConfig, GroupedMatmulConfig, MeanPoolingConfig>;

/// Fields that both hold, in order: unlike the seed's hash, equal numbers in different fields
/// differ.
std::size_t hash_of(const FwdParams& params);
std::size_t hash_of(const BwdParams& params);

}  // namespace maskctl::attention

template <>
struct std::hash<maskctl::attention::FwdParams> {
  std::size_t operator()(const maskctl::attention::FwdParams& params) const {
    return maskctl::attention::hash_of(params);
  }
};
template <>
struct std::hash<maskctl::attention::BwdParams> {
  std::size_t operator()(const maskctl::attention::BwdParams& params) const {
    return maskctl::attention::hash_of(params);
  }
};
