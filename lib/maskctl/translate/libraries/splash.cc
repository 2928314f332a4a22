// JAX's splash attention: mask classes combined with & and |, and segment ids given to the kernel.
#include <fmt/format.h>

#include <optional>
#include <vector>

#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"
#include "maskctl/translate/write/segment_ids.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kSplashCausal[] = {{"offset", kOffset, "0"}};
constexpr Argument kSplashLocal[] = {{"window_size", kSides, ""}, {"offset", kOffset, ""}};
constexpr Argument kSplashChunk[] = {{"chunk_size", kCausalChunk, ""}};

constexpr Convention splash_class(std::string_view call, Align align, bool causal,
                                  std::span<const Argument> arguments,
                                  std::string_view unbounded = "") {
  return {.call = call,
          .align = align,
          .causal = causal,
          .unbounded = unbounded,
          .leading = "(Q_LEN, KV_LEN)",
          .arguments = arguments,
          .source = "jax splash_attention_mask.py"};
}
/// A function that makes the dense array of a mask class. It is read but never written.
constexpr Convention splash_maker(std::string_view call, Align align, bool causal,
                                  std::span<const Argument> arguments) {
  Convention out = splash_class(call, align, causal, arguments);
  out.written = false;
  return out;
}
constexpr Convention kSplashCalls[] = {
    splash_class("FullMask", Align::kTopLeft, false, {}),
    splash_class("CausalMask", Align::kUnset, true, kSplashCausal),
    splash_class("LocalMask", Align::kUnset, false, kSplashLocal, "None"),
    splash_class("ChunkedCausalMask", Align::kTopLeft, true, kSplashChunk),
    splash_maker("make_causal_mask", Align::kUnset, true, kSplashCausal),
    splash_maker("make_local_attention_mask", Align::kUnset, false, kSplashLocal),
    splash_maker("make_chunk_attention_mask", Align::kTopLeft, true, kSplashChunk)};

constexpr WindowConvention kSplashWindows[] = {
    {"splash", "LocalMask((W, 0))", WindowRule::kInclusive, "splash_attention_mask.py"}};

/// The condition of one mask class: what its band and chunk keep, and what the negation keeps.
Condition condition_of(const MaskForm& form) {
  const auto band = [&](std::optional<Index> left, std::optional<Index> right) {
    MaskForm out;
    out.align = form.align;
    out.left = left;
    out.right = right;
    return MaskPart{chain_of(out)};
  };
  std::vector<Condition> parts;
  if (form.left) parts.push_back({band(*form.left, {}), band({}, -*form.left - 1)});
  if (form.right) parts.push_back({band({}, *form.right), band(-*form.right - 1, {})});
  if (form.chunk) {
    MaskForm chunk;
    chunk.chunk = form.chunk;
    parts.push_back(condition(MaskPart{chain_of(chunk)}));
  }
  return {MaskPart{chain_of(form)}, all_of(parts).no};
}

/// Returns the MaskForm that mask classes combined with & have together; nothing if | occurs.
std::optional<MaskForm> splash_form(const LibrarySource& source, const Python& given) {
  source.count(given.position);
  const Python& mask = named_value(source.text, given);
  if (mask.kind == Python::Kind::kOperator && mask.items.size() == 2) {
    if (mask.text != "&") return std::nullopt;
    const auto a = splash_form(source, mask.items[0]);
    const auto b = a ? splash_form(source, mask.items[1]) : std::nullopt;
    if (!b) return std::nullopt;
    MaskForm out = *a;
    narrow(source, out, *b, mask.position);
    return out;
  }
  if (mask.kind != Python::Kind::kCall) {
    source.fail(mask.position, "expected a mask class with (...)");
  }
  return form_of_call(source, mask);
}

