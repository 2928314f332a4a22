// Hugging Face transformers: keys of a config, and the functions of masking_utils.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/text.h"
#include "maskctl/mask/steps/field.h"
#include "maskctl/mask/steps/pad.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kHfArguments[] = {{"is_causal", kCausal, "True"},
                                     {"sliding_window", kKeys, "None"},
                                     {"attention_chunk_size", kChunk, "None"}};

// Models pass on more arguments than attention functions read.
constexpr Argument kHfFlash[] = {
    {"cu_seq_lens_q", kEnds, "None"},   {"cu_seq_lens_k", kKeyEnds, "None"},
    {"is_causal", kCausal, "None"},     {"sliding_window", kKeysAround, "None"},
    {"attention_mask", kMask, "None"},  {"position_ids", kUnread, "None"},
    {"cache", kUnread, "None"},         {"block_table", kUnread, "None"},
    {"dropout", kNothing, "0.0"},       {"scaling", kNothing, "None"},
    {"softcap", kNothing, "None"},      {"s_aux", kNothing, "None"},
    {"max_length_q", kNothing, "None"}, {"max_length_k", kNothing, "None"},
    {"deterministic", kNothing, "None"}};
constexpr Argument kHfOfModels[] = {{"output_attentions", kNothing, "False"},
                                    {"output_hidden_states", kNothing, "False"},
                                    {"output_router_logits", kNothing, "False"},
                                    {"num_items_in_batch", kNothing, "None"},
                                    {"seq_idx", kNothing, "None"}};
constexpr Argument kHfOwn[] = {
    {"attention_mask", kMask, "None"},    {"position_bias", kMask, "None"},
    {"cache", kUnread, "None"},           {"dropout", kNothing, "0.0"},
    {"scaling", kNothing, "None"},        {"softcap", kNothing, "None"},
    {"s_aux", kNothing, "None"},          {"position_ids", kNothing, "None"},
    {"sliding_window", kNothing, "None"}, {"cu_seq_lens_q", kNothing, "None"},
    {"cu_seq_lens_k", kNothing, "None"},  {"max_length_q", kNothing, "None"},
    {"max_length_k", kNothing, "None"}};
constexpr Argument kHfCausal[] = {{"is_causal", kCausal, "None"}};
constexpr Argument kHfNotCausal[] = {{"is_causal", kNothing, "None"}};
constexpr auto kHfFlashOfModels = joined_lists(kHfFlash, kHfOfModels);
constexpr auto kHfSdpa = joined_lists(kHfCausal, kHfOwn, kHfOfModels);
constexpr auto kHfMaskAlone = joined_lists(kHfNotCausal, kHfOwn, kHfOfModels);

constexpr Convention kHfCalls[] = {
    {.call = "config",
     .align = Align::kBottomRight,
     .causal = true,
     .unbounded = "None",
     .arguments = kHfArguments,
     .overrides =
         "without causal a window is W on either side; chunks are causal, counted from the first "
         "cached token; position_ids that start again count everything from each document's "
         "start, in causal masks only",
     .source = "transformers masking_utils.py"},
    {.call = "flash_attention_forward",
     .align = Align::kBottomRight,
     .documents = true,
     .leading = "module, query, key, value",
     .arguments = kHfFlashOfModels,
     .overrides = "without causal a window is W - 1 on either side",
     .source = "transformers 5.17 to 5.24 integrations/flash_attention.py, "
               "modeling_flash_attention_utils.py",
     .written = false},
    {.call = "sdpa_attention_forward",
     .align = Align::kTopLeft,
     .leading = "module, query, key, value",
     .arguments = kHfSdpa,
     .overrides = "is_causal counts without an attention_mask and with several queries; None: as "
                  "module.is_causal says",
     .source = "transformers 5.17 to 5.24 integrations/sdpa_attention.py",
     .lone_query_sees_all = true,
     .written = false},
    {.call = "flex_attention_forward",
     .align = Align::kTopLeft,
     .leading = "module, query, key, value",
     .arguments = kHfMaskAlone,
     .overrides = "the mask is attention_mask, nothing else",
     .source = "transformers 5.17 to 5.24 integrations/flex_attention.py",
     .written = false},
    {.call = "eager_attention_forward",
     .align = Align::kTopLeft,
     .leading = "module, query, key, value",
     .arguments = kHfMaskAlone,
     .overrides = "the mask is attention_mask, nothing else",
     .source = "transformers 5.17 to 5.24 models/llama/modeling_llama.py",
     .written = false}};

