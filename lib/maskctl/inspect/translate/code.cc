#include "maskctl/inspect/translate/code.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "maskctl/inspect/translate/formula.h"

namespace maskctl {
namespace {

constexpr std::size_t kListed = 64;  // the most numbers that are written out

bool splits(const MaskForm& mask) { return mask.sinks > 0 || mask.prefix > 0; }

/// What several libraries cannot express: offsets of chunks, steps inside documents, padding.
std::string unusual(const MaskForm& mask) {
  if (mask.chunk && (mask.chunk_offset != 0 || !mask.chunk_origins.empty())) {
    return "no argument for the offset of chunks";
  }
  const bool counted = !mask.kv_lengths.empty() || mask.chunk || splits(mask);
  if (mask.inside && counted) return "steps that count inside documents";
  if (mask.padded()) return "no argument for padding";
  return "";
}

bool negative(const MaskForm& mask) {
  return (mask.left && *mask.left < 0) || (mask.right && *mask.right < 0);
}

/// Code for the doc_id of every token, if the lengths are known.
std::string document_ids(const MaskForm& mask, std::string_view repeat, std::string_view arange) {
  return fmt::format("doc_id = {}({}({}), {}[{}]{})", repeat, arange, mask.lengths.size(),
                     repeat.starts_with("torch") ? "torch.tensor(" : "", joined(mask.lengths, ", "),
                     repeat.starts_with("torch") ? ")" : "");
}

constexpr const char* kLengthsLine = "Q_LEN, KV_LEN = q.shape[-2], k.shape[-2]";

bool reads_lengths(const std::string& text) {
  return text.find("Q_LEN") != text.npos || text.find("KV_LEN") != text.npos;
}

void add_formula(Formula formula, Translation& out) {
  const bool lengths =
      reads_lengths(formula.expression) || std::ranges::any_of(formula.tensors, reads_lengths);
  if (lengths) out.code.emplace_back(kLengthsLine);
  for (std::string& line : formula.tensors) out.code.push_back(std::move(line));
  for (std::string& line : formula.notes) out.notes.push_back(std::move(line));
  for (Translation::Array& array : formula.arrays) out.arrays.push_back(std::move(array));
}

}  // namespace

std::string joined(const std::vector<Index>& values, std::string_view separator) {
  std::string out;
  for (const Index value : values) {
    if (!out.empty()) out += separator;
    out += std::to_string(value);
  }
  return out;
}

std::vector<Index> ends_of(const std::vector<Index>& lengths) {
  std::vector<Index> ends = {0};
  for (const Index length : lengths) ends.push_back(ends.back() + length);
  return ends;
}

std::string array_code(Translation& out, const std::string& name,
                       const std::vector<Index>& values) {
  const std::string_view form = info_of(out.library).array;
  if (values.size() <= kListed) return fmt::format(fmt::runtime(form), joined(values, ", "));
  Tensor array(DType::kInt32, {static_cast<Index>(values.size())});
  std::ranges::transform(values, array.as<std::int32_t>().begin(),
                         [](Index n) { return static_cast<std::int32_t>(n); });
  out.arrays.push_back({name, std::move(array)});
  std::string load(form);
  load.replace(load.find("[{}]"), 4, fmt::format("np.load(\"{}.npy\")", name));
  return load;
}

void refuse(Translation& out, std::string why) { out.refusal = std::move(why); }
void refuse_keys(Translation& out) {
  refuse(out, "no argument for keys that are open beside the window");
}

void write_flex(const Chain& chain, const StepName& name, Translation& out) {
  Formula formula = formula_of(chain, name, out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  const std::string expression = formula.expression;
  const std::string batch = formula.batches > 1 ? std::to_string(formula.batches) : "None";
  const std::string heads = formula.heads ? "q.shape[1]" : "None";
  const std::string lengths =
      formula.tokens ? fmt::format("{0}, {0}", *formula.tokens) : "Q_LEN, KV_LEN";
  if (!formula.tokens && !reads_lengths(expression)) out.code.emplace_back(kLengthsLine);
  add_formula(std::move(formula), out);
  out.code.push_back("def mask_mod(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + expression);
  out.code.push_back(
      fmt::format("block_mask = create_block_mask(mask_mod, {}, {}, {}, device=q.device)", batch,
                  heads, lengths));
}

void write_dense(const Chain& chain, const StepName& name, Translation& out) {
  Formula formula = formula_of(chain, name, out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  const std::string module = out.library == Library::kJax ? "jnp" : "torch";
  out.code.emplace_back(out.library == Library::kJax ? "Q_LEN, KV_LEN = q.shape[-3], k.shape[-3]"
                                                     : kLengthsLine);
  const std::string at = out.library == Library::kJax ? "" : ", device=q.device";
  out.code.push_back(fmt::format("q_idx = {}.arange(Q_LEN{})[:, None]", module, at));
  out.code.push_back(fmt::format("kv_idx = {}.arange(KV_LEN{})[None]", module, at));
  if (formula.batches > 1) {
    out.code.push_back(
        fmt::format("b = {}.arange({}{})[:, None, None, None]", module, formula.batches, at));
  }
  if (formula.heads) {
    out.code.push_back(fmt::format("h = {}.arange(q.shape[{}]{})[:, None, None]", module,
                                   out.library == Library::kJax ? "-2" : "1", at));
  }
  const std::string expression = formula.expression;
  if (!formula.tensors.empty())
    formula.tensors.erase(
        std::remove(formula.tensors.begin(), formula.tensors.end(), std::string(kLengthsLine)),
        formula.tensors.end());
  for (std::string& line : formula.tensors) out.code.push_back(std::move(line));
  for (std::string& line : formula.notes) out.notes.push_back(std::move(line));
  for (Translation::Array& array : formula.arrays) out.arrays.push_back(std::move(array));
  // A mask needs all its rows, even if they are equal.
  const bool rows = expression.find("q_idx") != expression.npos;
  out.code.push_back(rows ? "mask = " + expression
                          : fmt::format("mask = ({}) & (q_idx >= 0)", expression));
  switch (out.library) {
    case Library::kMha:
      out.code.emplace_back(
          formula.heads || formula.batches > 1
              ? "mha(query, key, value, attn_mask=~mask.expand(q.shape[0], q.shape[1], -1, "
                "-1).flatten(0, 1))"
              : "mha(query, key, value, attn_mask=~mask)");
      out.notes.emplace_back("True is closed here; q and k stand for the sizes only");
      return;
    case Library::kJax:
      out.code.emplace_back("dot_product_attention(q, k, v, mask=mask)");
      return;
    default:
      out.code.emplace_back("scaled_dot_product_attention(q, k, v, attn_mask=mask)");
  }
}

namespace {

/// The function for a causal mask, and the keys of the config that it reads.
std::string hf_causal_function(const MaskForm& mask, Translation& out) {
  if (mask.chunk) {
    out.code.push_back(fmt::format("config.attention_chunk_size = {}", *mask.chunk));
    if (mask.chunk_align == Align::kUnset && !mask.documents) {
      out.notes.emplace_back(
          "written for Q = K: its chunks count queries from the first cached token");
    }
    return "create_chunked_causal_mask";
  }
  if (!mask.left) return "create_causal_mask";
  out.code.push_back(fmt::format("config.sliding_window = {}", *mask.left + 1));
  out.notes.push_back(fmt::format("{} keys including the query's own", *mask.left + 1));
  return "create_sliding_window_causal_mask";
}

/// The entry of mask_kwargs that closes padding.
std::string hf_padding(const MaskForm& mask, Translation& out) {
  out.code.emplace_back("KV_LEN = k.shape[-2]");
  out.code.push_back(
      fmt::format("attention_mask = torch.arange(KV_LEN) {} torch.tensor([{}])[:, None]",
                  mask.pad_left ? ">= KV_LEN -" : "<", joined(mask.padding, ", ")));
  return "attention_mask=attention_mask";
}

/// The entries of mask_kwargs that keep documents apart: positions that restart in each.
std::string hf_positions(const MaskForm& mask, Translation& out) {
  std::vector<Index> positions;
  for (const Index length : mask.lengths) {
    for (Index i = 0; i < length && positions.size() <= kListed; ++i) positions.push_back(i);
  }
  out.code.push_back(
      positions.size() > kListed
          ? fmt::format("position_ids = torch.cat([torch.arange(n) for n in [{}]])[None]",
                        joined(mask.lengths, ", "))
          : fmt::format("position_ids = torch.tensor([[{}]])", joined(positions, ", ")));
  out.notes.emplace_back("attention_mask=None: an all-ones attention_mask turns the packing off");
  return "position_ids=position_ids, attention_mask=None";
}

bool write_hf_causal(const MaskForm& mask, Translation& out) {
  if (mask.padded() && (mask.pad_queries || (mask.chunk && mask.pad_left))) return false;
  const std::string function = hf_causal_function(mask, out);
  std::string entries;
  if (mask.padded()) entries = hf_padding(mask, out);
  if (mask.documents) entries = hf_positions(mask, out);
  out.code.push_back(entries.empty()
                         ? function + "(**mask_kwargs)"
                         : fmt::format("{}(**mask_kwargs | dict({}))", function, entries));
  return true;
}

/// Writes the config's keys, or one of the mask functions; false when neither can express the mask.
bool write_hf_keys(const MaskForm& mask, Translation& out) {
  const bool usual = mask.rest.empty() && !splits(mask) && mask.chunk_offset == 0 &&
                     mask.chunk_origins.empty() && mask.align != Align::kTopLeft &&
                     !negative(mask) && mask.kv_lengths.empty() &&
                     !(mask.documents && (mask.lengths.empty() || !mask.inside));
  if (!usual) return false;
  if (mask.causal() && !(mask.chunk && mask.left)) return write_hf_causal(mask, out);
  if (mask.chunk || mask.documents || mask.padded()) return false;
  if (mask.left && mask.left == mask.right) {
    out.code = {fmt::format("config.sliding_window = {}", *mask.left),
                "create_bidirectional_sliding_window_mask(**mask_kwargs)"};
    out.notes.push_back(fmt::format("abs(q - kv) <= {}: {} keys; causal layers would read {} keys",
                                    *mask.left, 2 * *mask.left + 1, *mask.left));
    return true;
  }
  if (!mask.banded()) out.code = {"create_bidirectional_mask(**mask_kwargs)"};
  return !mask.banded();
}

}  // namespace

void write_hf(const Chain& chain, const MaskForm& mask, const StepName& name, Translation& out) {
  if (write_hf_keys(mask, out)) return;
  Formula formula = formula_in_absolute_positions(chain, name, out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  const std::string expression = formula.expression;
  if (!formula.tensors.empty()) {
    out.code.emplace_back("device = mask_kwargs[\"inputs_embeds\"].device");
  }
  add_formula(std::move(formula), out);
  out.code.push_back("def pattern(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + expression);
  const bool causal = mask.rest.empty() && mask.causal() && mask.prefix == 0 &&
                      (!mask.inside || mask.kv_lengths.empty());
  out.code.push_back(fmt::format("create_{}_mask(**mask_kwargs, and_mask_function=pattern)",
                                 causal ? "causal" : "bidirectional"));
  if (mask.documents || !mask.rest.empty()) {
    out.notes.emplace_back("without position_ids that start again: they would count twice");
  }
  out.notes.emplace_back(
      "mask functions reach eager, sdpa and flex; flash_attention_2 ignores them");
}

/// Only a band that contains the diagonal, and documents given by lengths, can be expressed here.
bool refuses_shape(const MaskForm& mask, Translation& out) {
  if (splits(mask)) {
    refuse_keys(out);
  } else if (const std::string why = unusual(mask); !why.empty()) {
    refuse(out, why);
  } else if (negative(mask)) {
    refuse(out, "the band does not contain the diagonal, and sides cannot be negative");
  } else if (mask.documents && mask.lengths.empty()) {
    refuse(out, "these ids are not lengths of consecutive documents");
  } else {
    return false;
  }
  return true;
}

void write_splash(const MaskForm& mask, Translation& out) {
  if (refuses_shape(mask, out)) return;
  const bool moved = mask.align == Align::kBottomRight;
  const std::string offset = moved ? ", offset=KV_LEN - Q_LEN" : "";
  const auto side = [](std::optional<Index> n) { return n ? std::to_string(*n) : "None"; };
  std::string code;
  if (mask.chunk) {
    if (!mask.causal() || moved || mask.chunk_align == Align::kBottomRight) {
      return refuse(out, "chunks are causal and top-left");
    }
    code = fmt::format("ChunkedCausalMask((Q_LEN, KV_LEN), {})", *mask.chunk);
  }
  if (mask.left || (mask.right && !mask.causal())) {
    code += fmt::format("{}LocalMask((Q_LEN, KV_LEN), ({}, {}){})", code.empty() ? "" : " & ",
                        side(mask.left), side(mask.right), moved ? offset : ", offset=0");
  } else if (mask.causal() && !mask.chunk) {
    code = fmt::format("CausalMask((Q_LEN, KV_LEN){})", offset);
  }
  if (code.empty()) code = "FullMask((Q_LEN, KV_LEN))";
  out.code = {kLengthsLine, "mask = " + code,
              "kernel = make_splash_mha(MultiHeadMask([mask] * q.shape[0]), head_shards=1, "
              "q_seq_shards=1)"};
  if (mask.documents) {
    const Index total = std::accumulate(mask.lengths.begin(), mask.lengths.end(), Index{0});
    out.code.push_back(document_ids(mask, "np.repeat", "np.arange"));
    out.code.emplace_back("kernel(q, k, v, segment_ids=SegmentIds(q=doc_id, kv=doc_id))");
    out.notes.push_back(fmt::format("doc_id holds {0} tokens: for Q_LEN = KV_LEN = {0}", total));
  } else {
    out.code.emplace_back("kernel(q, k, v)");
  }
}

void write_mask_info(const MaskForm& mask, Translation& out) {
  if (refuses_shape(mask, out)) return;
  const bool window = mask.left || (mask.right && !mask.causal());
  if (mask.chunk && !mask.causal()) return refuse(out, "apply_chunked is causal too");
  const bool moved = mask.align == Align::kBottomRight;
  if (mask.chunk && (moved || mask.chunk_align == Align::kBottomRight)) {
    return refuse(out, "apply_chunked has no offset for the chunk number");
  }
  const char* offset = moved ? "offset=kv_len - q_len" : "";
  std::string code;
  if (mask.documents) {
    out.code.push_back(document_ids(mask, "np.repeat", "np.arange"));
    code = "MaskInfo.from_segments(jnp.asarray(doc_id)[None])";
  } else {
    out.code.emplace_back("batch, q_len, kv_len = q.shape[0], q.shape[1], k.shape[1]");
    code = "MaskInfo.from_attention_mask(jnp.ones((batch, 1, q_len, kv_len), bool))";
  }
  if (mask.chunk) {
    code += fmt::format(".apply_chunked({})", *mask.chunk);
  } else if (mask.causal()) {
    code += fmt::format(".apply_causal({})", offset);
  }
  if (window) {
    const auto side = [](std::optional<Index> n) { return n ? std::to_string(*n) : "2**30"; };
    code += fmt::format(".apply_sliding_window(({}, {}){})", side(mask.left), side(mask.right),
                        moved ? fmt::format(", {}", offset) : "");
  }
  out.code.push_back("mask_info = " + code);
}

void write_ck_tile(const MaskForm& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "no mask for chunks");
  if (mask.prefix > 0) return refuse_keys(out);
  if (mask.padded()) return refuse(out, "padding is group mode: give lengths as documents");
  if (negative(mask)) {
    return refuse(out, "the band does not contain the diagonal, and sides cannot be negative");
  }
  if (mask.sinks > 0 && mask.documents) {
    return refuse(out, "sink tokens would be the first of each document, not of the first only");
  }
  if (mask.documents && (!mask.kv_lengths.empty() || mask.lengths.empty())) {
    return refuse(out, "group mode takes one list of lengths");
  }
  const auto side = [](std::optional<Index> n) { return n.value_or(-1); };
  const char type = mask.align == Align::kBottomRight ? 'b' : 't';
  std::string text = "0";
  if (mask.sinks > 0) {
    text = fmt::format("{}:{},{},{}", type, side(mask.left), side(mask.right), mask.sinks);
    out.notes.emplace_back("the third number (sink tokens) needs a version that has it");
  } else if (mask.causal() && !mask.left) {
    text = type;
  } else if (mask.banded()) {
    text = fmt::format("{}:{},{}", type, side(mask.left), side(mask.right));
  }
  out.code = {fmt::format("tile_example_fmha_fwd -mask={}", text)};
  if (mask.documents) {
    out.code.front() += fmt::format(" -mode=1 -s={}", joined(mask.lengths, ","));
    out.notes.emplace_back("group mode: one sequence for each document");
  }
}

void write_flashmask(const MaskForm& mask, Translation& out) {
  if (mask.chunk) return refuse(out, "chunks: give each chunk as a document");
  if (const std::string why = unusual(mask); !why.empty()) return refuse(out, why);
  if (negative(mask)) {
    return refuse(out, "the band does not contain the diagonal, and sides cannot be negative");
  }
  if (mask.align == Align::kBottomRight) {
    out.notes.emplace_back("written for Q = K, where both alignments agree");
  }
  if (mask.documents && mask.lengths.empty()) {
    return refuse(out, "these ids are not lengths of consecutive documents");
  }
  if (mask.documents && !mask.causal()) return refuse(out, "documents that are not causal");
  if (mask.documents && splits(mask)) return refuse_keys(out);
  if (mask.banded() && !mask.right) return refuse(out, "a window without a right side");
  std::string start =
      mask.left ? fmt::format("j + {}", *mask.left + 1) : "paddle.full_like(j, Q_LEN)";
  if (!mask.left && !mask.documents && mask.prefix == 0 && (mask.causal() || !mask.right)) {
    out.code = {
        fmt::format("flashmask_attention(q, k, v, causal={})", mask.causal() ? "True" : "False")};
    return;
  }
  out.code = {"Q_LEN, KV_LEN = q.shape[1], k.shape[1]", "j = paddle.arange(KV_LEN)"};
  if (mask.documents) {
    std::vector<Index> ends = ends_of(mask.lengths);
    ends.erase(ends.begin());
    out.code.push_back(fmt::format(
        "document_end = paddle.repeat_interleave(paddle.to_tensor([{}]), paddle.to_tensor([{}]))",
        joined(ends, ", "), joined(mask.lengths, ", ")));
    start = mask.left ? fmt::format("paddle.minimum({}, document_end)", start) : "document_end";
  }
  if (mask.sinks > 0) start = fmt::format("paddle.where(j < {}, Q_LEN, {})", mask.sinks, start);
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
