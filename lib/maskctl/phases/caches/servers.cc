// The caches of servers: llama.cpp, vLLM, SGLang and TensorRT-LLM.
#include "maskctl/phases/caches/rows.h"

namespace maskctl::caches {
namespace servers_rows {

using Order = Cache::Order;
using Rollback = Cache::Rollback;

Cache all_pages(const CacheSizes& sizes) {
  Cache out = all_tokens(layer_mask(sizes));
  out.page = sizes.page;
  return out;
}

Cache llama(const CacheSizes& sizes) { return all_tokens(layer_mask(sizes)); }

/// A cell is taken again once the next token of its sequence would not see it.
Cache llama_window(const CacheSizes& sizes) {
  return last_tokens(before(sizes), Order::kPosition, local_mask(sizes));
}

Cache window_pages(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kPosition, window_of(sizes));
  out.page = sizes.page;
  out.rollback = Rollback::kUnread;
  return out;
}

/// Drops the chunks before that of the next token.
Cache chunk_pages(const CacheSizes& sizes) {
  Cache out = last_tokens(0, Order::kPosition, kDeclared);
  out.page = sizes.chunk.value_or(1);
  out.rollback = Rollback::kUnread;
  return out;
}

Cache unread_pages(const CacheSizes& sizes) {
  Cache out = all_pages(sizes);
  out.rollback = Rollback::kUnread;
  return out;
}

Cache tensorrt_cyclic(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes), Order::kRing, window_of(sizes));
  out.one = kOpen;
  out.chunks_read = false;
  out.rollback = Rollback::kUnread;
  return out;
}

/// "In context phase, the self-attention is dense": sinks and window hold for one query alone.
Cache tensorrt_streaming(const CacheSizes& sizes) {
  Cache out = last_tokens(before(sizes) - sizes.sinks, Order::kRing, kCausal);
  out.sinks = sizes.sinks;
  out.one = kOpen;
  out.chunks_read = false;
  out.rollback = Rollback::kUnread;
  return out;
}

/// The mask of its kernels is by positions. Chunks of a prompt were not read.
Cache tensorrt_pages(const CacheSizes& sizes) {
  Cache out = sizes.window ? window_pages(sizes) : unread_pages(sizes);
  out.chunks_read = false;
  return out;
}

constexpr std::string_view kLlama = "llama.cpp 02c28f53", kVllm = "vLLM 002f3491",
                           kSglang = "SGLang, read 2026-12", kTensorRt = "TensorRT-LLM 2a9abd95",
                           kTensorRtDocs = "TensorRT-LLM 3105370b";

constexpr CacheRow kRows[] = {
    {.name = "llama_kv_cache",
     .family = "llama.cpp",
     .library = kLlama,
     .source = "src/llama-kv-cache.cpp: find_slot(), set_input_kq_mask()",
     .full = true,
     .make = llama},
    {.name = "llama_kv_cache_iswa",
     .family = "llama.cpp",
     .library = kLlama,
     .source = "src/llama-kv-cache-iswa.cpp; src/llama-kv-cache.cpp: find_slot(); "
               "src/llama-hparams.h: is_masked_swa()",
     .sliding = true,
     .chunked = true,
     .make = llama_window},
    {.name = "FullAttentionManager",
     .family = "vllm",
     .library = kVllm,
     .source = "vllm/v1/core/single_type_kv_cache_manager.py: FullAttentionManager",
     .full = true,
     .make = all_pages},
    {.name = "SlidingWindowManager",
     .family = "vllm",
     .library = kVllm,
     .source = "vllm/v1/core/single_type_kv_cache_manager.py: remove_skipped_blocks() of "
               "SlidingWindowManager",
     .sliding = true,
     .make = window_pages},
    {.name = "ChunkedLocalAttentionManager",
     .family = "vllm",
     .library = kVllm,
     .source = "vllm/v1/core/single_type_kv_cache_manager.py: get_num_skipped_tokens() of "
               "ChunkedLocalAttentionManager, in a later version",
     .chunked = true,
     .make = chunk_pages},
    {.name = "sglang-pages",
     .family = "sglang",
     .library = kSglang,
     .source = "python/sglang/srt/mem_cache/common.py",
     .full = true,
     .make = unread_pages},
    {.name = "sglang-swa-pages",
     .family = "sglang",
     .library = kSglang,
     .source =
         "python/sglang/srt/mem_cache/common.py: free_swa_out_of_window_slots(), whose window "
         "leaves out the query's own key",
     .sliding = true,
     .make = window_pages},
    {.name = "tensorrt-llm-pages",
     .family = "tensorrt-llm",
     .library = kTensorRt,
     .source = "cpp/tensorrt_llm/kernels/decoderMaskedMultiheadAttention/"
               "decoderMaskedMultiheadAttentionTemplate.h; at 89fd9b74 "
               "cpp/kernels/fmha_v2/src/fmha/warpspec/epilogue.h: apply_alibi_and_mask()",
     .full = true,
     .make = tensorrt_pages},
    {.name = "tensorrt-llm-swa-pages",
     .family = "tensorrt-llm",
     .library = kTensorRt,
     .source = "cpp/tensorrt_llm/kernels/decoderMaskedMultiheadAttention/"
               "decoderMaskedMultiheadAttentionTemplate.h: kv_token_start_offset; at 89fd9b74 "
               "cpp/kernels/fmha_v2/src/fmha/warpspec/epilogue.h: "
               "compute_sliding_window_or_chunk_start(); at b35ac1b6 "
               "cpp/tensorrt_llm/batch_manager/kvCacheManager.cpp: adjustBlocksIfNeeded() of "
               "WindowBlockManager",
     .note = "its max_attention_window has the query's own key",
     .sliding = true,
     .make = tensorrt_pages},
    {.name = "tensorrt-llm-cyclic",
     .family = "",
     .library = kTensorRtDocs,
     .source = "docs/source/legacy/advanced/gpt-attention.md: Cyclic (Rolling Buffer) KV Cache",
     .note = "of older versions, from their documentation: kernels, and chunks of a prompt, were "
             "not read",
     .sliding = true,
     .make = tensorrt_cyclic},
    {.name = "tensorrt-llm-streaming",
     .family = "",
     .library = kTensorRtDocs,
     .source = "docs/source/legacy/advanced/gpt-attention.md: StreamingLLM",
     .note = "from its documentation; rotary positions are those of slots there, and "
             "kvCacheManager.cpp of b35ac1b6 refuses it",
     .sliding = true,
     .make = tensorrt_streaming},
};

}  // namespace servers_rows

std::span<const CacheRow> servers() { return servers_rows::kRows; }

}  // namespace maskctl::caches