constexpr WindowConvention kHfWindows[] = {
    {"hf, causal", "sliding_window=W", WindowRule::kKeys, "masking_utils.py: kv > q - W"},
    {"hf, bidirectional", "sliding_window=W", WindowRule::kBoth,
     "masking_utils.py: abs(q - kv) <= W"}};

/// How arrays are made in code that transformers calls, in which there may be no q.
constexpr ArrayModule kHfTorch = {.name = "torch",
                                  .device = ", device=device",
                                  .repeated =
                                      "torch.repeat_interleave(torch.arange({}), "
                                      "torch.tensor([{}])).to(device)"};

/// Adds lines that define device, Q_LEN and KV_LEN from transformers' arguments. Without a cache,
/// which is past_key_values before transformers 5.24, there are as many keys as queries.
void add_hf_lengths(bool device, bool lengths, Translation& out) {
  if (device) out.code.emplace_back("device = mask_kwargs[\"inputs_embeds\"].device");
  if (!lengths) return;
  out.code.emplace_back("Q_LEN = mask_kwargs[\"inputs_embeds\"].shape[1]");
  out.code.emplace_back(
      "KV_LEN = Q_LEN + getattr(mask_kwargs.get(\"cache\", mask_kwargs.get(\"past_key_values\")), "
      "\"get_seq_length\", int)()");
}

/// The lengths of documents, from position ids that start again at 0 in each document.
std::optional<std::vector<Index>> packed_lengths(const LibrarySource& source, const Python& ids) {
  Python value = resolved(source.text, ids);
  // unwrap the only row of a batch
  if (value.kind == Python::Kind::kCall && !value.items.empty())
    value = resolved(source.text, value.items[0]);
  if (value.kind == Python::Kind::kList && value.items.size() == 1) value = value.items[0];
  const auto numbers = numbers_in(source.text, value);
  if (!numbers) return std::nullopt;
  std::vector<Index> out;
  for (std::size_t i = 0; i < numbers->size(); ++i) {
    // Like find_packed_sequence_indices: a new document starts where the position does not grow by
    // one.
    if (i == 0 || (*numbers)[i] != (*numbers)[i - 1] + 1) out.push_back(0);
    ++out.back();
  }
  return out;
}

/// Reads an attention_mask with two axes, in one of two forms: arange(KV_LEN) < lengths[:, None]
/// (padding on the right) or >= KV_LEN - lengths[:, None] (on the left).
Step padding_step(const LibrarySource& source, const Python& given) {
  const Python mask = resolved(source.text, given);
  const bool compares = (mask.is_binary("<") || mask.is_binary(">=")) &&
                        mask.items[0].kind == Python::Kind::kCall &&
                        last_name(mask.items[0].text) == "arange";
  step::Pad rule;
  rule.is_lengths = true;
  rule.left = compares && mask.text == ">=";
  const Python* length = compares ? &mask.items[1] : nullptr;
  if (length && rule.left) {
    const bool end = length->is_binary("-") && length->items[0].is_word("KV_LEN");
    length = end ? &length->items[1] : nullptr;
  }
  if (length && length->kind == Python::Kind::kSubscript) length = &length->items[0];
  const auto lengths = length ? numbers_in(source.text, *length) : std::nullopt;
  if (!lengths) {
    source.fail(given.position,
                "attention_mask: expected None, or torch.arange(KV_LEN) < torch.tensor([...])[:, "
                "None]; of an array give the file to the other commands");
  }
  rule.valid = fields::numbers(*lengths);
  return {std::move(rule)};
}

