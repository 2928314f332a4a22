// `info --print`: one array of a MaskInfo, computed as ejkernel computes it.
#pragma once

#include <string>
#include <string_view>

#include "app/cli/commands/info_options.h"
#include "app/cli/parser/option_list.h"
#include "app/session/session.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl::app {

/// The names of the arrays that can be printed, indexed by PrintOptions::array; and the ways to
/// reduce the heads axis.
inline constexpr std::string_view kPrintedArrays[] = {
    "attention_mask",   "bias",           "q_segment_ids", "kv_segment_ids", "cu_seqlens_q",
    "cu_seqlens_kv",    "q_lens",         "kv_lens",       "q_positions",    "kv_positions",
    "q_attention_mask", "q_position_ids", "q_mask",        "kv_mask"};
inline constexpr std::string_view kHeadReductions[] = {"any", "all", "first"};

void declare_print(OptionList& list, PrintOptions& print);
/// Throws Error(kInvalidArgument) for options that contradict each other.
void check_print(const PrintOptions& print);
/// Prints the array, one line per row of its last axis; empty if it was written to -o instead. A
/// null pointer stands for Python's None.
std::string printed_text(const Tensor* array, const PrintOptions& print, const Session& session);

}  // namespace maskctl::app
