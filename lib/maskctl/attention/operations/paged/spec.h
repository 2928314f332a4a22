// Registers paged and ragged attention: decoding and prefill over pages, and decoding over a dense
// cache.
#pragma once

#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/operations/paged/page_attention.h"
#include "maskctl/attention/operations/paged/ragged_decode_attention.h"
#include "maskctl/attention/operations/paged/ragged_page_attention.h"

namespace maskctl::attention {

/// The fields of the options that all operations of ragged page attention have.
template <class Call>
inline constexpr std::array kRaggedOptions = {
    option<Call, &Call::Options::softmax_scale>("softmax_scale", "number; 1/sqrt(D)"),
    option<Call, &Call::Options::logits_soft_cap>("logits_soft_cap", "number above 0"),
    option<Call, &Call::Options::sliding_window>("sliding_window", "keys, the row's own counted"),
    hint<Call, &Call::Options::num_kv_pages_per_block>("num_kv_pages_per_block"),
    hint<Call, &Call::Options::num_queries_per_block>("num_queries_per_block"),
};

inline constexpr std::string_view kLayoutWords[] = {"unset", "heads_first", "tokens_first"};

inline constexpr ResultField kPageOutputs[] = {whole_result("out", "N Hq D|N 1 Hq D")};

struct PageAttentionOp : FunctionOp<page_attention, nullptr> {
  /// One query for each of B sequences of T tokens.
  static UsualCall usual_call(AxisExtents extents);
  static std::string_view cache_axes(const void* call) {
    const Options& o = static_cast<const Call*>(call)->options;
    return o.kv_layout == KvLayout::kTokensFirst ? "pages page_size Hkv D"
                                                 : "pages Hkv page_size D";
  }
  static void complete(Inputs& in, Options& o, OwnedArrays&) { o.kv_layout = layout_of(in, o); }

  static constexpr std::array kFields = {
      array<Call, &Inputs::query>("query", "N Hq D|N 1 Hq D", kRequired),
      array_by<cache_axes, Call, &Inputs::key_cache>(
          "key_cache", "pages Hkv page_size D|pages page_size Hkv D", kRequired | kByRows),
      array_by<cache_axes, Call, &Inputs::value_cache>(
          "value_cache", "pages Hkv page_size D|pages page_size Hkv D", kRequired | kByRows),
      array<Call, &Inputs::context_lens>("context_lens", "N", kRequired | kIntegers),
      array<Call, &Inputs::block_tables>("block_tables", "N P", kRequired | kIntegers),
      option<Call, &Options::attn_scale>("attn_scale", "number; 1/sqrt(D)"),
      option<Call, &Options::attn_logits_soft_cap>("attn_logits_soft_cap", "number above 0"),
      choice<Call, &Options::kv_layout>("kv_layout", kLayoutWords,
                                        "heads_first, tokens_first; needed where both fit"),
      option<Call, &Options::max_context_len>("max_context_len", "tokens; no context may be longer",
                                              kBound),
      hint<Call, &Options::num_splits>("num_splits"),
      hint<Call, &Options::pages_per_compute_block>("pages_per_compute_block"),
  };

  static constexpr Operation kRow = {
      .name = "page_attention",
      .summary = "decoding over a paged cache",
      .outputs = kPageOutputs,
      .splittable = "N Hq Hkv",
  };
};

inline constexpr ResultField kRaggedOutputs[] = {whole_result("out", "T Hq D")};

/// Version 2 of ragged paged attention.
struct RaggedPageAttentionOp : FunctionOp<ragged_page_attention, nullptr> {
  /// Prefill of B sequences of T tokens, as in RaggedPageAttentionv3Op::usual_call().
  static UsualCall usual_call(AxisExtents extents);

  static constexpr std::array kFields = join(
      std::array{
          array<Call, &Inputs::queries>("queries", "T Hq D", kRequired),
          array<Call, &Inputs::kv_pages>("kv_pages", "pages page_size 2Hkv D", kRequired | kByRows),
          array<Call, &Inputs::context_lens>("context_lens", "N", kRequired | kIntegers),
          array<Call, &Inputs::block_tables>("block_tables", "N P", kRequired | kIntegers),
          array<Call, &Inputs::query_start_loc>("query_start_loc", "N+1", kRequired | kIntegers),
          array<Call, &Inputs::num_seqs>("num_seqs", "1|", kIntegers),
          array<Call, &Inputs::softmax_aux>("softmax_aux", "S|Hq/Hkv S"),
      },
      kRaggedOptions<Call>);

  static constexpr Operation kRow = {
      .name = "ragged_page_attention",
      .summary = "packed prefill and decoding over pages (v2)",
      .outputs = kRaggedOutputs,
      .splittable = "Hq Hkv",
  };
};

/// Version 3 over pages that already contain the new keys and values.
inline Tensor attend_to_pages(const RaggedPageAttentionV3PagesInputs& in,
                              const RaggedPageAttentionOptions& o) {
  return ragged_page_attention_v3(in, o);
}
struct RaggedPageAttentionv3PagesOp : FunctionOp<attend_to_pages, nullptr> {
  static constexpr std::array kFields = join(
      std::array{
          array<Call, &Inputs::query>("query", "T Hq D", kRequired),
          array<Call, &Inputs::key_pages>("key_pages", "pages page_size Hkv D",
                                          kRequired | kByRows),
          array<Call, &Inputs::value_pages>("value_pages", "pages page_size Hkv D",
                                            kRequired | kByRows),
          array<Call, &Inputs::cu_seqlens_q>("cu_seqlens_q", "N+1", kRequired | kIntegers),
          array<Call, &Inputs::cu_seqlens_k>("cu_seqlens_k", "N+1", kRequired | kIntegers),
          array<Call, &Inputs::page_indices>("page_indices", "N P", kRequired | kIntegers),
          array<Call, &Inputs::softmax_aux>("softmax_aux", "Hq"),
      },
      kRaggedOptions<Call>);

