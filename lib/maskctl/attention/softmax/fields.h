// Fields that operations of the dense family share; each operation picks those that it has.
#pragma once

#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/softmax/idle.h"
#include "maskctl/attention/softmax/masked_softmax.h"

namespace maskctl::attention {

inline constexpr std::string_view kAlignWords[] = {"unset", "top-left", "bottom-right"};
inline constexpr std::string_view kEmptyRowWords[] = {"zero", "mean", "nan"};
inline constexpr std::string_view kPaddingWords[] = {"negative", "zero"};

/// The fields of MaskArguments, for options that contain it at the path `mask`.
template <class Call, auto... mask>
inline constexpr std::array kMaskFields = {
    array<Call, mask..., &MaskArguments::attention_mask>(
        "attention_mask", "B Hq/Hkv Tq Tk|B Tq Tk|B Tk", kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::block_mask>(
        "block_mask", "nq nk|Hq/Hkv nq nk|B Hq/Hkv nq nk", kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::query_lengths>("query_lengths", "B", kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::key_lengths>("key_lengths", "B", kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::cum_seqlens_q>("cum_seqlens_q", "B+1|N+1",
                                                        kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::cum_seqlens_k>("cum_seqlens_k", "B+1|N+1",
                                                        kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::q_segment_ids>("q_segment_ids", "B Tq|Tq",
                                                        kIntegers | kCloses),
    array<Call, mask..., &MaskArguments::kv_segment_ids>("kv_segment_ids", "B Tk|Tk",
                                                         kIntegers | kCloses),
    needing("causal|sliding_window", array<Call, mask..., &MaskArguments::q_positions>(
                                         "q_positions", "B Tq|Tq", kIntegers | kCloses | kStrict)),
    needing("causal|sliding_window", array<Call, mask..., &MaskArguments::kv_positions>(
                                         "kv_positions", "B Tk|Tk", kIntegers | kCloses | kStrict)),
    option<Call, mask..., &MaskArguments::causal>("causal", "true, false (default)", kCloses),
    option<Call, mask..., &MaskArguments::window>(
        "sliding_window", "W or LEFT+RIGHT keys beside the own one", kCloses),
    idle_where(idle_alignment<Call, mask...>,
               needing("causal|sliding_window", choice<Call, mask..., &MaskArguments::align>(
                                                    "causal_alignment", kAlignWords,
                                                    "top-left (default), bottom-right", kCloses))),
    needing("sliding_window",
            option<Call, mask..., &MaskArguments::sink_tokens>(
                "attention_sink_size", "keys that stay inside the window; 0", kCloses | kStrict)),
    option<Call, mask..., &MaskArguments::chunk_size>(
        "chunk_size", "tokens of a chunk: causal inside chunks", kCloses),
    idle_where(idle_block_causal<Call, mask...>,
               needing("!causal", option<Call, mask..., &MaskArguments::causal_block_size>(
                                      "causal_block_size",
                                      "tokens of a block: causal between blocks", kCloses))),
    needing("block_mask",
            option<Call, mask..., &MaskArguments::block_size>(
                "block_size", "tokens of a block of block_mask; 64", kCloses | kStrict)),
    needing("q_segment_ids",
            choice<Call, mask..., &MaskArguments::segment_padding>(
                "segment_padding", kPaddingWords, "negative (default), zero", kCloses)),
    unlisted<Call, mask..., &MaskArguments::mask>("mask"),
    unlisted<Call, mask..., &MaskArguments::block_map>("block_map", kCloses),
};

/// The fields of SoftmaxOptions, for options that contain it at the path `softmax`.
template <class Call, auto... softmax>
inline constexpr std::array kSoftmaxFields = {
    option<Call, softmax..., &SoftmaxOptions::scale>("softmax_scale", "number; 1/sqrt(D)"),
    option<Call, softmax..., &SoftmaxOptions::soft_cap>("logits_soft_cap", "number above 0"),
    needing("!softmax_aux", choice<Call, softmax..., &SoftmaxOptions::empty_row>(
                                "empty_row", kEmptyRowWords, "zero (default), mean, nan", kNoKeys)),
    option<Call, softmax..., &SoftmaxOptions::normalize>("normalize_output",
                                                         "true (default), false"),
    option<Call, softmax..., &SoftmaxOptions::dropout>("dropout_prob", "number in [0, 1)", kDrops),
    needing("dropout_prob", option<Call, softmax..., &SoftmaxOptions::dropout_seed>(
                                "dropout_seed", "whole number; 0", kDrops)),
    hint<Call, softmax..., &SoftmaxOptions::q_block>("q_blocksize"),
    hint<Call, softmax..., &SoftmaxOptions::k_block>("kv_blocksize"),
};

/// The arrays that every dense operation has; all other arrays are in its options.
struct QkvInputs {
  const Tensor* query = nullptr;
  const Tensor* key = nullptr;
  const Tensor* value = nullptr;
};
template <class R, class O>
struct TypesOf<R (*)(const Tensor&, const Tensor&, const Tensor&, const O&)>
    : CallTypes<QkvInputs, O, R> {
  static auto arrays(const QkvInputs& in) { return std::tie(*in.query, *in.key, *in.value); }
};

template <class Call>
inline constexpr std::array kDenseArrays = {
    array<Call, &QkvInputs::query>("query", "B Tq Hq D", kRequired),
    array<Call, &QkvInputs::key>("key", "B Tk Hkv D", kRequired | kByRows),
    array<Call, &QkvInputs::value>("value", "B Tk Hkv Dv", kRequired | kByRows),
};
template <class Call>
inline constexpr std::array kBiasAndSinks = {
    array<Call, &DenseOptions::bias>("bias", "B Hq/Hkv Tq Tk"),
    array<Call, &DenseOptions::softmax_aux>("softmax_aux", "S|Hq/Hkv S"),
};
inline constexpr ResultField kSoftmaxOutputs[] = {
    result<&SoftmaxResult::out>("out", "B Tq Hq Dv"),
    result<&SoftmaxResult::lse>("lse", "B Hq Tq"),
};
inline constexpr ResultField kSoftmaxGradients[] = {
    result<&SoftmaxGradients::query>("query"),       result<&SoftmaxGradients::key>("key"),
    result<&SoftmaxGradients::value>("value"),       result<&SoftmaxGradients::bias>("bias"),
    result<&SoftmaxGradients::sinks>("softmax_aux"),
};

}  // namespace maskctl::attention
