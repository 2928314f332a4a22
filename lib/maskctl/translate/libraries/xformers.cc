// xformers: the classes of attn_bias, and methods that turn one class into another.
#include <fmt/format.h>

#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kXfQ{"q_seqlen", kLengths, ""};
constexpr Argument kXfKv{"kv_seqlen", kKeyLengths, "None"};
constexpr Argument kXfPadding{"kv_padding", kKeyStride, ""};
constexpr Argument kXfStarts{"kv_seqstarts", kKeyStarts, ""};
constexpr Argument kXfOwnWindow{
    .name = "_window_size", .meaning = kKeys, .fallback = "", .note = kKeysNote};
constexpr Argument kXfWindow{
    .name = "window_size", .meaning = kKeys, .fallback = "", .note = kKeysNote};
constexpr Argument kXfLeft{"window_left", kLeft, ""};
constexpr Argument kXfRight{"window_right", kRight, ""};

constexpr Argument kXfLengths[] = {kXfQ, kXfKv};
constexpr Argument kXfLengthsWindow[] = {kXfQ, kXfKv, kXfWindow};
constexpr Argument kXfPadded[] = {kXfQ, kXfPadding, kXfKv};
constexpr Argument kXfPaddedSides[] = {kXfQ, kXfPadding, kXfKv, kXfLeft, kXfRight};
constexpr Argument kXfPaddedWindow[] = {kXfQ, kXfPadding, kXfKv, kXfWindow};
constexpr Argument kXfGappy[] = {kXfQ, kXfStarts, kXfKv};
constexpr Argument kXfOwnWindows[] = {kXfOwnWindow};
constexpr Argument kXfWindows[] = {kXfWindow};
constexpr Argument kXfSides[] = {kXfLeft, kXfRight};

using Arguments = std::span<const Argument>;

/// Describes a class of xformers for a single document, or a class for several documents whose rule
/// is used without their lengths.
constexpr Convention xf_rule(std::string_view call, Align align, bool causal,
                             Arguments arguments = {}, bool written = false) {
  return {.call = call,
          .align = align,
          .causal = causal,
          .unbounded = arguments.size() == 2 ? kPastAll : "",
          .arguments = arguments,
          .source = "xformers attn_bias.py",
          .written = written};
}
/// Describes a class for several documents that can be written. `no_empty_rows`: the class refuses
/// queries without keys.
constexpr Convention xf_documents(std::string_view call, Align align, bool causal,
                                  Arguments arguments, bool no_empty_rows) {
  return {.call = call,
          .align = align,
          .causal = causal,
          .documents = true,
          .arguments = arguments,
          .source = "xformers attn_bias.py",
          .no_empty_rows = no_empty_rows};
}
/// Describes a class for several documents that is read but never written.
constexpr Convention xf_read(std::string_view call, Align align, bool causal, Arguments arguments) {
  Convention out = xf_documents(call, align, causal, arguments, false);
  out.written = false;
  return out;
}

constexpr Argument kXfAttention[] = {{"attn_bias", kMask, "None"},
                                     {"p", kNothing, "0.0"},
                                     {"scale", kNothing, "None"},
                                     {"op", kNothing, "None"},
                                     {"output_dtype", kNothing, "None"}};
/// Describes a function that takes an object of attn_bias, which is read by its class.
constexpr Convention xf_attention(std::string_view call) {
  return {.call = call,
          .leading = "query, key, value",
          .arguments = kXfAttention,
          .source = "xformers 0.0.35 ops/fmha/__init__.py",
          .written = false};
}

constexpr Align kXfTop = Align::kTopLeft, kXfBottom = Align::kBottomRight;

