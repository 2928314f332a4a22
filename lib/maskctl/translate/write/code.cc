#include "maskctl/translate/write/code.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/translate/write/formula.h"

namespace maskctl {
namespace {

constexpr std::size_t kListed = 64;  // the most numbers that are written out

bool negative(const MaskForm& mask) {
  return (mask.left && *mask.left < 0) || (mask.right && *mask.right < 0);
}

bool reads_lengths(const std::string& text) {
  return text.find("Q_LEN") != text.npos || text.find("KV_LEN") != text.npos;
}

/// Lines for the device and the lengths, as transformers' arguments have them; without a cache the
/// keys are the queries.
void add_hf_lengths(bool device, bool lengths, Translation& out) {
  if (device) out.code.emplace_back("device = mask_kwargs[\"inputs_embeds\"].device");
  if (!lengths) return;
  out.code.emplace_back("Q_LEN = mask_kwargs[\"inputs_embeds\"].shape[1]");
  out.code.emplace_back(
      "KV_LEN = Q_LEN + getattr(mask_kwargs.get(\"past_key_values\"), \"get_seq_length\", int)()");
}

void add_formula(Formula formula, Translation& out) {
  const bool lengths =
      reads_lengths(formula.expression) || std::ranges::any_of(formula.tensors, reads_lengths);
  if (out.library == Library::kHf) {
    add_hf_lengths(!formula.tensors.empty(), lengths, out);
  } else if (lengths) {
    out.code.emplace_back(kLengthsLine);
  }
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

void note_batch(std::size_t entries, Translation& out) {
  const std::string text = fmt::format("for a batch of {}", entries);
  if (entries > 1 && std::ranges::find(out.notes, text) == out.notes.end()) {
    out.notes.push_back(text);
  }
}

void refuse(Translation& out, std::string why) { out.refusal = std::move(why); }
void refuse_keys(Translation& out) {
  refuse(out, "no argument for keys that are open beside the window");
}

void write_flex(const Chain& chain, const StepName& name, Translation& out) {
  Formula formula = formula_of(chain, name, out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  const std::string expression = formula.expression;
  const std::string batch = formula.batches ? "q.shape[0]" : "None";
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
  if (formula.batches) {
    out.code.push_back(fmt::format("b = {}.arange(q.shape[0]{})[:, None, None, None]", module, at));
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
          formula.heads || formula.batches
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

/// The entry of mask_kwargs that closes padding: a row for each batch entry.
std::string hf_padding(const MaskForm& mask, Translation& out) {
  add_hf_lengths(true, true, out);
  std::string lengths = array_code(out, "length", mask.padding);
  if (mask.padding.size() == 1) lengths += ".expand(mask_kwargs[\"inputs_embeds\"].shape[0])";
  out.code.push_back(
      fmt::format("attention_mask = torch.arange(KV_LEN, device=device) {} {}[:, None]",
                  mask.pad_left ? ">= KV_LEN -" : "<", lengths));
  note_batch(mask.padding.size(), out);
  return "attention_mask=attention_mask";
}

/// The entries of mask_kwargs that keep documents apart: positions that restart in each.
std::string hf_positions(const MaskForm& mask, Translation& out) {
  std::vector<Index> positions;
  for (const Index length : mask.lengths) {
    for (Index i = 0; i < length && positions.size() <= kListed; ++i) positions.push_back(i);
  }
  add_hf_lengths(true, false, out);
  out.code.push_back(
      positions.size() > kListed
          ? fmt::format("position_ids = torch.cat([torch.arange(n, device=device) for n in "
                        "[{}]])[None]",
                        joined(mask.lengths, ", "))
          : fmt::format("position_ids = torch.tensor([[{}]], device=device)",
                        joined(positions, ", ")));
  const Index tokens = ends_of(mask.lengths).back();
  out.notes.push_back(
      fmt::format("position_ids hold {0} tokens: for Q_LEN = KV_LEN = {0}", tokens));
  out.notes.emplace_back(
      "None: an attention_mask, even of all ones, or a cache, even an empty one, turns the packing "
      "off");
  return "position_ids=position_ids, attention_mask=None, past_key_values=None";
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
  Formula formula = formula_of(chain, name, out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  if (formula.heads) {
    return refuse(out, "mask functions are evaluated for head 0, and all heads get its mask");
  }
  const std::string expression = formula.expression;
  add_formula(std::move(formula), out);
  out.code.push_back("def pattern(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + expression);
  const bool causal = mask.rest.empty() && mask.causal() && mask.prefix == 0 &&
                      mask.align != Align::kTopLeft && (!mask.inside || mask.kv_lengths.empty());
  out.code.push_back(fmt::format("create_{}_mask(**mask_kwargs, and_mask_function=pattern)",
                                 causal ? "causal" : "bidirectional"));
  if (mask.documents || !mask.rest.empty()) {
    out.notes.emplace_back("without position_ids that start again: they would count twice");
  }
  out.notes.emplace_back(
      "mask functions reach eager, sdpa and flex; flash_attention_2 ignores them");
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

}  // namespace maskctl
