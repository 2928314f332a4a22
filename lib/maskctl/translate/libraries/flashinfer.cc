// The calls of FlashInfer.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kFlashinferCausal{"causal", kCausal, "False"};
constexpr Argument kFlashinferWindow{"window_left", kLeft, "-1"};

constexpr Argument kFlashinferOthers[] = {
    {"custom_mask", kUnread, "None"},
    {"packed_custom_mask", kUnread, "None"},
    {"prefix_len_ptr", kUnread, "None"},
    {"token_pos_in_items_ptr", kUnread, "None"},
    {"max_item_len_ptr", kUnread, "None"},
    {"token_pos_in_items_len", kNothing, "0"},
    {"kv_layout", kNothing, "\"NHD\""},
    {"pos_encoding_mode", kNothing, "\"NONE\""},
    {"use_fp16_qk_reduction", kNothing, "False"},
    {"sm_scale", kNothing, "None"},
    {"logits_soft_cap", kNothing, "None"},
    {"rope_scale", kNothing, "None"},
    {"rope_theta", kNothing, "None"},
    {"backend", kNothing, "\"auto\""},
    {"return_lse", kNothing, "False"},
    {"head_dim_vo", kNothing, "None"},
    {"q_data_type", kNothing, "\"float16\""},
    {"kv_data_type", kNothing, "None"},
    {"o_data_type", kNothing, "None"},
    {"non_blocking", kNothing, "True"},
    {"fixed_split_size", kNothing, "None"},
    {"disable_split_kv", kNothing, "False"},
    {"out", kNothing, "None"},
    {"lse", kNothing, "None"},
};
constexpr Argument kFlashinferMask[] = {kFlashinferCausal, kFlashinferWindow};
constexpr Argument kFlashinferDocuments[] = {
    {"qo_indptr", kEnds, ""},       {"kv_indptr", kKeyEnds, ""},   {"num_qo_heads", kNothing, ""},
    {"num_kv_heads", kNothing, ""}, {"head_dim_qk", kNothing, ""},
};
constexpr auto kFlashinferSingle = joined_lists(kFlashinferMask, kFlashinferOthers);
constexpr auto kFlashinferPlan =
    joined_lists(kFlashinferDocuments, kFlashinferMask, kFlashinferOthers);

constexpr std::string_view kFlashinferOverrides = "custom_mask drops causal";
constexpr std::string_view kFlashinferSource = "flashinfer variants.cuh, prefill.py";

constexpr Convention kFlashinferCalls[] = {
    {.call = "single_prefill_with_kv_cache",
     .align = Align::kBottomRight,
     .unbounded = "-1",
     .leading = "q, k, v",
     .arguments = kFlashinferSingle,
     .overrides = kFlashinferOverrides,
     .source = kFlashinferSource},
    {.call = "plan",
     .align = Align::kBottomRight,
     .documents = true,
     .unbounded = "-1",
     .arguments = kFlashinferPlan,
     .overrides = kFlashinferOverrides,
     .source = kFlashinferSource,
     .object = "wrapper = BatchPrefillWithRaggedKVCacheWrapper(workspace)",
     .spelled = "wrapper.plan"}};

constexpr WindowConvention kFlashinferWindows[] = {
    {"flashinfer", "window_left=W", WindowRule::kInclusive, "variants.cuh: inclusive"}};

constexpr Library kFlashinfer = {.name = "flashinfer",
                                 .title = "FlashInfer",
                                 .align = Align::kBottomRight,
                                 .empty_row = "has been NaN (flashinfer#4401)",
                                 .dense = "custom_mask=mask (causal is ignored then)",
                                 .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                                 .calls = kFlashinferCalls,
                                 .windows = kFlashinferWindows,
                                 .reader = read_call,
                                 .writer = write_call};

}  // namespace

const Library& row(const Flashinfer*) { return kFlashinfer; }

}  // namespace maskctl::library
