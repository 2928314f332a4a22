#include "maskctl/inspect/translate.h"

#include <fmt/format.h>

#include "maskctl/inspect/translate_code.h"

namespace maskctl {
namespace {

/// flash-attn's spelling: -1 is unbounded.
Index fa_side(std::optional<Index> side) { return side.value_or(-1); }

const char* python(bool value) { return value ? "True" : "False"; }

void fa(const MaskArguments& mask, Translation& out) {
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  std::string args = fmt::format("causal={}", python(mask.causal()));
  if (mask.left || (mask.right && !mask.causal())) {
    args += fmt::format(", window_size=({}, {})", fa_side(mask.left), fa_side(mask.right));
  }
  if (mask.chunk) {
    args += fmt::format(", attention_chunk={}", *mask.chunk);
    out.notes.push_back("attention_chunk: flash-attn 3 (hopper) only");
    note_chunks(mask, out);
  }
  if (mask.documents) {
    out.code = {fmt::format("cu = {}", cu_seqlens(mask)),
                fmt::format("flash_attn_varlen_func(q, k, v, cu, cu, max_len, max_len, {})", args)};
  } else {
    out.code = {fmt::format("flash_attn_func(q, k, v, {})", args)};
  }
}

std::string te_type(const MaskArguments& mask) {
  if (!mask.causal()) return mask.documents ? "padding" : "no_mask";
  const std::string type = mask.documents ? "padding_causal" : "causal";
  return mask.align == Align::kBottomRight ? type + "_bottom_right" : type;
}

void te(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no argument for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  std::string args = fmt::format("attn_mask_type=\"{}\"", te_type(mask));
  if (mask.left || (mask.right && !mask.causal())) {
    args += fmt::format(", window_size=({}, {})", fa_side(mask.left), fa_side(mask.right));
  }
  if (mask.banded() && !mask.causal() && mask.align != Align::kUnset) {
    args += fmt::format(", bottom_right_diagonal={}", python(mask.align == Align::kBottomRight));
  }
  out.code = {"attention = DotProductAttention(...)"};
  if (mask.documents) {
    out.code.push_back(fmt::format("cu = {}", cu_seqlens(mask)));
    args = "qkv_format=\"thd\", cu_seqlens_q=cu, cu_seqlens_kv=cu, " + args;
  }
  out.code.push_back(fmt::format("attention(q, k, v, {})", args));
}

void cudnn(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no argument for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  std::string args = fmt::format("diagonal_alignment=cudnn.diagonal_alignment.{}",
                                 mask.align == Align::kBottomRight ? "BOTTOM_RIGHT" : "TOP_LEFT");
  if (mask.left) args += fmt::format(", diagonal_band_left_bound={}", *mask.left + 1);
  if (mask.right) args += fmt::format(", diagonal_band_right_bound={}", *mask.right);
  if (!mask.banded()) args = "use_causal_mask=False";
  if (mask.documents) {
    args += ", use_padding_mask=True, seq_len_q=lens, seq_len_kv=lens";
    out.notes.push_back("documents: one batch entry each, by ragged offsets of q, k, v and o");
  }
  if (mask.left) {
    out.notes.push_back(
        fmt::format("the left bound is exclusive: {} is left={}", *mask.left + 1, *mask.left));
  }
  out.code = {fmt::format("graph.sdpa(q=q, k=k, v=v, {})", args)};
}

/// The class for one sequence.
std::string xformers_bias(const MaskArguments& mask, Translation& out) {
  const bool top = mask.align == Align::kTopLeft;
  if (mask.causal() && !mask.left) {
    return mask.align == Align::kBottomRight ? "LowerTriangularFromBottomRightMask()"
                                             : "LowerTriangularMask()";
  }
  if (!mask.banded()) return "None";
  if (top) {
    refuse(out, "windows are aligned bottom-right (LowerTriangularFromBottomRightLocal...)");
    return "";
  }
  if (mask.causal()) {
    return fmt::format("LowerTriangularFromBottomRightLocalAttentionMask({})", *mask.left + 1);
  }
  if (!mask.left || !mask.right) {
    refuse(out, "a window that is open on one side has no class");
    return "";
  }
  return fmt::format("LocalAttentionFromBottomRightMask({}, {})", *mask.left, *mask.right);
}

void xformers(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no class for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  std::string bias;
  if (mask.documents) {
    if (mask.banded() && !mask.causal()) return refuse(out, "documents with a two-sided window");
    bias = fmt::format("BlockDiagonalMask.from_seqlens({})", lengths_code(mask));
    if (mask.left) {
      bias += fmt::format(".make_local_attention({})", *mask.left + 1);
    } else if (mask.causal()) {
      bias += ".make_causal()";
    }
  } else {
    bias = xformers_bias(mask, out);
    if (!out.ok()) return;
  }
  if (mask.causal() && mask.left) {
    out.notes.push_back(fmt::format("{} keys, the own one included", *mask.left + 1));
  }
  out.code = {fmt::format("memory_efficient_attention(q, k, v, attn_bias={})", bias)};
}

void flashinfer(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no argument for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  if (mask.right && !mask.causal()) return refuse(out, "no right side of a window");
  const std::string args =
      fmt::format("causal={}{}", python(mask.causal()),
                  mask.left ? fmt::format(", window_left={}", *mask.left) : "");
  if (mask.documents) {
    out.code = {
        fmt::format("indptr = {}", cu_seqlens(mask)),
        fmt::format("wrapper.plan(indptr, indptr, num_qo_heads, num_kv_heads, head_dim, {})",
                    args)};
    out.notes.push_back("wrapper: BatchPrefillWithRaggedKVCacheWrapper");
  } else {
    out.code = {fmt::format("single_prefill_with_kv_cache(q, k, v, {})", args)};
  }
}

void vllm(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no argument for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  if (!mask.causal()) return refuse(out, "decoders are causal");
  if (mask.documents) out.notes.push_back("documents: each is a request of its own");
  out.code = {mask.left ? fmt::format("Attention(..., per_layer_sliding_window={})", *mask.left + 1)
                        : "Attention(...)"};
  if (mask.left) {
    out.notes.push_back(fmt::format("config.json: \"sliding_window\": {}", *mask.left + 1));
  }
}

void ck_tile(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no mask for chunks");
  if (mask.prefix > 0) return refuse_keys(out);
  if (mask.sinks > 0 && mask.documents) {
    return refuse(out, "sink tokens would be the first of each document, not of the first only");
  }
  const char type = mask.align == Align::kBottomRight ? 'b' : 't';
  std::string text = "0";
  if (mask.sinks > 0) {
    text = fmt::format("{}:{},{},{}", type, fa_side(mask.left), fa_side(mask.right), mask.sinks);
    out.notes.push_back("the third number (sink tokens) needs a version that has it");
  } else if (mask.causal() && !mask.left) {
    text = type;
  } else if (mask.banded()) {
    text = fmt::format("{}:{},{}", type, fa_side(mask.left), fa_side(mask.right));
  }
  out.code = {fmt::format("tile_example_fmha_fwd -mask={}", text)};
  if (mask.documents) {
    out.code.front() += fmt::format(" -mode=1 -s={}", lengths_list(mask));
    out.notes.push_back("group mode: one sequence for each document");
  }
}

void ejkernel_ragged(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no argument for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  if (!mask.causal()) return refuse(out, "the operation is causal");
  if (mask.left) {
    out.notes.push_back(fmt::format(
        "{} keys on XLA and TPU; ragged_page_attention on Triton takes W + 1: give {} there",
        *mask.left + 1, *mask.left));
  }
  if (mask.documents) out.notes.push_back("documents: each is a sequence of its own");
  out.code = {fmt::format(
      "ragged_page_attention(..., {})",
      mask.left ? fmt::format("sliding_window={}", *mask.left + 1) : "sliding_window=None")};
}

void ejkernel_flash(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no argument for chunks");
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  const bool window = mask.left || (mask.right && !mask.causal());
  if (window && (!mask.left || !mask.right)) return refuse(out, "a window needs both sides");
  std::string args = fmt::format("causal={}", python(mask.causal()));
  if (window) args += fmt::format(", sliding_window=({}, {})", *mask.left, *mask.right);
  if (mask.documents) {
    args += ", cu_seqlens_q=cu, cu_seqlens_k=cu";
    out.code.push_back(fmt::format("cu = {}", cu_seqlens(mask)));
  }
  out.code.push_back(fmt::format("flash_attention(q, k, v, {})", args));
  if (window && *mask.left == 0 && *mask.right == 0) {
    out.notes.push_back("Triton drops a window of (0, 0) without a word; XLA applies it");
  }
  if (mask.align != Align::kUnset) {
    out.notes.push_back(fmt::format("when Q != K: this mask is {} only",
                                    mask.align == Align::kTopLeft
                                        ? "what XLA does (top-left); Triton is bottom-right"
                                        : "what Triton does (bottom-right); XLA is top-left"));
  }
}

using Write = void (*)(const MaskArguments& mask, Translation& out);

/// Libraries that take a band and documents.
Write writer_of(Library library) {
  switch (library) {
    case Library::kFa:
      return fa;
    case Library::kTe:
      return te;
    case Library::kCudnn:
      return cudnn;
    case Library::kXformers:
      return xformers;
    case Library::kFlashinfer:
      return flashinfer;
    case Library::kVllm:
      return vllm;
    case Library::kCkTile:
      return ck_tile;
    case Library::kEjkernelRagged:
      return ejkernel_ragged;
    case Library::kEjkernelFlash:
      return ejkernel_flash;
    case Library::kEjkernel:
      return write_mask_info;
    case Library::kFlashmask:
      return write_flashmask;
    case Library::kHf:
    case Library::kFlex:
    case Library::kSplash:
      break;
  }
  return nullptr;
}

/// A band that the libraries' two numbers cannot hold, or a diagonal that they do not have.
std::string misfit(const MaskArguments& mask, const LibraryInfo& info) {
  if ((mask.left && *mask.left < 0) || (mask.right && *mask.right < 0)) {
    return "the band does not hold the diagonal: its sides cannot be negative";
  }
  if (mask.chunk && mask.chunk_offset != 0) return "no argument for the offset of chunks";
  const bool fixed = info.align == Align::kBottomRight && mask.align == Align::kTopLeft;
  if (mask.banded() && fixed) {
    return "the diagonal is bottom-right; this mask is top-left (equal when Q = K: leave align= "
           "out)";
  }
  return "";
}

}  // namespace

Translation translate(const Chain& chain, Library library, const StepName& name) {
  Translation out;
  out.library = library;
  const MaskArguments mask = mask_arguments(chain, name);
  const LibraryInfo& info = info_of(library);
  if (library == Library::kFlex) {
    write_flex(chain, name, out);
  } else if (library == Library::kHf) {
    write_hf(chain, mask, name, out);
  } else if (!mask.rest.empty()) {
    refuse(out, mask.rest);
  } else if (const std::string why = misfit(mask, info); !why.empty()) {
    refuse(out, why);
  } else if (library == Library::kSplash) {
    write_splash(mask, out);
  } else {
    writer_of(library)(mask, out);
  }
  const bool by_lengths = mask.documents && mask.lengths.empty() && library != Library::kFlex &&
                          library != Library::kHf && library != Library::kSplash &&
                          library != Library::kEjkernel;
  if (by_lengths) {
    out.notes.push_back(fmt::format(
        "lengths: `maskctl convert {} --as segments --to cu_seqlens`, which says so when an id "
        "comes back and no lengths can hold the mask",
        mask.document_source));
  }
  if (!out.ok()) {
    out.code.clear();
    out.notes.clear();
    if (!info.dense.empty()) {
      out.notes.push_back(fmt::format("as a dense array: {}", info.dense));
    }
  }
  return out;
}

}  // namespace maskctl