  static constexpr Operation kRow = {
      .name = "ragged_page_attention_v3",
      .summary = "ragged_page_attention on pages that hold the new tokens already (v3)",
      .outputs = kRaggedOutputs,
      .splittable = "Hq Hkv",
  };
};

/// The inputs of a call and the cache that it updates.
struct RaggedPageAttentionV3Call : RaggedPageAttentionV3Inputs {
  Tensor* kv_cache = nullptr;
};

/// Version 3, which writes the new keys and values to the cache first.
inline Tensor update_and_attend(const RaggedPageAttentionV3Call& in,
                                const RaggedPageAttentionV3Options& o) {
  return ragged_page_attention_v3(in, *in.kv_cache, o);
}
struct RaggedPageAttentionv3Op : FunctionOp<update_and_attend, nullptr> {
  static UsualCall usual_call(AxisExtents extents);
  /// The axes of the cache. 16-bit elements are packed in pairs, so that K and V of a head share
  /// one entry of the third axis.
  static std::string_view cache_axes(const void* call) {
    const Inputs& in = static_cast<const Call*>(call)->in;
    const bool pairs = in.queries && size_bytes(in.queries->dtype()) == 2;
    return pairs ? "pages page_size Hkv packing Dpad" : "pages page_size 2Hkv packing Dpad";
  }

  static constexpr std::array kFields = join(
      std::array{
          array<Call, &Inputs::queries>("queries", "T Hq D", kRequired),
          array<Call, &Inputs::keys>("keys", "T Hkv D", kRequired | kByRows),
          array<Call, &Inputs::values>("values", "T Hkv D", kRequired | kByRows),
          array_by<cache_axes, Call, &Inputs::kv_cache>(
              "kv_cache", "pages page_size 2Hkv/packing packing Dpad", kRequired | kByRows),
          array<Call, &Inputs::kv_lens>("kv_lens", "N", kRequired | kIntegers),
          array<Call, &Inputs::block_tables>("block_tables", "NP", kRequired | kIntegers),
          array<Call, &Inputs::query_start_loc>("query_start_loc", "N+1", kRequired | kIntegers),
          array<Call, &Inputs::distribution>("distribution", "3", kRequired | kIntegers),
          array<Call, &Inputs::attention_sink>("attention_sink", "Hq"),
      },
      pick(kRaggedOptions<Call>,
           {{"softmax_scale", "softmax_scale", "number; 1 with kv_cache, 1/sqrt(D) with key_pages"},
            "logits_soft_cap",
            "sliding_window",
            "num_kv_pages_per_block",
            "num_queries_per_block"}),
      std::array{
          option<Call, &Options::q_scale>("q_scale",
                                          "number; the query is divided by it and rounded"),
          option<Call, &Options::k_scale>("k_scale", "number; multiplies logits"),
          option<Call, &Options::v_scale>("v_scale", "number; multiplies the result"),
      });

  static constexpr Operation kRow = {
      .name = "ragged_page_attention_v3",
      .summary = "ragged_page_attention with an update of the cache (v3)",
      .outputs = kRaggedOutputs,
      .other_form = &kOperation<RaggedPageAttentionv3PagesOp>,
      .splittable = "Hq Hkv",
      .updated_axes = "pages page_size Hkv packing Dpad",
  };
};

inline constexpr ResultField kDecodeOutputs[] = {whole_result("out", "B Hq D|B 1 Hq D")};

struct RaggedDecodeAttentionOp : FunctionOp<ragged_decode_attention, nullptr> {
  /// Each query sees all S keys of its row.
  static UsualCall usual_call(AxisExtents extents);

  static constexpr std::array kFields = {
      array<Call, &Inputs::query>("query", "B Hq D|B 1 Hq D", kRequired),
      array<Call, &Inputs::key>("key", "B S Hkv D", kRequired | kByRows),
      array<Call, &Inputs::value>("value", "B S Hkv D", kRequired | kByRows),
      array<Call, &Inputs::sequence_start>("sequence_start", "B", kRequired | kIntegers),
      array<Call, &Inputs::sequence_end>("sequence_end", "B", kRequired | kIntegers),
      array<Call, &Inputs::softmax_aux>("softmax_aux", "sinks|Hq/Hkv sinks"),
      option<Call, &Options::softmax_scale>("softmax_scale", "number; 1/sqrt(D)"),
      option<Call, &Options::logits_soft_cap>("logits_soft_cap", "number above 0"),
      option<Call, &Options::sliding_window>("sliding_window", "W or LEFT+RIGHT around the query"),
      hint<Call, &Options::kv_blocksize>("kv_blocksize"),
  };

  static constexpr Operation kRow = {
      .name = "ragged_decode_attention",
      .summary = "decoding over a range of a dense cache",
      .outputs = kDecodeOutputs,
  };
};

}  // namespace maskctl::attention
