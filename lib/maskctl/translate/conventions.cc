#include "maskctl/translate/conventions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {
namespace {

constexpr std::array kLibraries = {
    LibraryInfo{.id = Library::kEjkernel,
                .name = "ejkernel",
                .title = "ejkernel MaskInfo",
                .align = Align::kTopLeft,
                .empty_row = "depends on the operation: attention on XLA the mean of V, flash 0",
                .dense = "MaskInfo.from_attention_mask(mask)",
                .array = "jnp.array([{}])"},
    LibraryInfo{.id = Library::kEjkernelFlash,
                .name = "ejkernel-flash",
                .title = "ejkernel flash_attention",
                .align = Align::kUnset,
                .empty_row = "Triton 0, XLA attention the mean of V",
                .dense = "flash_attention(..., attention_mask=mask)",
                .array = "jnp.array([{}], jnp.int32)"},
    LibraryInfo{.id = Library::kEjkernelRagged,
                .name = "ejkernel-ragged",
                .title = "ejkernel ragged_page_attention",
                .align = Align::kBottomRight,
                .empty_row = "not stated",
                .dense = "",
                .apart = "documents: each is a sequence of its own"},
    LibraryInfo{.id = Library::kHf,
                .name = "hf",
                .title = "Hugging Face transformers",
                .align = Align::kBottomRight,
                .empty_row = "eager the mean of V (finfo.min is added), sdpa 0 or NaN by version, "
                             "flash_attention_2 0",
                .dense = "attention_mask=mask[:, None] as a 4-D bool tensor (not with "
                         "flash_attention_2)",
                .array = "torch.tensor([{}], device=device)"},
    LibraryInfo{.id = Library::kFa,
                .name = "fa",
                .title = "flash-attn 2, 3, 4",
                .align = Align::kBottomRight,
                .empty_row = "0 (documented)",
                .dense = "",
                .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                .by_place = true},
    LibraryInfo{.id = Library::kTe,
                .name = "te",
                .title = "Transformer Engine",
                .align = Align::kUnset,
                .empty_row = "depends on the backend; flash-attn 0",
                .dense = "attn_mask_type=\"arbitrary\", attention_mask=~mask (True is closed)",
                .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)"},
    LibraryInfo{
        .id = Library::kCudnn,
        .name = "cudnn",
        .title = "cuDNN frontend",
        .align = Align::kUnset,
        .empty_row = "not stated",
        .dense = "bias=torch.where(mask, 0.0, -inf)",
        .array = "torch.tensor([{}], dtype=torch.int32, device=q.device).reshape(-1, 1, 1, 1)"},
    LibraryInfo{.id = Library::kXformers,
                .name = "xformers",
                .title = "xformers",
                .align = Align::kUnset,
                .empty_row = "not stated",
                .dense = "attn_bias=torch.where(mask, 0.0, -inf)",
                .use = "memory_efficient_attention(q, k, v, attn_bias={})",
                .by_place = true},
    LibraryInfo{.id = Library::kFlashinfer,
                .name = "flashinfer",
                .title = "FlashInfer",
                .align = Align::kBottomRight,
                .empty_row = "has been NaN (flashinfer#4401)",
                .dense = "custom_mask=mask (causal is ignored then)",
                .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)"},
    LibraryInfo{.id = Library::kFlex,
                .name = "flex",
                .title = "PyTorch FlexAttention",
                .align = Align::kUnset,
                .empty_row = "0; NaN with ROWS_GUARANTEED_SAFE (pytorch#194154)",
                .dense = "lambda b, h, q_idx, kv_idx: mask[q_idx, kv_idx]",
                .array = "torch.tensor([{}], device=q.device)"},
    LibraryInfo{.id = Library::kSplash,
                .name = "splash",
                .title = "JAX splash attention",
                .align = Align::kUnset,
                .empty_row = "must not occur (docstring)",
                .dense = "NumpyMask(mask)",
                .array = "jnp.array([{}])",
                .by_place = true},
    LibraryInfo{.id = Library::kVllm,
                .name = "vllm",
                .title = "vLLM",
                .align = Align::kBottomRight,
                .empty_row = "cannot occur while decoding",
                .dense = "",
                .apart = "documents: each is a request of its own"},
    LibraryInfo{.id = Library::kCkTile,
                .name = "ck_tile",
                .title = "ROCm ck_tile FMHA runner",
                .align = Align::kUnset,
                .empty_row = "not stated",
                .dense = "-bias=e with -inf in closed cells"},
    LibraryInfo{.id = Library::kFlashmask,
                .name = "flashmask",
                .title = "PaddlePaddle FlashMask",
                .align = Align::kTopLeft,
                .empty_row = "not stated",
                .dense = "",
                .array = "paddle.to_tensor([{}])"},
    LibraryInfo{
        .id = Library::kSdpa,
        .name = "sdpa",
        .title = "torch scaled_dot_product_attention",
        .align = Align::kTopLeft,
        .empty_row =
            "0 (torch 2.15; NaN in older versions); a float mask of f16's minimum gives the "
            "unmasked row",
        .dense = "scaled_dot_product_attention(q, k, v, attn_mask=mask)",
        .array = "torch.tensor([{}], device=q.device)",
        .use = "scaled_dot_product_attention(q, k, v, attn_mask={})"},
    LibraryInfo{.id = Library::kMha,
                .name = "mha",
                .title = "torch.nn.MultiheadAttention",
                .align = Align::kTopLeft,
                .empty_row = "NaN if weights are requested, else 0 (torch 2.15)",
                .dense = "mha(q, k, v, attn_mask=~mask) (True is closed)",
                .array = "torch.tensor([{}], device=q.device)"},
    LibraryInfo{.id = Library::kJax,
                .name = "jax",
                .title = "jax.nn.dot_product_attention",
                .align = Align::kTopLeft,
                .empty_row = "the mean of V (a large negative number is added)",
                .padded_row = "0: a query past query_seq_lengths",
                .dense = "dot_product_attention(q, k, v, mask=mask[None, None])",
                .array = "jnp.array([{}], jnp.int32)"},
};

constexpr std::array kWindows = {
    WindowConvention{"hf, causal", "sliding_window=W", WindowRule::kKeys,
                     "masking_utils.py: kv > q - W"},
    WindowConvention{"xformers, CausalLocal classes", "window_size=W", WindowRule::kKeys,
                     "attn_bias.py: triu(shift - W + 1)"},
    WindowConvention{"cudnn", "diagonal_band_left_bound=W", WindowRule::kKeys,
                     "attn_score_modifiers.h: col + W > row"},
    WindowConvention{"flashmask, generator", "window_size=W", WindowRule::kKeys,
                     "generate_startend_row_indices.py: row >= col + W is closed"},
    WindowConvention{"vllm", "sliding_window=W", WindowRule::kKeys,
                     "vllm#9679: gives flash-attn (W - 1, 0)"},
    WindowConvention{"Mistral reference, decode", "sliding_window=W", WindowRule::kKeys,
                     "mistral-inference#60: a rotating cache of W"},
    WindowConvention{"ejkernel-ragged, XLA and TPU", "sliding_window=W", WindowRule::kKeys,
                     "_xla_impl_fwd.py: q_span - W >= kv is closed"},
    WindowConvention{"fa, te", "window_size=(W, 0)", WindowRule::kInclusive,
                     "flash-attention README: inclusive"},
    WindowConvention{"flashinfer", "window_left=W", WindowRule::kInclusive,
                     "variants.cuh: inclusive"},
    WindowConvention{"splash", "LocalMask((W, 0))", WindowRule::kInclusive,
                     "splash_attention_mask.py"},
    WindowConvention{"xformers, other class", "LocalAttentionFromBottomRightMask(W, 0)",
                     WindowRule::kInclusive, "attn_bias.py"},
    WindowConvention{"flex, attention-gym", "generate_sliding_window(W)", WindowRule::kInclusive,
                     "sliding_window.py: q - kv <= W"},
    WindowConvention{"ejkernel, causal kernels and MaskInfo", "sliding_window=W",
                     WindowRule::kInclusive, "types/mask.py, _triton_impl_fwd.py"},
    WindowConvention{"Mistral reference, prefill", "sliding_window=W", WindowRule::kInclusive,
                     "mistral-inference#60: triu(diagonal=-W)"},
    WindowConvention{"vllm, EncoderOnlyAttention", "per_layer_sliding_window=W",
                     WindowRule::kKeysBoth, "flash_attn.py: (W - 1, W - 1)"},
    WindowConvention{"hf, bidirectional", "sliding_window=W", WindowRule::kBoth,
                     "masking_utils.py: abs(q - kv) <= W"},
    WindowConvention{"flex, attention-gym global and dilated; fa (W, W)", "window_size=(W, W)",
                     WindowRule::kBoth, "global_sliding_window.py"},
    WindowConvention{"ejkernel MaskInfo, not causal", "apply_sliding_window(W)", WindowRule::kBoth,
                     "types/mask.py"},
};

}  // namespace

std::span<const LibraryInfo> libraries() { return kLibraries; }

const LibraryInfo& info_of(Library library) {
  return kLibraries[static_cast<std::size_t>(library)];
}

std::optional<Library> library_from_name(std::string_view name) {
  const auto found = std::ranges::find(kLibraries, name, &LibraryInfo::name);
  return found == kLibraries.end() ? std::nullopt : std::optional(found->id);
}

step::Window window_of(WindowRule rule, Index w) {
  const bool counts_own = rule == WindowRule::kKeys || rule == WindowRule::kKeysBoth;
  const Index least = counts_own ? 1 : 0;
  if (w < least) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("a window of {}: expected at least {}", w, least));
  }
  step::Window out;
  const bool both = rule == WindowRule::kBoth || rule == WindowRule::kKeysBoth;
  out.left = counts_own ? w - 1 : w;
  out.right = both ? *out.left : 0;
  out.spelling = both ? step::Window::Spelling::kBoth : step::Window::Spelling::kKeys;
  return out;
}

std::span<const WindowConvention> window_conventions() { return kWindows; }

}  // namespace maskctl