/// The keys of the config that a function of masking_utils uses, as if they were arguments of a
/// call.
Python hf_keys(const LibrarySource& source, std::string_view function) {
  const Python& last = source.text.last;
  Python keys;
  keys.kind = Python::Kind::kCall;
  keys.position = last.position;
  Python flag;
  flag.text = function.find("bidirectional") == function.npos ? "True" : "False";
  keys.named.push_back({"is_causal", flag});
  const auto window = source.text.names.find("sliding_window");
  if (function.find("sliding_window") != function.npos) {
    if (window == source.text.names.end()) {
      source.fail(last.position, fmt::format("{} needs config.sliding_window", function));
    }
    keys.named.push_back({"sliding_window", window->second});
  }
  const auto chunk = source.text.names.find("attention_chunk_size");
  if (function.find("chunked") != function.npos && chunk != source.text.names.end()) {
    keys.named.push_back({"attention_chunk_size", chunk->second});
  }
  return keys;
}

/// Whether the call has a cache, with which transformers looks for no documents in position_ids.
bool has_cache(const LibrarySource& source) {
  for (const char* name : {"cache", "past_key_values"}) {
    const Python* given = given_argument(source, name);
    if (!given) continue;
    if (resolved(source.text, *given).kind == Python::Kind::kCall) return true;
    source.fail(given->position,
                fmt::format("with a cache position_ids separate no documents: write {0}=None, or "
                            "{0}=DynamicCache() if there is one",
                            name));
  }
  return false;
}

/// The chain applied inside each document, where packed position_ids give the documents.
Chain hf_packed(const LibrarySource& source, const Python& ids, const Chain& chain) {
  const auto lengths = packed_lengths(source, ids);
  if (!lengths) source.fail(ids.position, "position_ids: expected a list of numbers");
  if (lengths->size() < 2 || has_cache(source)) return chain;
  MaskForm form = mask_form(chain, [](const Step&) { return "this pattern"; });
  if (!form.rest.empty()) source.fail(ids.position, "with position_ids " + form.rest);
  form.documents = form.inside = true;
  form.lengths = *lengths;
  form.align = form.chunk_align = Align::kUnset;
  return chain_of(form);
}

/// Reads a call of a function of masking_utils that makes a mask, with its and_mask_function, or
/// else keys of a model's config.
Chain read_hf(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const std::string_view name = last_name(source.text.last.text);
  if (!name.starts_with("create_")) return chain_of_call(source);
  for (const char* unread : {"or_mask_function", "block_sequence_ids"}) {
    if (const Python* given = given_argument(source, unread)) {
      source.fail(given->position, fmt::format("{} is not read", unread));
    }
  }
  Chain out = chain_of_call(source, hf_keys(source, name));
  if (const Python* pattern = given_argument(source, "and_mask_function")) {
    append(out, chain_of_expression(source, resolved(source.text, *pattern), Align::kBottomRight));
  }
  // transformers detects documents in position_ids only if there is no cache and no attention_mask,
  // not even one of all ones.
  const Python* padding = given_argument(source, "attention_mask");
  if (padding) out.push_back(padding_step(source, *padding));
  const Python* ids = given_argument(source, "position_ids");
  const bool packs = ids && !padding && name.find("bidirectional") == name.npos;
  return packs ? hf_packed(source, *ids, out) : out;
}

/// The name of the function for a causal mask. Adds lines that set the keys of the config that it
/// uses.
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

/// What replaces an argument of mask_kwargs to close padding; its array has a row for each batch
/// entry.
std::string hf_padding(const MaskForm& mask, Translation& out) {
  add_hf_lengths(true, true, out);
  std::string lengths = array_code(out, "length", mask.padding);
  if (mask.padding.size() == 1) lengths += ".expand(mask_kwargs[\"inputs_embeds\"].shape[0])";
  out.code.push_back(
      fmt::format("attention_mask = torch.arange(KV_LEN, device=device) {} {}[:, None]",
                  mask.pad_left ? ">= KV_LEN -" : "<", lengths));
  note_batch(mask.padding.size(), out);
  return "dict(attention_mask=attention_mask)";
}

