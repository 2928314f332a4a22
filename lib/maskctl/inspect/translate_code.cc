#include "maskctl/inspect/translate_code.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/translate_formula.h"

namespace maskctl {

std::string joined(const std::vector<Index>& values, std::string_view separator) {
  std::string out;
  for (const Index value : values) {
    if (!out.empty()) out += separator;
    out += std::to_string(value);
  }
  return out;
}

void refuse(Translation& out, std::string why) { out.refusal = std::move(why); }
void refuse_keys(Translation& out) {
  refuse(out, "no argument for keys that are open beside the window");
}

void note_chunks(const MaskArguments& mask, Translation& out) {
  if (mask.banded() && mask.align == Align::kUnset) return;  // Q = K as it is
  out.notes.push_back("written for Q = K: its chunks count queries from the first cached token");
}

std::string lengths_list(const MaskArguments& mask) {
  return mask.lengths.empty() ? "..." : joined(mask.lengths, ",");
}

std::string lengths_code(const MaskArguments& mask) {
  return mask.lengths.empty() ? "lengths" : fmt::format("[{}]", joined(mask.lengths, ", "));
}

std::string cu_seqlens(const MaskArguments& mask) {
  if (mask.lengths.empty()) return "...  # cumulative lengths";
  std::vector<Index> ends = {0};
  for (const Index length : mask.lengths) ends.push_back(ends.back() + length);
  return fmt::format("torch.tensor([{}], dtype=torch.int32, device=q.device)", joined(ends, ", "));
}

void write_flex(const Chain& chain, const StepName& name, Translation& out) {
  Formula formula = formula_of(chain, name);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  out.code = std::move(formula.tensors);
  out.notes = std::move(formula.notes);
  out.code.push_back("def mask_mod(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + formula.expression);
  out.code.push_back("block_mask = create_block_mask(mask_mod, None, None, Q_LEN, KV_LEN)");
}

void write_hf(const Chain& chain, const MaskArguments& mask, const StepName& name,
              Translation& out) {
  const bool simple = mask.rest.empty() && mask.sinks == 0 && mask.prefix == 0 &&
                      mask.chunk_offset == 0 && mask.align != Align::kTopLeft &&
                      !(mask.left && *mask.left < 0);
  if (mask.documents && mask.rest.empty()) {
    out.notes.push_back(
        "documents: position_ids that start again at each one, and attention_mask=None (an "
        "all-ones attention_mask turns the packing off)");
  }
  if (simple && mask.causal()) {
    if (mask.chunk && mask.left) return refuse(out, "chunks and a window in one layer");
    out.code = {mask.chunk  ? fmt::format("config.attention_chunk_size = {}  # layer_types: "
                                           "\"chunked_attention\"",
                                          *mask.chunk)
                : mask.left ? fmt::format("config.sliding_window = {}  # layer_types: "
                                          "\"sliding_attention\"",
                                          *mask.left + 1)
                            : "# layer_types: \"full_attention\", causal by default"};
    if (mask.chunk) note_chunks(mask, out);
    if (mask.left) {
      out.notes.push_back(fmt::format("{} keys, the own one included", *mask.left + 1));
    }
    return;
  }
  if (simple && !mask.chunk && mask.left && mask.left == mask.right) {
    out.code = {fmt::format("config.sliding_window = {}", *mask.left),
                "create_bidirectional_sliding_window_mask(**mask_kwargs)"};
    out.notes.push_back(fmt::format("abs(q - kv) <= {}: {} keys; causal layers would read {} keys",
                                    *mask.left, 2 * *mask.left + 1, *mask.left));
    return;
  }
  if (simple && !mask.banded() && !mask.chunk) {
    out.code = {"create_bidirectional_mask(**mask_kwargs)"};
    return;
  }
  Formula formula = formula_in_absolute_positions(chain, name);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  out.notes = std::move(formula.notes);
  out.code = std::move(formula.tensors);
  out.code.push_back("def pattern(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + formula.expression);
  const bool causal = mask.rest.empty() && mask.causal() && mask.prefix == 0;
  out.code.push_back(fmt::format("create_{}_mask(**mask_kwargs, and_mask_function=pattern)",
                                 causal ? "causal" : "bidirectional"));
  out.notes.push_back("mask functions reach eager, sdpa and flex; flash_attention_2 ignores them");
}

void write_splash(const MaskArguments& mask, Translation& out) {
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  const bool moved = mask.align == Align::kBottomRight;
  const std::string offset = moved ? ", offset=KV_LEN - Q_LEN" : "";
  const auto side = [](std::optional<Index> n) { return n ? std::to_string(*n) : "None"; };
  std::string code;
  if (mask.chunk) {
    if (!mask.causal() || moved) return refuse(out, "chunks are causal and top-left");
    code = fmt::format("ChunkedCausalMask((Q_LEN, KV_LEN), {})", *mask.chunk);
  }
  if (mask.left || (mask.right && !mask.causal())) {
    code += fmt::format("{}LocalMask((Q_LEN, KV_LEN), ({}, {}){})", code.empty() ? "" : " & ",
                        side(mask.left), side(mask.right), moved ? offset : ", offset=0");
  } else if (mask.causal() && !mask.chunk) {
    code = fmt::format("CausalMask((Q_LEN, KV_LEN){})", offset);
  }
  if (code.empty()) code = "FullMask((Q_LEN, KV_LEN))";
  out.code = {"mask = " + code, "kernel = make_splash_mha(MultiHeadMask([mask] * heads), ...)"};
  if (mask.documents) {
    out.code.push_back("kernel(q, k, v, segment_ids=SegmentIds(q=doc_id, kv=doc_id))");
  }
}

void write_mask_info(const MaskArguments& mask, Translation& out) {
  if (mask.sinks > 0 || mask.prefix > 0) return refuse_keys(out);
  const bool window = mask.left || (mask.right && !mask.causal());
  if (mask.chunk && !mask.causal()) return refuse(out, "apply_chunked is causal too");
  const bool moved = mask.align == Align::kBottomRight;
  if (mask.chunk && moved) return refuse(out, "apply_chunked has no offset for the chunk number");
  const char* offset = moved ? "offset=kv_len - q_len" : "";
  std::string code = mask.documents ? "MaskInfo.from_segments(segment_ids)"
                                    : "MaskInfo.from_attention_mask(jnp.ones((batch, 1, q_len, "
                                      "kv_len), bool))";
  if (mask.chunk) {
    code += fmt::format(".apply_chunked({})", *mask.chunk);
  } else if (mask.causal()) {
    code += fmt::format(".apply_causal({})", offset);
  }
  if (window) {
    const std::string left = mask.left ? std::to_string(*mask.left) : "q_len + kv_len";
    const std::string right = mask.right ? std::to_string(*mask.right) : "q_len + kv_len";
    code += fmt::format(".apply_sliding_window(({}, {}){})", left, right,
                        moved ? fmt::format(", {}", offset) : "");
  }
  out.code = {"mask_info = " + code};
  if (mask.documents && !mask.lengths.empty()) {
    out.notes.push_back(fmt::format("segment_ids: lengths {}, padding is -1", lengths_code(mask)));
  }
}

void write_flashmask(const MaskArguments& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "chunks: give each chunk as a document");
  if (mask.align == Align::kBottomRight) {
    out.notes.push_back("written for Q = K, where both alignments agree");
  }
  if (mask.documents && !mask.causal()) return refuse(out, "documents that are not causal");
  if (mask.documents && mask.prefix > 0) return refuse_keys(out);
  if (mask.banded() && !mask.right) return refuse(out, "a window without a right side");
  std::string start =
      mask.left ? fmt::format("j + {}", *mask.left + 1) : "paddle.full_like(j, Q_LEN)";
  if (!mask.left && !mask.documents && mask.prefix == 0 && (mask.causal() || !mask.right)) {
    out.code = {
        fmt::format("flashmask_attention(q, k, v, causal={})", mask.causal() ? "True" : "False")};
    return;
  }
  out.code = {"j = paddle.arange(KV_LEN)"};
  if (mask.documents) {
    out.code.push_back(
        fmt::format("document_end = ...  # of key j; lengths {}", lengths_code(mask)));
    start = mask.left ? fmt::format("paddle.minimum({}, document_end)", start) : "document_end";
  }
  if (mask.sinks > 0) {
    if (mask.documents) return refuse_keys(out);
    start = fmt::format("paddle.where(j < {}, Q_LEN, {})", mask.sinks, start);
  }
  const bool causal = mask.causal() && mask.prefix == 0;
  std::string columns = start;
  if (mask.prefix > 0) {
    if (!mask.causal()) return refuse_keys(out);
    columns = fmt::format("paddle.where(j < {0}, Q_LEN, {1}), paddle.where(j < {0}, 0, j)",
                          mask.prefix, start);
  } else if (!causal) {
    columns = fmt::format("{}, {}", start, mask.right ? fmt::format("j - {}", *mask.right) : "0");
  }
  out.code.push_back(fmt::format(
      "idx = paddle.stack([{}], -1).clip(0, Q_LEN).reshape([1, 1, KV_LEN, -1])", columns));
  out.code.push_back(
      fmt::format("flashmask_attention(q, k, v, startend_row_indices=idx, causal={})",
                  causal ? "True" : "False"));
}

}  // namespace maskctl
