// The dense family by name.
#include "maskctl/attention/modules/attention.h"
#include "maskctl/attention/modules/blocksparse_attention.h"
#include "maskctl/attention/modules/flash_attention.h"
#include "maskctl/attention/modules/mla_attention.h"
#include "maskctl/attention/modules/ring_attention.h"
#include "maskctl/attention/modules/scaled_dot_product_attention.h"
#include "maskctl/attention/named/operations.h"
#include "maskctl/attention/named/run_op.h"

namespace maskctl::attention {
namespace {

constexpr NamedArray kQuery{"query", "B Tq Hq D", true};
constexpr NamedArray kKey{"key", "B Tk Hkv D", true};
constexpr NamedArray kValue{"value", "B Tk Hkv Dv", true};
constexpr NamedArray kBias{"bias", "B Hq Tq Tk"};
constexpr NamedArray kSinks{"softmax_aux", "S|Hkv S|Hq S"};
constexpr NamedArray kAttentionMask{"attention_mask", "B H Tq Tk|B Tq Tk|B Tk", false, true};
constexpr NamedArray kQuerySegments{"q_segment_ids", "B Tq", false, true};
constexpr NamedArray kKeySegments{"kv_segment_ids", "B Tk", false, true};
constexpr NamedOption kScale{"softmax_scale", "number; 1/sqrt(D)"};
constexpr NamedOption kCap{"logits_soft_cap", "number above 0"};
constexpr NamedOption kWindow{"sliding_window", "W or LEFT+RIGHT keys beside the own one"};
constexpr NamedOption kCausal{"causal", "true, false (default)"};
constexpr NamedOption kAlign{"causal_alignment", "top-left, bottom-right"};
constexpr NamedOption kEmptyRow{"empty_row", "zero (default), mean, nan"};

constexpr NamedArray kSdpaArrays[] = {
    kQuery,
    kKey,
    kValue,
    kAttentionMask,
    kBias,
    {"query_lengths", "B", false, true},
    {"key_lengths", "B", false, true},
};
constexpr NamedOption kSdpaOptions[] = {kCausal, kWindow, kAlign, kScale, kEmptyRow};

constexpr NamedArray kAttentionArrays[] = {kQuery, kKey, kValue, kAttentionMask, kBias, kSinks};
constexpr NamedOption kAttentionOptions[] = {
    kCausal,
    kWindow,
    kAlign,
    kScale,
    kCap,
    kEmptyRow,
    {"mask_with_bias", "and (default), ignore"},
    {"dropout_prob", "number in [0, 1)"},
    {"dropout_rng", "seed"},
    {"deterministic", "true (default): no dropout"},
};

constexpr NamedArray kFlashArrays[] = {
    kQuery,
    kKey,
    kValue,
    kAttentionMask,
    kBias,
    kSinks,
    kQuerySegments,
    kKeySegments,
    {"cum_seqlens_q", "N+1", false, true},
    {"cum_seqlens_k", "N+1", false, true},
};
constexpr NamedOption kFlashOptions[] = {
    kCausal,
    kWindow,
    kAlign,
    kScale,
    kCap,
    kEmptyRow,
    {"normalize_output", "true (default), false"},
    {"dropout_prob", "number in [0, 1)"},
    {"dropout_seed", "seed"},
    {"q_blocksize", "a hint; 0"},
    {"kv_blocksize", "a hint; 0"},
};

constexpr NamedArray kBlocksparseArrays[] = {
    {"query", "B Hq Tq D", true},
    {"key", "B Hkv Tk D", true},
    {"value", "B Hkv Tk Dv", true},
    {"block_mask", "nq nk|H nq nk|B H nq nk", false, true},
    kBias,
    kSinks,
    kQuerySegments,
    kKeySegments,
    {"q_positions", "B Tq", false, true},
    {"kv_positions", "B Tk", false, true},
};
constexpr NamedOption kBlocksparseOptions[] = {
    {"causal", "true (default), false"},
    kWindow,
    {"chunk_size", "tokens"},
    {"block_size", "tokens of a block of block_mask; 64"},
    {"sequence_parts", "parts of the queries, one after another; 1"},
    kScale,
    kCap,
    kEmptyRow,
    {"q_blocksize", "a hint; 0"},
    {"kv_blocksize", "a hint; 0"},
};

constexpr NamedArray kRingArrays[] = {kQuery, kKey,   kValue,         kAttentionMask,
                                      kBias,  kSinks, kQuerySegments, kKeySegments};
constexpr NamedOption kRingOptions[] = {
    kCausal,
    kWindow,
    kScale,
    kCap,
    kEmptyRow,
    {"ring_size", "ranks; 1"},
    {"causal_block_size", "tokens, without causal"},
    {"chunk_size", "tokens of chunked-causal attention"},
    {"attention_sink_size", "keys that stay inside the window; 0"},
    {"segment_padding", "negative (default), zero"},
    {"query_chunk_size", "a hint; 512"},
    {"key_chunk_size", "a hint; 512"},
    {"deterministic", "true (default): no dropout"},
    {"pdrop", "number in [0, 1)"},
    {"dropout_rng", "seed"},
};

constexpr NamedArray kMlaArrays[] = {
    {"query", "B Tq Hq D", true},
    {"key_value", "B Tk R", true},
    {"w_kc", "R Hkv D", true},
    {"w_vc", "R Hkv Dv", true},
    {"b_q", "B Tq P"},
    {"b_k", "B Tk P"},
    kAttentionMask,
    {"cu_seqlens", "N+1", false, true},
};
constexpr NamedOption kMlaOptions[] = {
    kCausal,
    kAlign,
    {"softmax_scale", "number; 1/sqrt(D + P)"},
    kEmptyRow,
    {"q_blocksize", "a hint; 0"},
    {"kv_blocksize", "a hint; 0"},
};

/// What all options of the family have.
template <class Options>
void read_common(Call& call, Options& options) {
  call.read("softmax_scale", options.softmax_scale);
  call.read("causal", options.causal);
  static constexpr std::string_view kRows[] = {"zero", "mean", "nan"};
  call.read("empty_row", options.empty_row, kRows);
}

void read_window(Call& call, std::optional<Window>& window) {
  if (const auto sides = call.window("sliding_window"))
    window = Window(sides->first, sides->second);
}

void read_align(Call& call, Align& align) {
  static constexpr std::string_view kAligns[] = {"unset", "top-left", "bottom-right"};
  call.read("causal_alignment", align, kAligns);
}

NamedResults run_sdpa(Call& call) {
  auto bound = bind<ScaledDotProductAttentionOp>(call);
  read_common(call, bound.options);
  read_window(call, bound.options.sliding_window);
  read_align(call, bound.options.causal_alignment);
  bound.options.mask = call.mask();
  return run_op(call, bound);
}

NamedResults run_attention(Call& call) {
  auto bound = bind<AttentionOp>(call);
  AttentionOptions& options = bound.options;
  read_common(call, options);
  read_window(call, options.sliding_window);
  read_align(call, options.causal_alignment);
  call.read("logits_soft_cap", options.logits_soft_cap);
  static constexpr std::string_view kWithBias[] = {"and", "ignore"};
  call.read("mask_with_bias", options.mask_with_bias, kWithBias);
  call.read("dropout_prob", options.dropout_prob);
  call.read("dropout_rng", options.dropout_rng);
  call.read("deterministic", options.deterministic);
  options.mask = call.mask();
  return run_op(call, bound);
}

NamedResults run_flash(Call& call) {
  auto bound = bind<FlashAttentionOp>(call);
  FlashAttentionOptions& options = bound.options;
  read_common(call, options);
  read_window(call, options.sliding_window);
  read_align(call, options.causal_alignment);
  call.read("logits_soft_cap", options.logits_soft_cap);
  call.read("normalize_output", options.normalize_output);
  call.read("dropout_prob", options.dropout_prob);
  call.read("dropout_seed", options.dropout_seed);
  call.read("q_blocksize", options.q_blocksize);
  call.read("kv_blocksize", options.kv_blocksize);
  options.mask = call.mask();
  return run_op(call, bound, true);
}

NamedResults run_blocksparse(Call& call) {
  auto bound = bind<BlockSparseAttentionOp>(call);
  BlocksparseAttentionOptions& options = bound.options;
  read_common(call, options);
  read_window(call, options.sliding_window);
  call.read("chunk_size", options.chunk_size);
  call.read("block_size", options.block_size);
  call.read("logits_soft_cap", options.logits_soft_cap);
  call.read("q_blocksize", options.q_blocksize);
  call.read("kv_blocksize", options.kv_blocksize);
  call.read("sequence_parts", options.sequence_parts);
  options.mask = call.lazy_mask();
  options.cell_mask = call.mask();
  return run_op(call, bound, true);
}

NamedResults run_ring(Call& call) {
  auto bound = bind<RingAttentionOp>(call);
  RingAttentionOptions& options = bound.options;
  read_common(call, options);
  read_window(call, options.sliding_window);
  call.read("logits_soft_cap", options.logits_soft_cap);
  call.read("ring_size", options.ring_size);
  call.read("causal_block_size", options.causal_block_size);
  call.read("chunk_size", options.chunk_size);
  call.read("attention_sink_size", options.attention_sink_size);
  static constexpr std::string_view kPaddings[] = {"negative", "zero"};
  call.read("segment_padding", options.segment_padding, kPaddings);
  call.read("query_chunk_size", options.query_chunk_size);
  call.read("key_chunk_size", options.key_chunk_size);
  call.read("deterministic", options.deterministic);
  call.read("pdrop", options.pdrop);
  call.read("dropout_rng", options.dropout_rng);
  options.mask = call.mask();
  return run_op(call, bound, true);
}

NamedResults run_mla(Call& call) {
  auto bound = bind<FlashMLAOp>(call);
  read_common(call, bound.options);
  read_align(call, bound.options.causal_alignment);
  call.read("q_blocksize", bound.options.q_blocksize);
  call.read("kv_blocksize", bound.options.kv_blocksize);
  bound.options.mask = call.mask();
  return run_op(call, bound);
}

constexpr NamedOperation kOperations[] = {
    {"flash_attention", "", "exact attention in O(T) memory", kFlashArrays, kFlashOptions, true,
     true, run_flash},
    {"ring_attention", "", "keys and values travel round a ring of ranks", kRingArrays,
     kRingOptions, true, true, run_ring},
    {"scaled_dot_product_attention", "", "the baseline", kSdpaArrays, kSdpaOptions, true, true,
     run_sdpa},
    {"attention", "", "dense attention that returns its weights", kAttentionArrays,
     kAttentionOptions, true, true, run_attention},
    {"blocksparse_attention", "", "lazy masks and maps of blocks, heads before time",
     kBlocksparseArrays, kBlocksparseOptions, true, true, run_blocksparse},
    {"mla_attention", "flash_mla", "keys and values rebuilt from a latent", kMlaArrays, kMlaOptions,
     true, true, run_mla},
};

}  // namespace

std::span<const NamedOperation> dense_operations() { return kOperations; }

}  // namespace maskctl::attention
