// Attention over caches and native sparse attention by name.
#include "maskctl/attention/modules/native_sparse_attention.h"
#include "maskctl/attention/modules/page_attention.h"
#include "maskctl/attention/modules/ragged_decode_attention.h"
#include "maskctl/attention/modules/ragged_page_attention.h"
#include "maskctl/attention/modules/ragged_page_attention_v3.h"
#include "maskctl/attention/named/operations.h"
#include "maskctl/attention/named/run_op.h"

namespace maskctl::attention {
namespace {

constexpr NamedArray kApplySparseArrays[] = {
    {"query", "B T Hq D", true},
    {"key", "B T Hkv D", true},
    {"value", "B T Hkv Dv", true},
    {"block_indices", "B T Hkv S|B R Hkv S", true, true},
    {"block_counts", "B T Hkv|B R Hkv", false, true},
    {"cu_seqlens", "N+1", false, true},
};
constexpr NamedArray kSparseArrays[] = {
    {"query", "B T Hq D", true},
    {"key", "B T Hkv D", true},
    {"value", "B T Hkv Dv", true},
    {"g_cmp", "B T Hq"},
    {"g_slc", "B T Hq"},
    {"block_indices", "B T Hkv S|B R Hkv S", false, true},
    {"block_counts", "B T Hkv|B R Hkv", false, true},
    {"cu_seqlens", "N+1", false, true},
};
constexpr NamedOption kSparseOptions[] = {
    {"block_size", "tokens of a block; 64"},
    {"block_counts", "blocks that count; 16"},
    {"softmax_scale", "number; 1/sqrt(D)"},
    {"duplicate_blocks", "count (default), once"},
};
constexpr NamedArray kPageArrays[] = {
    {"query", "N Hq D|N 1 Hq D", true},
    {"key_cache", "pages Hkv page_size D", true},
    {"value_cache", "pages Hkv page_size D", true},
    {"context_lens", "N", true, true},
    {"block_tables", "N P", true, true},
};
constexpr NamedOption kPageOptions[] = {
    {"attn_scale", "number; 1/sqrt(D)"},
    {"attn_logits_soft_cap", "number above 0"},
    {"kv_layout", "heads_first (default), tokens_first"},
    {"max_context_len", "whole number"},
    {"num_splits", "a hint; 0"},
    {"pages_per_compute_block", "a hint; 0"},
};
constexpr NamedArray kRaggedArrays[] = {
    {"queries", "T Hq D", true},
    {"kv_pages", "pages page_size 2Hkv D", true},
    {"context_lens", "N", true, true},
    {"block_tables", "N P", true, true},
    {"query_start_loc", "N+1", true, true},
    {"num_seqs", "1", false, true},
    {"softmax_aux", "S|Hkv S|Hq S"},
};
constexpr NamedOption kRaggedOptions[] = {
    {"softmax_scale", "number; 1/sqrt(D)"},
    {"logits_soft_cap", "number above 0"},
    {"sliding_window", "keys, the row's own counted"},
    {"num_kv_pages_per_block", "a hint; 0"},
    {"num_queries_per_block", "a hint; 0"},
};
constexpr NamedArray kRaggedV3Arrays[] = {
    {"queries", "T Hq D"},
    {"keys", "T Hkv D"},
    {"values", "T Hkv D"},
    {"kv_cache", "pages page_size C packing Dpad"},
    {"kv_lens", "N", false, true},
    {"block_tables", "NP", false, true},
    {"query_start_loc", "N+1", false, true},
    {"distribution", "3", false, true},
    {"attention_sink", "Hq"},
    {"query", "T Hq D"},
    {"key_pages", "pages page_size Hkv D"},
    {"value_pages", "pages page_size Hkv D"},
    {"cu_seqlens_q", "N+1", false, true},
    {"cu_seqlens_k", "N+1", false, true},
    {"page_indices", "N P", false, true},
    {"softmax_aux", "Hq"},
};
constexpr NamedOption kRaggedV3Options[] = {
    {"softmax_scale", "number; 1 with kv_cache, 1/sqrt(D) with key_pages"},
    {"logits_soft_cap", "number above 0"},
    {"sliding_window", "keys, the row's own counted"},
    {"num_kv_pages_per_block", "a hint; 0"},
    {"num_queries_per_block", "a hint; 0"},
    {"q_scale", "number"},
    {"k_scale", "number"},
    {"v_scale", "number"},
};
constexpr NamedArray kDecodeArrays[] = {
    {"query", "B Hq D|B 1 Hq D", true}, {"key", "B S Hkv D", true},
    {"value", "B S Hkv D", true},       {"sequence_start", "B", true, true},
    {"sequence_end", "B", true, true},  {"softmax_aux", "S|Hkv S|Hq S"},
};
constexpr NamedOption kDecodeOptions[] = {
    {"softmax_scale", "number; 1/sqrt(D)"},
    {"logits_soft_cap", "number above 0"},
    {"sliding_window", "W or LEFT+RIGHT around the query"},
    {"kv_blocksize", "a hint; 0"},
};

void read_sparse(Call& call, Bound<NativeSparseAttentionOp>& bound) {
  NativeSparseOptions& options = bound.options;
  call.read("block_size", options.block_size);
  if (!bound.in.block_counts) call.read("block_counts", options.block_counts);
  call.read("softmax_scale", options.softmax_scale);
  static constexpr std::string_view kDuplicates[] = {"count", "once"};
  call.read("duplicate_blocks", options.duplicate_blocks, kDuplicates);
}

NamedResults run_sparse(Call& call) {
  auto bound = bind<NativeSparseAttentionOp>(call);
  read_sparse(call, bound);
  return run_op(call, bound);
}

/// Not a module: it has no config and runs at once.
NamedResults run_apply_sparse(Call& call) {
  auto bound = bind<NativeSparseAttentionOp>(call);
  read_sparse(call, bound);
  const auto& in = bound.in;
  const auto& options = bound.options;
  SoftmaxResult forward =
      call.timed(&CallTimes::forward, [&] { return apply_native_sparse_attention(in, options); });
  NamedResults results;
  if (const Tensor* d_out = call.cotangent("out", forward.out)) {
    SoftmaxGradients gradients = call.timed(&CallTimes::backward, [&] {
      return apply_native_sparse_attention_backward(in, forward, *d_out, options);
    });
    add_result(results, "grad_query", gradients.query);
    add_result(results, "grad_key", gradients.key);
    add_result(results, "grad_value", gradients.value);
  }
  add_result(results, "lse", forward.lse);
  add_result(results, "out", forward.out);
  return results;
}

NamedResults run_page(Call& call) {
  auto bound = bind<PageAttentionOp>(call);
  PageAttentionOptions& options = bound.options;
  call.read("attn_scale", options.attn_scale);
  call.read("attn_logits_soft_cap", options.attn_logits_soft_cap);
  static constexpr std::string_view kLayouts[] = {"heads_first", "tokens_first"};
  call.read("kv_layout", options.kv_layout, kLayouts);
  call.read("max_context_len", options.max_context_len);
  call.read("num_splits", options.num_splits);
  call.read("pages_per_compute_block", options.pages_per_compute_block);
  return run_op(call, bound);
}

template <class Options>
void read_ragged(Call& call, Options& options) {
  call.read("softmax_scale", options.softmax_scale);
  call.read("logits_soft_cap", options.logits_soft_cap);
  call.read("sliding_window", options.sliding_window);
  call.read("num_kv_pages_per_block", options.num_kv_pages_per_block);
  call.read("num_queries_per_block", options.num_queries_per_block);
}

NamedResults run_ragged(Call& call) {
  auto bound = bind<RaggedPageAttentionOp>(call);
  read_ragged(call, bound.options);
  return run_op(call, bound);
}

NamedResults run_ragged_v3_pages(Call& call) {
  for (const char* name :
       {"query", "value_pages", "cu_seqlens_q", "cu_seqlens_k", "page_indices"}) {
    call.array(name);
  }
  auto bound = bind<RaggedPageAttentionv3PagesOp>(call);
  read_ragged(call, bound.options);
  return run_op(call, bound);
}

/// The form of the cache, which is updated, unless pages are given.
NamedResults run_ragged_v3(Call& call) {
  if (call.optional_array("key_pages")) return run_ragged_v3_pages(call);
  for (const char* name : {"queries", "keys", "values", "kv_lens", "block_tables",
                           "query_start_loc", "distribution"}) {
    call.array(name);
  }
  auto bound = bind<RaggedPageAttentionv3Op>(call);
  read_ragged(call, bound.options);
  call.read("q_scale", bound.options.q_scale);
  call.read("k_scale", bound.options.k_scale);
  call.read("v_scale", bound.options.v_scale);
  Tensor cache = call.array("kv_cache");
  bound.in.kv_cache = &cache;
  NamedResults results = run_op(call, bound);
  results["kv_cache"] = std::move(cache);
  return results;
}

NamedResults run_decode(Call& call) {
  auto bound = bind<RaggedDecodeAttentionOp>(call);
  RaggedDecodeAttentionOptions& options = bound.options;
  call.read("softmax_scale", options.softmax_scale);
  call.read("logits_soft_cap", options.logits_soft_cap);
  call.read("kv_blocksize", options.kv_blocksize);
  if (const auto sides = call.window("sliding_window")) {
    options.sliding_window = DecodeWindow{sides->first, sides->second};
  }
  return run_op(call, bound);
}

constexpr NamedOperation kOperations[] = {
    {"native_sparse_attention", "", "blocks of keys for each token, given or ranked", kSparseArrays,
     kSparseOptions, false, true, run_sparse},
    {"apply_native_sparse_attention", "", "its selected part alone", kApplySparseArrays,
     kSparseOptions, false, true, run_apply_sparse},
    {"page_attention", "", "decoding over a paged cache", kPageArrays, kPageOptions, false, false,
     run_page},
    {"ragged_page_attention", "", "packed prefill and decoding over pages (v2)", kRaggedArrays,
     kRaggedOptions, false, false, run_ragged},
    {"ragged_page_attention_v3", "", "the same with an update of the cache, or seed 003's call",
     kRaggedV3Arrays, kRaggedV3Options, false, false, run_ragged_v3},
    {"ragged_decode_attention", "", "decoding over a range of a dense cache", kDecodeArrays,
     kDecodeOptions, false, false, run_decode},
};

}  // namespace

std::span<const NamedOperation> paged_operations() { return kOperations; }

}  // namespace maskctl::attention