Condition splash_condition(const LibrarySource& source, const Python& given) {
  if (const auto form = splash_form(source, given)) return condition_of(*form);
  const Python& mask = named_value(source.text, given);
  if (mask.text != "&" && mask.text != "|") {
    source.fail(mask.position, fmt::format("'{}' between masks; expected & or |", mask.text));
  }
  const std::vector<Condition> sides = {splash_condition(source, mask.items[0]),
                                        splash_condition(source, mask.items[1])};
  const Condition out = mask.text == "&" ? all_of(sides) : any_of(sides);
  if (!out.yes) source.fail(mask.position, "these masks cannot be one chain");
  return out;
}

/// The masks of the heads: of MultiHeadMask([a, b]), or of [mask] * heads, which means one mask for
/// all heads.
Chain splash_heads(const LibrarySource& source, const Python& given) {
  const auto chain = [&](const Python& mask) {
    return standing(*splash_condition(source, mask).yes);
  };
  const Python& mask = named_value(source.text, given);
  const bool heads = mask.kind == Python::Kind::kCall && last_name(mask.text) == "MultiHeadMask";
  if (!heads) return chain(mask);
  const Python* masks = named(mask, "masks");
  if (!masks && !mask.items.empty()) masks = &mask.items.front();
  const Python& list = masks ? named_value(source.text, *masks) : mask;
  const bool repeated = list.is_binary("*");
  const Python& each = repeated ? named_value(source.text, list.items[0]) : list;
  if (each.kind != Python::Kind::kList || each.items.empty() ||
      (repeated && each.items.size() != 1)) {
    source.fail(mask.position, "expected MultiHeadMask([MASK, ...]) or [MASK] * heads");
  }
  std::vector<Chain> chains;
  chains.reserve(each.items.size());
  for (const Python& one : each.items) chains.push_back(chain(one));
  return chain_of_members(chains, step::Scoped::Axis::kHeads);
}

constexpr Argument kSplashKernel[] = {{"mask", kNothing, ""},
                                      {"segment_ids", kNothing, "None"},
                                      {"head_shards", kNothing, ""},
                                      {"q_seq_shards", kNothing, ""},
                                      {"block_sizes", kNothing, "None"},
                                      {"is_mha", kNothing, "True"},
                                      {"attn_logits_soft_cap", kNothing, "None"},
                                      {"mask_value", kNothing, "DEFAULT_MASK_VALUE"},
                                      {"residual_checkpoint_name", kNothing, "None"},
                                      {"save_residuals", kNothing, "False"},
                                      {"downcast_smem_data", kNothing, "True"},
                                      {"interpret", kNothing, "False"},
                                      {"sinks", kNothing, "None"}};
/// The functions that make a kernel, and the kernel's call.
constexpr Convention kSplashKernelCall = {.call = "make_splash_mha",
                                          .leading = "q, k, v",
                                          .arguments = kSplashKernel,
                                          .source = "jax splash_attention_kernel.py",
                                          .written = false};

/// The mask that the kernel call gets; else the variable called mask; else the last expression.
const Python& splash_mask(const LibrarySource& source) {
  const Python* call = &source.text.last;
  const auto kernel = source.text.names.find(call->text);
  if (call->kind == Python::Kind::kCall && kernel != source.text.names.end()) {
    call = &kernel->second;
  }
  if (last_name(call->text).starts_with("make_splash_")) {
    check_arguments(source, kSplashKernelCall, *call);
    if (call != &source.text.last) check_arguments(source, kSplashKernelCall, source.text.last);
    if (const Python* mask = named(*call, "mask")) return *mask;
    if (!call->items.empty()) return call->items.front();
  }
  const auto mask = source.text.names.find("mask");
  return mask != source.text.names.end() ? mask->second : *call;
}

/// The SegmentIds that the kernel call gets, by name or by position.
std::optional<Python> given_segment_ids(const LibrarySource& source) {
  if (const Python* ids = given_argument(source, "segment_ids")) return resolved(source.text, *ids);
  for (const Python& item : source.text.last.items) {
    Python ids = resolved(source.text, item);
    if (ids.kind == Python::Kind::kCall && last_name(ids.text) == "SegmentIds") return ids;
  }
  return std::nullopt;
}

