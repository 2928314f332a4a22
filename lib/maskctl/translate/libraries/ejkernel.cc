// ejkernel's MaskInfo, whose methods change a mask one after another.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/printable.h"
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/code.h"
#include "maskctl/translate/write/segment_ids.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kMaskInfoKeywords[] = {{"causal", kCausal, "False"},
                                          {"sliding_window", kSidesOrBoth, "None"},
                                          {"chunk_size", kCausalChunk, "None"}};
constexpr Argument kMaskInfoCausal[] = {{"offset", kOffset, "0"}};
constexpr Argument kMaskInfoWindow[] = {{"sliding_window", kSidesOrBoth, ""},
                                        {"offset", kOffset, "0"}};
constexpr Argument kMaskInfoChunk[] = {{"chunk_size", kCausalChunk, ""}};

constexpr Convention mask_info_call(std::string_view call, bool causal,
                                    std::span<const Argument> arguments, bool written = false) {
  return {.call = call,
          .align = Align::kTopLeft,
          .causal = causal,
          .unbounded = kPastAll,
          .arguments = arguments,
          .overrides = written ? "apply_chunked is causal too" : "",
          .source = "ejkernel types/mask.py",
          .written = written};
}
/// The call with all keywords, and the methods, which the writer chains to one expression.
constexpr Convention kMaskInfoCalls[] = {
    mask_info_call("MaskInfo", false, kMaskInfoKeywords, true),
    mask_info_call("apply_causal", true, kMaskInfoCausal),
    mask_info_call("apply_sliding_window", false, kMaskInfoWindow),
    mask_info_call("apply_chunked", true, kMaskInfoChunk)};

constexpr WindowConvention kMaskInfoWindows[] = {{"ejkernel MaskInfo, not causal",
                                                  "apply_sliding_window(W)", WindowRule::kBoth,
                                                  "types/mask.py"}};

/// Reads a chain of methods from left to right.
Chain chain_of_transforms(const LibrarySource& source, const Python& call) {
  MaskForm out;
  if (call.methods.empty()) source.fail(call.position, "expected MaskInfo.from_...(...)");
  for (Python method : call.methods) {
    const std::string name(last_name(method.text));
    if (name == "from_segments") {
      const auto lengths =
          method.items.empty() ? std::nullopt : id_lengths(source, method.items[0], true);
      if (!lengths) source.fail(method.position, "the values of the segment ids are needed");
      out.documents = true;
      out.lengths = *lengths;
    } else if (name != "from_attention_mask") {
      if (std::ranges::find(kMaskInfoCalls, name, &Convention::call) == std::end(kMaskInfoCalls)) {
        source.fail(method.position,
                    fmt::format("unknown transform '{}' of MaskInfo", printable(name)));
      }
      method.text = name;
      narrow(source, out, form_of_call(source, method), method.position);
    }
  }
  return chain_of(out);
}

/// Reads a chain of methods of MaskInfo, or its keywords.
Chain read_mask_info(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const auto made = source.text.names.find("mask_info");
  const Python call = made != source.text.names.end() ? made->second : source.text.last;
  const bool transforms = call.text.find("MaskInfo") != call.text.npos;
  return transforms ? chain_of_transforms(source, call) : chain_of_call(source, call);
}

void write_mask_info(const Chain&, const MaskForm& mask, const StepName&, Translation& out) {
  if (refuses_form(mask, out)) return;
  const MovedBand band(mask);
  const std::string offset = band.offset(mask.align == Align::kBottomRight, "kv_len - q_len");
  std::string code;
  if (mask.documents) {
    add_document_ids(mask, out);
    code = "MaskInfo.from_segments(jnp.asarray(doc_id)[None])";
  } else {
    out.code.emplace_back("batch, q_len, kv_len = q.shape[0], q.shape[1], k.shape[1]");
    code = "MaskInfo.from_attention_mask(jnp.ones((batch, 1, q_len, kv_len), bool))";
  }
  if (mask.padded()) {
    add_padding_ids(mask, "kv_len", -1, out);
    out.code.emplace_back("kv_ids = jnp.asarray(np.broadcast_to(kv_ids, (batch, kv_len)))");
    out.code.push_back(mask.pad_queries ? "q_ids = kv_ids"
                                        : "q_ids = jnp.zeros((batch, q_len), int)");
    code = "MaskInfo.from_segments(q_ids, kv_ids)";
  }
  if (mask.chunk) {
    code += fmt::format(".apply_chunked({})", *mask.chunk);
  } else if (band.causal()) {
    code += fmt::format(".apply_causal({})", offset);
  }
  if (band.window()) {
    const auto side = [](std::optional<Index> n) {
      return n ? std::to_string(*n) : std::string(kPastAll);
    };
    code += fmt::format(".apply_sliding_window(({}, {}){}{})", side(band.left), side(band.right),
                        offset.empty() ? "" : ", ", offset);
  }
  out.code.push_back("mask_info = " + code);
}

constexpr Library kEjkernel = {
    .name = "ejkernel",
    .title = "ejkernel MaskInfo",
    .align = Align::kTopLeft,
    .empty_row = "depends on the operation: attention on XLA the mean of V, flash 0",
    .dense = "MaskInfo.from_attention_mask(mask)",
    .array = "jnp.array([{}])",
    .by_position = true,
    .calls = kMaskInfoCalls,
    .windows = kMaskInfoWindows,
    .reader = read_mask_info,
    .writer = write_mask_info};

}  // namespace

const Library& row(const Ejkernel*) { return kEjkernel; }

}  // namespace maskctl::library
