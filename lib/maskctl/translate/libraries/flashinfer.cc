// The calls of FlashInfer.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kFlashinferCausal{"causal", kCausal, "False"};
constexpr Argument kFlashinferWindow{"window_left", kLeft, "-1"};

constexpr Argument kFlashinferSingle[] = {kFlashinferCausal, kFlashinferWindow};
constexpr Argument kFlashinferPlan[] = {{"qo_indptr", kEnds, ""},
                                        {"kv_indptr", kKeyEnds, ""},
                                        {"num_qo_heads", kNothing, ""},
                                        {"num_kv_heads", kNothing, ""},
                                        {"head_dim_qk", kNothing, ""},
                                        kFlashinferCausal,
                                        kFlashinferWindow};

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
