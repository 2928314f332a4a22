// Registers native_sparse_attention, and its selected branch as an operation of its own.
#pragma once

#include "maskctl/attention/calls/fields.h"
#include "maskctl/attention/operations/native_sparse/native_sparse.h"

namespace maskctl::attention {

template <class Call>
inline constexpr std::array kSparseQkv = {
    array<Call, &NativeSparseInputs::query>("query", "B T Hq D", kRequired),
    array<Call, &NativeSparseInputs::key>("key", "B T Hkv D", kRequired | kByRows),
    array<Call, &NativeSparseInputs::value>("value", "B T Hkv Dv", kRequired | kByRows),
};
inline constexpr std::string_view kDuplicateWords[] = {"count", "once"};

/// `required`: kRequired if block_indices must be given, else 0.
template <class Call, unsigned required>
inline constexpr std::array kSparseBlocks = {
    needing("!g_cmp", array<Call, &NativeSparseInputs::block_indices>(
                          "block_indices", "B T Hkv S|B R Hkv S", required | kIntegers)),
    array<Call, &NativeSparseInputs::block_counts>("block_counts", "B T Hkv|B R Hkv", kIntegers),
    array<Call, &NativeSparseInputs::cu_seqlens>("cu_seqlens", "N+1", kIntegers),
    option<Call, &NativeSparseOptions::block_size>("block_size", "tokens of a block; 64"),
    needing(
        "!block_counts",
        option<Call, &NativeSparseOptions::block_counts>(
            "block_counts", "blocks that count; 16")),  // the option, not the array of that name
    option<Call, &NativeSparseOptions::softmax_scale>("softmax_scale", "number; 1/sqrt(D)"),
    needing("!g_cmp", choice<Call, &NativeSparseOptions::duplicate_blocks>(
                          "duplicate_blocks", kDuplicateWords, "count (default), once")),
};

/// A call in which each token and key head lists its own block of 64 tokens and random blocks
/// before it, as many as block_counts uses.
UsualCall usual_blocks(AxisExtents extents);

/// An array of the result of the compressed branch; null if that did not run.
template <auto array>
Tensor* compressed(void* result) {
  auto& branch = static_cast<NativeSparseResult*>(result)->compressed;
  return branch ? &((*branch).*array) : nullptr;
}

inline constexpr ResultField kNativeSparseOutputs[] = {
    result<&NativeSparseResult::out>("out", "B T Hq Dv"),
    result<&NativeSparseResult::selected, &SoftmaxResult::out>("selected_out", "B T Hq Dv"),
    result<&NativeSparseResult::selected, &SoftmaxResult::lse>("selected_lse", "B Hq T"),
    {"compressed_out", "B T Hq Dv", compressed<&SoftmaxResult::out>},
    {"compressed_lse", "B Hq T", compressed<&SoftmaxResult::lse>},
    result<&NativeSparseResult::selected_block_indices>("selected_block_indices", "B T Hkv S"),
};

inline constexpr ResultField kNativeSparseGradients[] = {
    result<&NativeSparseGradients::query>("query"), result<&NativeSparseGradients::key>("key"),
    result<&NativeSparseGradients::value>("value"), result<&NativeSparseGradients::g_cmp>("g_cmp"),
    result<&NativeSparseGradients::g_slc>("g_slc"),
};

struct NativeSparseAttentionOp
    : FunctionOp<native_sparse_attention, native_sparse_attention_backward> {
  static UsualCall usual_call(AxisExtents extents) { return usual_blocks(std::move(extents)); }

  static constexpr std::array kFields = join(kSparseQkv<Call>,
                                             std::array{
                                                 array<Call, &Inputs::g_cmp>("g_cmp", "B T Hq"),
                                                 array<Call, &Inputs::g_slc>("g_slc", "B T Hq"),
                                             },
                                             kSparseBlocks<Call, 0>);

  static constexpr Operation kRow = {
      .name = "native_sparse_attention",
      .summary = "blocks of keys for each token, given or ranked",
      .outputs = kNativeSparseOutputs,
      .gradients = kNativeSparseGradients,
  };
};

inline constexpr ResultField kApplySparseOutputs[] = {
    result<&SoftmaxResult::out>("out", "B T Hq Dv"),
    result<&SoftmaxResult::lse>("lse", "B Hq T"),
};

inline constexpr ResultField kApplySparseGradients[] = {
    result<&SoftmaxGradients::query>("query"),
    result<&SoftmaxGradients::key>("key"),
    result<&SoftmaxGradients::value>("value"),
};

/// This operation has no config and is never tuned.
struct ApplyNativeSparseAttentionOp
    : FunctionOp<apply_native_sparse_attention, apply_native_sparse_attention_backward> {
  static UsualCall usual_call(AxisExtents extents) { return usual_blocks(std::move(extents)); }

  static constexpr std::array kFields = join(kSparseQkv<Call>, kSparseBlocks<Call, kRequired>);

  static constexpr Operation kRow = {
      .name = "apply_native_sparse_attention",
      .summary = "the selected part of native_sparse_attention alone",
      .outputs = kApplySparseOutputs,
      .gradients = kApplySparseGradients,
  };
};

}  // namespace maskctl::attention