constexpr Convention kXformersCalls[] = {
    xf_rule("LowerTriangularMask", kXfTop, true, {}, true),
    xf_rule("LowerTriangularFromBottomRightMask", kXfBottom, true, {}, true),
    xf_rule("LowerTriangularFromBottomRightLocalAttentionMask", kXfBottom, true, kXfOwnWindows,
            true),
    xf_rule("LocalAttentionFromBottomRightMask", kXfBottom, false, kXfSides, true),
    xf_documents("BlockDiagonalMask.from_seqlens", kXfTop, false, kXfLengths, false),
    xf_documents("BlockDiagonalMask.from_seqlens.make_causal", kXfTop, true, kXfLengths, false),
    xf_documents("BlockDiagonalMask.from_seqlens.make_causal_from_bottomright", kXfBottom, true,
                 kXfLengths, true),
    xf_documents("BlockDiagonalMask.from_seqlens.make_local_attention", kXfTop, true,
                 kXfLengthsWindow, true),
    xf_documents("BlockDiagonalMask.from_seqlens.make_local_attention_from_bottomright", kXfBottom,
                 true, kXfLengthsWindow, true),
    xf_rule("LowerTriangularFromBottomRightMask.make_local_attention", kXfBottom, true, kXfWindows),
    xf_read("BlockDiagonalCausalMask.from_seqlens", kXfTop, true, kXfLengths),
    xf_read("BlockDiagonalCausalFromBottomRightMask.from_seqlens", kXfBottom, true, kXfLengths),
    xf_read("BlockDiagonalPaddedKeysMask.from_seqlens", kXfBottom, false, kXfPadded),
    xf_read("BlockDiagonalPaddedKeysMask.from_seqlens.make_local_attention", kXfBottom, false,
            kXfPaddedSides),
    xf_read("BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens", kXfBottom, true, kXfPadded),
    // The method is inherited from a class that is not causal, so its result is not causal.
    xf_read("BlockDiagonalCausalWithOffsetPaddedKeysMask.from_seqlens.make_local_attention",
            kXfBottom, false, kXfPaddedSides),
    xf_read("BlockDiagonalLocalAttentionPaddedKeysMask.from_seqlens_local", kXfBottom, false,
            kXfPaddedSides),
    xf_read("BlockDiagonalCausalLocalAttentionPaddedKeysMask.from_seqlens_local", kXfBottom, true,
            kXfPaddedWindow),
    xf_read("BlockDiagonalGappyKeysMask.from_seqlens", kXfBottom, false, kXfGappy),
    xf_read("BlockDiagonalCausalWithOffsetGappyKeysMask.from_seqlens", kXfBottom, true, kXfGappy),
    // The same classes written without lengths: only the rule that applies inside a document.
    xf_rule("BlockDiagonalMask", kXfTop, false), xf_rule("BlockDiagonalCausalMask", kXfTop, true),
    xf_rule("BlockDiagonalCausalFromBottomRightMask", kXfBottom, true),
    xf_rule("BlockDiagonalCausalLocalAttentionMask", kXfTop, true, kXfOwnWindows),
    xf_rule("BlockDiagonalCausalLocalAttentionFromBottomRightMask", kXfBottom, true, kXfOwnWindows),
    xf_rule("BlockDiagonalPaddedKeysMask", kXfBottom, false),
    xf_rule("BlockDiagonalCausalWithOffsetPaddedKeysMask", kXfBottom, true),
    xf_rule("BlockDiagonalLocalAttentionPaddedKeysMask", kXfBottom, false, kXfSides),
    xf_rule("BlockDiagonalCausalLocalAttentionPaddedKeysMask", kXfBottom, true, kXfOwnWindows),
    xf_rule("PagedBlockDiagonalPaddedKeysMask", kXfBottom, false),
    xf_rule("PagedBlockDiagonalCausalWithOffsetPaddedKeysMask", kXfBottom, true),
    xf_rule("BlockDiagonalGappyKeysMask", kXfBottom, false),
    xf_rule("BlockDiagonalCausalWithOffsetGappyKeysMask", kXfBottom, true),
    xf_rule("PagedBlockDiagonalGappyKeysMask", kXfBottom, false),
    xf_rule("PagedBlockDiagonalCausalWithOffsetGappyKeysMask", kXfBottom, true),
    xf_attention("memory_efficient_attention"), xf_attention("memory_efficient_attention_forward"),
    xf_attention("memory_efficient_attention_forward_requires_grad"),
    xf_attention("memory_efficient_attention_partial")};

/// Replaces the variable in bias.make_causal() by the call that made it, so that the methods form a
/// chain.
Python with_maker(const LibrarySource& source, Python call) {
  constexpr int kMostMakers = 16;
  for (int steps = 0; steps < kMostMakers && call.kind == Python::Kind::kCall; ++steps) {
    const std::size_t dot = call.text.find('.');
    const auto made = source.text.names.find(call.text.substr(0, dot));
    const bool known = dot != call.text.npos && made != source.text.names.end() &&
                       made->second.kind == Python::Kind::kCall;
    if (!known) break;
    Python maker = made->second;
    maker.text += call.text.substr(dot);
    maker.items.insert(maker.items.end(), call.items.begin(), call.items.end());
    maker.named.insert(maker.named.end(), call.named.begin(), call.named.end());
    call = std::move(maker);
  }
  return call;
}

/// The methods of BlockDiagonalMask, which its causal classes inherit, keep only its lengths: what
/// the last one makes is the same for all classes.
Python with_last_method(Python call) {
  for (const std::string_view name :
       {"BlockDiagonalMask", "BlockDiagonalCausalMask", "BlockDiagonalCausalFromBottomRightMask"}) {
    const std::string made = fmt::format("{}.from_seqlens.make_", name);
    const std::size_t at = call.text.find(made);
    if (at == call.text.npos || (at > 0 && call.text[at - 1] != '.')) continue;
    call.text = fmt::format("BlockDiagonalMask.from_seqlens.{}", last_name(call.text));
    break;
  }
  return call;
}

/// Reads an object of attn_bias, or None, which means no mask.
Chain read_xformers(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const Python* given = named(source.text.last, "attn_bias");
  if (given) check_arguments(source, xf_attention("memory_efficient_attention"), source.text.last);
  Python bias = given ? resolved(source.text, *given) : source.text.last;
  if (bias.is_word("None")) return {};
  // The name of a class without (...) is read as a call without arguments.
  if (bias.kind == Python::Kind::kWord) bias.kind = Python::Kind::kCall;
  if (bias.kind != Python::Kind::kCall) {
    source.fail(bias.position, "expected a class of attn_bias");
  }
  return chain_of_call(source, with_last_method(with_maker(source, bias)));
}

constexpr WindowConvention kXformersWindows[] = {
    {"xformers, CausalLocal classes", "window_size=W", WindowRule::kKeys,
     "attn_bias.py: triu(shift - W + 1)"},
    {"xformers, other class", "LocalAttentionFromBottomRightMask(W, 0)", WindowRule::kInclusive,
     "attn_bias.py"}};

constexpr Library kXformers = {.name = "xformers",
                               .title = "xformers",
                               .empty_row = "not stated",
                               .dense = "attn_bias=torch.where(mask, 0.0, -inf)",
                               .use = "memory_efficient_attention(q, k, v, attn_bias={})",
                               .by_position = true,
                               .methods = true,
                               .calls = kXformersCalls,
                               .windows = kXformersWindows,
                               .reader = read_xformers,
                               .writer = write_call};

}  // namespace

const Library& row(const Xformers*) { return kXformers; }

}  // namespace maskctl::library