/// What replaces arguments of mask_kwargs to separate documents: position ids that start again in
/// each, and no cache, by either of its names.
std::string hf_positions(const MaskForm& mask, Translation& out) {
  std::vector<Index> positions;
  for (const Index length : mask.lengths) {
    for (Index i = 0; i < length && positions.size() <= kListedNumbers; ++i) positions.push_back(i);
  }
  add_hf_lengths(true, false, out);
  out.code.push_back(
      positions.size() > kListedNumbers
          ? fmt::format("position_ids = torch.cat([torch.arange(n, device=device) for n in "
                        "[{}]])[None]",
                        joined(mask.lengths, ", "))
          : fmt::format("position_ids = torch.tensor([[{}]], device=device)",
                        joined(positions, ", ")));
  const Index tokens = ends_of(mask.lengths).back();
  out.notes.push_back(
      fmt::format("position_ids hold {0} tokens: for Q_LEN = KV_LEN = {0}", tokens));
  out.code.emplace_back(
      "no_cache = dict.fromkeys(mask_kwargs.keys() & [\"cache\", \"past_key_values\"])");
  out.notes.emplace_back(
      "None: an attention_mask, even of all ones, or a cache, even an empty one, turns the packing "
      "off; a cache is cache from transformers 5.24 on, past_key_values before");
  return "no_cache | dict(position_ids=position_ids, attention_mask=None)";
}

bool write_hf_causal(const MaskForm& mask, Translation& out) {
  if (mask.padded() && (mask.pad_queries || (mask.chunk && mask.pad_left))) return false;
  const std::string function = hf_causal_function(mask, out);
  std::string entries;
  if (mask.padded()) entries = hf_padding(mask, out);
  if (mask.documents) entries = hf_positions(mask, out);
  out.code.push_back(entries.empty() ? function + "(**mask_kwargs)"
                                     : fmt::format("{}(**mask_kwargs | {})", function, entries));
  return true;
}

/// Writes keys of the config, or a call of a mask function. Returns false if neither can express
/// the mask.
bool write_hf_keys(const MaskForm& mask, Translation& out) {
  const bool usual = mask.rest.empty() && !mask.opens_first_keys() && mask.chunk_offset == 0 &&
                     mask.chunk_origins.empty() && mask.align != Align::kTopLeft &&
                     !mask.off_diagonal() && mask.kv_lengths.empty() &&
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

void write_hf(const Chain& chain, const MaskForm& mask, const StepName& name, Translation& out) {
  if (write_hf_keys(mask, out)) return;
  Formula formula = formula_of(chain, name, *out.library);
  if (!formula.missing.empty()) return refuse(out, formula.missing);
  if (formula.heads) {
    return refuse(out, "mask functions are evaluated for head 0, and all heads get its mask");
  }
  add_hf_lengths(!formula.tensors.empty(), formula.reads_lengths(), out);
  move_definitions(formula, out);
  out.code.push_back("def pattern(b, h, q_idx, kv_idx):");
  out.code.push_back("    return " + formula.expression);
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

constexpr Library kHf = {
    .name = "hf",
    .title = "Hugging Face transformers",
    .align = Align::kBottomRight,
    .empty_row =
        "eager the mean of V (finfo.min is added), sdpa 0 or NaN by version, "
        "flash_attention_2 0",
    .dense = "attention_mask=mask[:, None] as a 4-D bool tensor (not with flash_attention_2)",
    .array = "torch.tensor([{}], device=device)",
    .counts_from_cache = true,
    .module = &kHfTorch,
    .calls = kHfCalls,
    .windows = kHfWindows,
    .reader = read_hf,
    .writer = write_hf};

}  // namespace

const Library& row(const Hf*) { return kHf; }

}  // namespace maskctl::library
