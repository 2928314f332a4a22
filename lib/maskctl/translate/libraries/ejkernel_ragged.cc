// ejkernel's ragged_page_attention, both versions.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kEjRaggedArguments[] = {
    {.name = "sliding_window", .meaning = kKeys, .fallback = "None", .note = kKeysNote},
    {"softmax_scale", kNothing, "None"},
    {"logits_soft_cap", kNothing, "None"},
    {"softmax_aux", kNothing, "None"},
    {"compute_dtype", kNothing, "None"},
    {"mask_value", kNothing, "None"},
    {"num_kv_pages_per_block", kNothing, "None"},
    {"num_queries_per_block", kNothing, "None"},
};

constexpr Convention kEjRaggedCalls[] = {
    {.call = "ragged_page_attention",
     .align = Align::kBottomRight,
     .causal = true,
     .unbounded = "None",
     .leading = "*arrays",
     .arguments = kEjRaggedArguments,
     .overrides = "a document is a sequence of its own; Triton's window is one key wider",
     .source = "ejkernel _xla_impl_fwd.py, _kernel.py"}};

constexpr WindowConvention kEjRaggedWindows[] = {{"ejkernel-ragged, XLA and TPU",
                                                  "sliding_window=W", WindowRule::kKeys,
                                                  "_xla_impl_fwd.py: q_span - W >= kv is closed"}};

constexpr Library kEjkernelRagged = {.name = "ejkernel-ragged",
                                     .title = "ejkernel ragged_page_attention",
                                     .align = Align::kBottomRight,
                                     .empty_row = "not stated",
                                     .apart = "documents: each is a sequence of its own",
                                     .calls = kEjRaggedCalls,
                                     .windows = kEjRaggedWindows,
                                     .reader = read_call,
                                     .writer = write_call};

}  // namespace

const Library& row(const EjkernelRagged*) { return kEjkernelRagged; }

}  // namespace maskctl::library
