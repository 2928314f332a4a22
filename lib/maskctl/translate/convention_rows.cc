// The table of conventions: one row per call of each library.
#include <utility>

#include "maskctl/translate/conventions.h"

namespace maskctl {
namespace {

constexpr auto kTop = Align::kTopLeft;
constexpr auto kBottom = Align::kBottomRight;
constexpr auto kGiven = Align::kUnset;
// Stands for "unbounded" in libraries without a word for it: past every length, within 32 bits.
constexpr std::string_view kPast = "2**30";

const Argument kDropout{"dropout_p", Says::kNothing, "0.0"};
const Argument kScale{"softmax_scale", Says::kNothing, "None"};
const Argument kFaCausal{"causal", Says::kCausal, "False"};
const Argument kFaWindow{"window_size", Says::kSides, "(-1, -1)"};
const Argument kFaChunk{"attention_chunk", Says::kChunk, "0"};
const Argument kTeType{"attn_mask_type", Says::kMaskType, "\"causal\""};
const Argument kTeWindow{"window_size", Says::kSides, "None"};
const Argument kTeDiagonal{"bottom_right_diagonal", Says::kBottomRight, "None"};
const Argument kLeftBound{"diagonal_band_left_bound", Says::kLeftKeys, "None"};
const Argument kRightBound{"diagonal_band_right_bound", Says::kRight, "None"};
const Argument kCudnnAlign{"diagonal_alignment", Says::kAlignment, "TOP_LEFT"};
const Argument kUseCausal{"use_causal_mask", Says::kCausal, "False"};
const Argument kFiCausal{"causal", Says::kCausal, "False"};
const Argument kFiWindow{"window_left", Says::kLeft, "-1"};
const Argument kQ{"q_seqlen", Says::kLengths, ""};
const Argument kKv{"kv_seqlen", Says::kKeyLengths, "None"};
const Argument kKvPadding{"kv_padding", Says::kKeyStride, ""};
const Argument kOwnWindow{"_window_size", Says::kKeys, ""};
const Argument kLeft{"window_left", Says::kLeft, ""};
const Argument kRight{"window_right", Says::kRight, ""};
const Argument kWindowSize{"window_size", Says::kKeys, ""};
const Argument kEjCausal{"causal", Says::kCausal, "False"};
const Argument kEjWindow{"sliding_window", Says::kSidesOrBoth, "None"};

constexpr std::string_view kFaOverrides = "causal=True sets the right side to 0";
constexpr std::string_view kTeOverrides =
    "causal types set the right side to 0 and the alignment; no_mask and padding refuse one-sided "
    "windows, and (-1, 0) is (-1, -1)";
constexpr std::string_view kAttnBias = "xformers attn_bias.py";

Convention row(Library library, std::string_view call, Align align, bool causal, bool documents,
               std::string_view unbounded, std::string_view leading,
               std::vector<Argument> arguments, std::string_view overrides, std::string_view source,
               bool no_empty_rows = false, bool written = true, std::string_view object = {},
               std::string_view spelled = {}) {
  return {library,   call,      align,         causal,
          documents, unbounded, leading,       std::move(arguments),
          overrides, source,    no_empty_rows, written,
          object,    spelled};
}

// From each library's own source or documentation; --to tries the calls in this order.
const std::vector<Convention>& table() {
  static const std::vector<Convention> kTable = {
      row(Library::kFa, "flash_attn_func", kBottom, false, false, "-1", "q, k, v",
          {kDropout, kScale, kFaCausal, kFaWindow, kFaChunk}, kFaOverrides,
          "flash-attention README, hopper/mask.h"),
      row(Library::kFa, "flash_attn_varlen_func", kBottom, false, true, "-1", "q, k, v",
          {{"cu_seqlens_q", Says::kEnds, ""},
           {"cu_seqlens_k", Says::kKeyEnds, ""},
           {"max_seqlen_q", Says::kNothing, ""},
           {"max_seqlen_k", Says::kNothing, ""},
           kDropout,
           kScale,
           kFaCausal,
           kFaWindow,
           kFaChunk},
          kFaOverrides, "flash-attention README, hopper/mask.h"),
      row(Library::kFa, "flash_attn_with_kvcache", kBottom, false, false, "-1",
          "q, k_cache, v_cache", {kFaCausal, kFaWindow, kFaChunk}, kFaOverrides,
          "flash-attention README, hopper/mask.h", false, false),

      row(Library::kTe, "DotProductAttention", kGiven, false, false, "-1", "q, k, v",
          {kTeType, kTeWindow, kTeDiagonal}, kTeOverrides,
          "TransformerEngine dot_product_attention.py, utils.py check_set_window_size", false, true,
          "attention = DotProductAttention(num_heads, head_dim)", "attention"),
      row(Library::kTe, "DotProductAttention", kGiven, false, true, "-1", "q, k, v",
          {{"qkv_format", Says::kNothing, "\"sbhd\""},
           {"cu_seqlens_q", Says::kEnds, ""},
           {"cu_seqlens_kv", Says::kKeyEnds, ""},
           kTeType,
           kTeWindow,
           kTeDiagonal},
          kTeOverrides,
          "TransformerEngine dot_product_attention.py, utils.py check_set_window_size", false, true,
          "attention = DotProductAttention(num_heads, head_dim)", "attention"),

      row(Library::kCudnn, "graph.sdpa", kGiven, false, false, "None", "q=q, k=k, v=v",
          {kUseCausal, kCudnnAlign, kLeftBound, kRightBound},
          "use_causal_mask sets the right bound to 0",
          "cudnn-frontend docs/operations/Attention.md"),
      row(Library::kCudnn, "graph.sdpa", kGiven, false, true, "None", "q=q, k=k, v=v",
          {{"use_padding_mask", Says::kNothing, "False"},
           {"seq_len_q", Says::kLengths, ""},
           {"seq_len_kv", Says::kKeyLengths, ""},
           kUseCausal,
           kCudnnAlign,
           kLeftBound,
           kRightBound},
          "use_causal_mask sets the right bound to 0",
          "cudnn-frontend docs/operations/Attention.md"),

      row(Library::kXformers, "LowerTriangularMask", kTop, true, false, "", "", {}, "", kAttnBias),
      row(Library::kXformers, "LowerTriangularFromBottomRightMask", kBottom, true, false, "", "",
          {}, "", kAttnBias),
      row(Library::kXformers, "LowerTriangularFromBottomRightLocalAttentionMask", kBottom, true,
          false, "", "", {kOwnWindow}, "", kAttnBias),
      row(Library::kXformers, "LocalAttentionFromBottomRightMask", kBottom, false, false, kPast, "",
          {kLeft, kRight}, "", kAttnBias),
      row(Library::kXformers, "BlockDiagonalMask.from_seqlens", kTop, false, true, "", "",
          {kQ, kKv}, "", kAttnBias),
      row(Library::kXformers, "BlockDiagonalMask.from_seqlens.make_causal", kTop, true, true, "",
          "", {kQ, kKv}, "", kAttnBias),
      row(Library::kXformers, "BlockDiagonalMask.from_seqlens.make_causal_from_bottomright",
          kBottom, true, true, "", "", {kQ, kKv}, "", kAttnBias, true),
      row(Library::kXformers, "BlockDiagonalMask.from_seqlens.make_local_attention", kTop, true,
          true, "", "", {kQ, kKv, kWindowSize}, "", kAttnBias, true),
      row(Library::kXformers,
          "BlockDiagonalMask.from_seqlens.make_local_attention_from_bottomright", kBottom, true,
          true, "", "", {kQ, kKv, kWindowSize}, "", kAttnBias, true),
      row(Library::kXformers, "LowerTriangularFromBottomRightMask.make_local_attention", kBottom,
          true, false, "", "", {kWindowSize}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalMask.from_seqlens", kTop, true, true, "", "",
          {kQ, kKv}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalFromBottomRightMask.from_seqlens", kBottom, true,
          true, "", "", {kQ, kKv}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalPaddedKeysMask.from_seqlens", kBottom, false, true, "",
          "", {kQ, kKvPadding, kKv}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens", kBottom,
          true, true, "", "", {kQ, kKvPadding, kKv}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalLocalAttentionPaddedKeysMask.from_seqlens_local",
          kBottom, false, true, "", "", {kQ, kKvPadding, kKv, kLeft, kRight}, "", kAttnBias, false,
          false),
      row(Library::kXformers, "BlockDiagonalCausalLocalAttentionPaddedKeysMask.from_seqlens_local",
          kBottom, true, true, "", "", {kQ, kKvPadding, kKv, kWindowSize}, "", kAttnBias, false,
          false),
      // The rule inside one document; the lengths of documents are left out.
      row(Library::kXformers, "BlockDiagonalMask", kTop, false, false, "", "", {}, "", kAttnBias,
          false, false),
      row(Library::kXformers, "BlockDiagonalCausalMask", kTop, true, false, "", "", {}, "",
          kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalFromBottomRightMask", kBottom, true, false, "",
          "", {}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalLocalAttentionMask", kTop, true, false, "", "",
          {kOwnWindow}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalLocalAttentionFromBottomRightMask", kBottom, true,
          false, "", "", {kOwnWindow}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalPaddedKeysMask", kBottom, false, false, "", "", {}, "",
          kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalWithOffsetPaddedKeysMask", kBottom, true, false,
          "", "", {}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalLocalAttentionPaddedKeysMask", kBottom, false, false,
          "", "", {kLeft, kRight}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalLocalAttentionPaddedKeysMask", kBottom, true,
          false, "", "", {kOwnWindow}, "", kAttnBias, false, false),
      row(Library::kXformers, "PagedBlockDiagonalPaddedKeysMask", kBottom, false, false, "", "", {},
          "", kAttnBias, false, false),
      row(Library::kXformers, "PagedBlockDiagonalCausalWithOffsetPaddedKeysMask", kBottom, true,
          false, "", "", {}, "", kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalGappyKeysMask", kBottom, false, false, "", "", {}, "",
          kAttnBias, false, false),
      row(Library::kXformers, "BlockDiagonalCausalWithOffsetGappyKeysMask", kBottom, true, false,
          "", "", {}, "", kAttnBias, false, false),
      row(Library::kXformers, "PagedBlockDiagonalGappyKeysMask", kBottom, false, false, "", "", {},
          "", kAttnBias, false, false),
      row(Library::kXformers, "PagedBlockDiagonalCausalWithOffsetGappyKeysMask", kBottom, true,
          false, "", "", {}, "", kAttnBias, false, false),

      row(Library::kFlashinfer, "single_prefill_with_kv_cache", kBottom, false, false, "-1",
          "q, k, v", {kFiCausal, kFiWindow}, "custom_mask drops causal",
          "flashinfer variants.cuh, prefill.py"),
      row(Library::kFlashinfer, "plan", kBottom, false, true, "-1", "",
          {{"qo_indptr", Says::kEnds, ""},
           {"kv_indptr", Says::kKeyEnds, ""},
           {"num_qo_heads", Says::kNothing, ""},
           {"num_kv_heads", Says::kNothing, ""},
           {"head_dim_qk", Says::kNothing, ""},
           kFiCausal,
           kFiWindow},
          "custom_mask drops causal", "flashinfer variants.cuh, prefill.py", false, true,
          "wrapper = BatchPrefillWithRaggedKVCacheWrapper(workspace)", "wrapper.plan"),

      row(Library::kVllm, "Attention", kBottom, true, false, "None", "num_heads, head_size, scale",
          {{"per_layer_sliding_window", Says::kKeys, "None"}}, "a document is a request of its own",
          "vllm#9679: flash-attn gets (W - 1, 0)"),
      row(Library::kVllm, "ChunkedLocalAttention", kBottom, true, false, "None",
          "num_heads, head_size, scale", {{"attention_chunk_size", Says::kChunk, ""}},
          "a document is a request of its own",
          "vllm model_executor/layers/attention/chunked_local_attention.py"),
      row(Library::kVllm, "EncoderOnlyAttention", kBottom, false, false, "None",
          "num_heads, head_size, scale",
          {{"attn_type", Says::kNothing, ""},
           {"per_layer_sliding_window", Says::kKeysAround, "None"}},
          "a document is a request of its own",
          "vllm v1/attention/backends/flash_attn.py: (W - 1, W - 1)"),
      row(Library::kVllm, "config", kBottom, true, false, "None", "",
          {{"sliding_window", Says::kKeys, "None"}}, "a document is a request of its own",
          "vllm#9679: flash-attn gets (W - 1, 0)", false, false),

      row(Library::kEjkernelFlash, "flash_attention", kGiven, false, false, kPast, "q, k, v",
          {kEjCausal, kEjWindow},
          "causal=True sets the right side to 0; XLA is top-left, Triton bottom-right",
          "ejkernel operations/flash_attention, _triton_impl_fwd.py, _xla_impl_fwd.py"),
      row(Library::kEjkernelFlash, "flash_attention", kGiven, false, true, kPast, "q, k, v",
          {{"cum_seqlens_q", Says::kEnds, ""},
           {"cum_seqlens_k", Says::kKeyEnds, ""},
           kEjCausal,
           kEjWindow},
          "causal=True sets the right side to 0; XLA is top-left, Triton bottom-right",
          "ejkernel operations/flash_attention"),
      row(Library::kEjkernelRagged, "ragged_page_attention", kBottom, true, false, "None",
          "*arrays", {{"sliding_window", Says::kKeys, "None"}},
          "a document is a sequence of its own; Triton's window is one key wider",
          "ejkernel _xla_impl_fwd.py, _kernel.py"),
      // Keywords of MaskInfo's transforms; other code reads and writes the class with its methods.
      row(Library::kEjkernel, "MaskInfo", kTop, false, false, kPast, "",
          {kEjCausal, kEjWindow, {"chunk_size", Says::kCausalChunk, "None"}},
          "apply_chunked is causal too", "ejkernel types/mask.py"),

      row(Library::kSdpa, "scaled_dot_product_attention", kTop, false, false, "", "q, k, v",
          {{"attn_mask", Says::kNothing, "None"},
           {"is_causal", Says::kCausal, "False"},
           {"dropout_p", Says::kNothing, "0.0"},
           {"scale", Says::kNothing, "None"},
           {"enable_gqa", Says::kNothing, "False"}},
          "attn_mask and is_causal together are refused", "torch scaled_dot_product_attention"),
      row(Library::kSdpa, "causal_upper_left", kTop, true, false, "", "Q_LEN, KV_LEN", {}, "",
          "torch.nn.attention.bias"),
      row(Library::kSdpa, "causal_lower_right", kBottom, true, false, "", "Q_LEN, KV_LEN", {}, "",
          "torch.nn.attention.bias"),

      row(Library::kJax, "dot_product_attention", kTop, false, false, kPast, "q, k, v",
          {{"mask", Says::kNothing, "None"},
           {"is_causal", Says::kCausal, "False"},
           {"local_window_size", Says::kSidesOrBoth, "None"},
           {"query_seq_lengths", Says::kValidQueries, "None"},
           {"key_value_seq_lengths", Says::kValidKeys, "None"},
           {"scale", Says::kNothing, "None"},
           {"implementation", Says::kNothing, "None"}},
          "all conditions are joined by and", "jax/_src/nn/functions.py _apply_masks"),

      row(Library::kFlashmask, "flashmask_attention", kTop, false, false, "None", "q, k, v",
          {{"causal", Says::kCausal, "True"}, {"window_size", Says::kKeys, "None"}}, "",
          "flashmask/tests/generate_startend_row_indices.py"),

      row(Library::kHf, "config", kBottom, true, false, "None", "",
          {{"is_causal", Says::kCausal, "True"},
           {"sliding_window", Says::kKeys, "None"},
           {"attention_chunk_size", Says::kChunk, "None"}},
          "without causal a window is W on either side; chunks are causal, counted from the first "
          "cached token; position_ids that start again count everything from each document's "
          "start, in causal masks only",
          "transformers masking_utils.py"),

      row(Library::kSplash, "FullMask", kTop, false, false, "", "(Q_LEN, KV_LEN)", {}, "",
          "jax splash_attention_mask.py"),
      row(Library::kSplash, "CausalMask", kGiven, true, false, "", "(Q_LEN, KV_LEN)",
          {{"offset", Says::kOffset, "0"}}, "", "jax splash_attention_mask.py"),
      row(Library::kSplash, "LocalMask", kGiven, false, false, "None", "(Q_LEN, KV_LEN)",
          {{"window_size", Says::kSides, ""}, {"offset", Says::kOffset, ""}}, "",
          "jax splash_attention_mask.py"),
      row(Library::kSplash, "ChunkedCausalMask", kTop, true, false, "", "(Q_LEN, KV_LEN)",
          {{"chunk_size", Says::kCausalChunk, ""}}, "", "jax splash_attention_mask.py"),
  };
  return kTable;
}

}  // namespace

std::span<const Convention> conventions() { return table(); }

std::string_view meaning(Says says) {
  static constexpr std::string_view kMeanings[] = {
      "True: no key after the query's own",
      "W: W keys including the query's own; without causal, W on either side",
      "W: W - 1 keys on either side of the query's own",
      "(L, R): L keys before the query's own, R after it",
      "(L, R): L keys before the query's own, R after it; a single W is (W, W)",
      "L: L keys before the query's own",
      "L: L - 1 keys before the query's own",
      "R: R keys after the query's own",
      "N: the keys in the query's chunk of N",
      "N: the keys in the query's chunk of N, none after its own",
      "causal or not, and the alignment",
      "TOP_LEFT or BOTTOM_RIGHT",
      "True: bottom-right",
      "N: queries sit N keys later",
      "lengths of documents",
      "lengths of the documents' keys",
      "N: the keys of document i start at i N",
      "where documents end, 0 first",
      "where the documents' keys end, 0 first",
      "queries of each batch entry that are not padding",
      "keys of each batch entry that are not padding",
      "no part of the mask",
  };
  return kMeanings[static_cast<std::size_t>(says)];
}

}  // namespace maskctl