/// The lengths of documents, from the segment ids that the kernel call gets.
std::optional<std::vector<Index>> segments_of(const LibrarySource& source) {
  const auto ids = given_segment_ids(source);
  if (!ids) return std::nullopt;
  const auto lengths_of = [&](const char* side, std::size_t index) {
    const Python* array = named(*ids, side);
    if (!array && index < ids->items.size()) array = &ids->items[index];
    if (!array) source.fail(ids->position, "expected SegmentIds(q=IDS, kv=IDS)");
    const auto lengths = id_lengths(source, *array, false);
    if (!lengths) source.fail(array->position, "the values of the ids are needed");
    return *lengths;
  };
  const std::vector<Index> lengths = lengths_of("q", 0);
  if (lengths != lengths_of("kv", 1)) {
    source.fail(ids->position, "expected the same documents of queries and keys");
  }
  return lengths;
}

Chain read_splash(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  Chain out = splash_heads(source, splash_mask(source));
  if (const auto lengths = segments_of(source)) out.push_back({step::DocumentLengths{*lengths}});
  return out;
}

void write_splash(const Chain&, const MaskForm& mask, const StepName&, Translation& out) {
  if (refuses_form(mask, out)) return;
  const MovedBand band(mask);
  const std::string offset = band.offset(mask.align == Align::kBottomRight, "KV_LEN - Q_LEN");
  const auto side = [](std::optional<Index> n) { return n ? std::to_string(*n) : "None"; };
  std::string code;
  if (mask.chunk) code = fmt::format("ChunkedCausalMask((Q_LEN, KV_LEN), {})", *mask.chunk);
  if (band.window()) {
    code += fmt::format("{}LocalMask((Q_LEN, KV_LEN), ({}, {}), {})", code.empty() ? "" : " & ",
                        side(band.left), side(band.right), offset.empty() ? "offset=0" : offset);
  } else if (band.causal() && !mask.chunk) {
    code = fmt::format("CausalMask((Q_LEN, KV_LEN){}{})", offset.empty() ? "" : ", ", offset);
  }
  if (code.empty()) code = "FullMask((Q_LEN, KV_LEN))";
  out.code = {std::string(kLengthsLine), "mask = " + code,
              "kernel = make_splash_mha(MultiHeadMask([mask] * q.shape[-3]), head_shards=1, "
              "q_seq_shards=1)"};
  if (mask.documents) {
    add_document_ids(mask, out);
    out.code.emplace_back("kernel(q, k, v, segment_ids=SegmentIds(q=doc_id, kv=doc_id))");
  } else if (mask.padded()) {
    add_padding_ids(mask, "KV_LEN", 1, out);
    const bool one = mask.padding.size() == 1;
    out.code.push_back(mask.pad_queries ? "q_ids = np.where(valid, 0, 2)"  // no key has the id 2
                       : one            ? "q_ids = np.zeros(Q_LEN, int)"
                                        : "q_ids = np.zeros((len(valid), Q_LEN), int)");
    out.code.push_back(one ? "kernel(q, k, v, segment_ids=SegmentIds(q=q_ids, kv=kv_ids))"
                           : "jax.vmap(kernel)(q, k, v, SegmentIds(q=q_ids, kv=kv_ids))");
  } else {
    out.code.emplace_back("kernel(q, k, v)");
  }
  if (!mask.padded() || mask.padding.size() == 1) {
    out.notes.emplace_back("q, k and v are [heads, tokens, dim]; jax.vmap adds the batch");
  }
}

constexpr Library kSplash = {.name = "splash",
                             .title = "JAX splash attention",
                             .empty_row = "must not occur (docstring)",
                             .dense = "NumpyMask(mask)",
                             .array = "jnp.array([{}])",
                             .by_position = true,
                             .shaped = true,
                             .calls = kSplashCalls,
                             .windows = kSplashWindows,
                             .reader = read_splash,
                             .writer = write_splash};

}  // namespace

const Library& row(const Splash*) { return kSplash; }

}  // namespace maskctl::library
