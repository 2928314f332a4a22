// ejkernel's flash_attention, attention and ring_attention.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kEjFlashCausal{"causal", kCausal, "False"};
constexpr Argument kEjFlashWindow{"sliding_window", kSidesOrBoth, "None"};

constexpr Argument kEjFlashOthers[] = {
    {"bias", kUnread, "None"},
    {"attention_mask", kUnread, "None"},
    {"mask_info", kUnread, "None"},
    {"q_segment_ids", kUnread, "None"},
    {"kv_segment_ids", kUnread, "None"},
    {"causal_alignment", kUnread, "None"},
    {"softmax_scale", kNothing, "None"},
    {"softmax_aux", kNothing, "None"},
    {"dropout_prob", kNothing, "0.0"},
    {"dropout_seed", kNothing, "None"},
    {"logits_soft_cap", kNothing, "None"},
    {"normalize_output", kNothing, "True"},
    {"precision", kNothing, "None"},
    {"logits_dtype", kNothing, "None"},
    {"cfg", kNothing, "None"},
};
constexpr Argument kEjFlashMask[] = {kEjFlashCausal, kEjFlashWindow};
constexpr Argument kEjFlashDocuments[] = {{"cum_seqlens_q", kEnds, ""},
                                          {"cum_seqlens_k", kKeyEnds, ""}};
constexpr auto kEjFlashDense = joined_lists(kEjFlashMask, kEjFlashOthers);
constexpr auto kEjFlashPacked = joined_lists(kEjFlashDocuments, kEjFlashMask, kEjFlashOthers);

constexpr Convention ej_flash_call(std::span<const Argument> arguments, bool documents,
                                   std::string_view source) {
  return {.call = "flash_attention",
          .documents = documents,
          .unbounded = kPastAll,
          .leading = "q, k, v",
          .arguments = arguments,
          .overrides = "causal=True sets the right side to 0; XLA is top-left, Triton bottom-right",
          .source = source,
          .top_left_note = "when Q != K: top-left, as XLA does; Triton is bottom-right",
          .bottom_right_note = "when Q != K: bottom-right, as Triton does; XLA is top-left"};
}
constexpr Convention kEjFlashCalls[] = {
    ej_flash_call(kEjFlashDense, false,
                  "ejkernel operations/flash_attention, _triton_impl_fwd.py, _xla_impl_fwd.py"),
    ej_flash_call(kEjFlashPacked, true, "ejkernel operations/flash_attention")};

constexpr WindowConvention kEjFlashWindows[] = {{"ejkernel, causal kernels and MaskInfo",
                                                 "sliding_window=W", WindowRule::kInclusive,
                                                 "types/mask.py, _triton_impl_fwd.py"}};

constexpr Library kEjkernelFlash = {.name = "ejkernel-flash",
                                    .title = "ejkernel flash_attention",
                                    .empty_row = "Triton 0, XLA attention the mean of V",
                                    .dense = "flash_attention(..., attention_mask=mask)",
                                    .array = "jnp.array([{}], jnp.int32)",
                                    .calls = kEjFlashCalls,
                                    .windows = kEjFlashWindows,
                                    .reader = read_call,
                                    .writer = write_call};

}  // namespace

const Library& row(const EjkernelFlash*) { return kEjkernelFlash; }

}  // namespace maskctl::library
