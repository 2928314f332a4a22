// ejkernel's flash_attention, attention and ring_attention.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kEjFlashCausal{"causal", kCausal, "False"};
constexpr Argument kEjFlashWindow{"sliding_window", kSidesOrBoth, "None"};

constexpr Argument kEjFlashDense[] = {kEjFlashCausal, kEjFlashWindow};
constexpr Argument kEjFlashPacked[] = {
    {"cum_seqlens_q", kEnds, ""}, {"cum_seqlens_k", kKeyEnds, ""}, kEjFlashCausal, kEjFlashWindow};

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
