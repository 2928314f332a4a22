// The kinds of mask that a library cannot express, for want of an argument. The table has for each
// library the kinds that it can write beside its arguments, so that a new argument makes the test
// fail until the kinds are looked at again.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/translate/translate.h"
#include "pipeline/pipeline_support.h"
#include "support/catch_compat.h"
#include "translate/libraries.h"

namespace maskctl {
namespace {

using test::lib;

struct KindOfMask {
  std::string_view letter, pipeline;
};
// The kinds of mask, each with the letter that stands for it in the table below.
const KindOfMask kMaskKinds[] = {
    {"f", "pad:lens=9"},  // full: the padding is empty
    {"c", "causal"},
    {"t", "causal:align=top-left"},
    {"b", "causal:align=bottom-right"},
    {"w", "window:keys=3"},
    {"2", "window:both=2"},
    {"l", "window:left=2"},
    {"o", "window:left=3,offset=-5"},  // a band off the diagonal
    {"k", "chunk:size=3 | causal"},
    {"K", "chunk:size=3"},
    {"s", "window:keys=3 | sinks:n=2 | causal"},
    {"p", "causal | prefix:n=2"},
    {"d", "doc:lens=4+5 | causal"},
    {"D", "doc:lens=4+5"},
    {"i", "within:lens=4+5{causal | chunk:size=2}"},
    {"r", "within:q-lens=2+3,kv-lens=4+5{causal:align=bottom-right}"},
    {"R", "causal | pad:lens=5+7,of=both"},
    {"L", "causal | pad:lens=5+7,side=left"},
    {"g", "causal | global:tokens=2"},
    {"x", "causal | dilated:stride=2"},
    {"m", "causal | tokens:images.npy"},  // tokens of images see each other
    {"h", "heads:1{window:keys=3} | causal"},
    {"e", "batch:1{window:keys=3} | causal"},
    {"n", "causal | not"},
};

struct Limits {
  const Library& library;
  std::string_view writes;     // letters of the kinds of mask that it can write
  std::string_view arguments;  // the library's arguments about masks, in order
};

std::string arguments_of(const Library& library) {
  std::vector<std::string_view> names;
  for (const Convention& row : library.calls) {
    for (const Argument& argument : row.arguments) {
      const bool fresh = std::ranges::find(names, argument.name) == names.end();
      if (argument.meaning < ArgumentMeaning::kUnread && fresh) {
        names.push_back(argument.name);
      }
    }
  }
  return fmt::format("{}", fmt::join(names, " "));
}

Translation translated(const KindOfMask& kind, const Library& library) {
  return translate(test::bound(std::string(kind.pipeline)), library,
                   [](const Step& step) { return to_text(Chain{step}); });
}

const Limits kLimits[] = {
    {lib("ejkernel"), "fctbw2lokdDRL", "causal sliding_window chunk_size offset"},
    {lib("ejkernel-flash"), "fctbw2lodDrRL", "causal sliding_window cum_seqlens_q cum_seqlens_k"},
    {lib("ejkernel-ragged"), "cbwd", "sliding_window"},
    {lib("hf"), "fctbw2lokKspdDirRLgxmen",
     "is_causal sliding_window attention_chunk_size cu_seq_lens_q cu_seq_lens_k"},
    {lib("fa"), "fcbw2lokKdDirRL",
     "causal window_size attention_chunk cu_seqlens_q cu_seqlens_k seqused_q seqused_k k "
     "cache_seqlens cu_seqlens"},
    {lib("te"), "fctbw2lodDrRL",
     "attn_mask_type window_size bottom_right_diagonal cu_seqlens_q cu_seqlens_kv"},
    {lib("cudnn"), "fctbw2lodDrRL",
     "use_causal_mask diagonal_alignment diagonal_band_left_bound diagonal_band_right_bound "
     "seq_len_q seq_len_kv"},
    {lib("xformers"), "fctbw2lodDrRL",
     "_window_size window_left window_right q_seqlen kv_seqlen window_size kv_padding "
     "kv_seqstarts"},
    {lib("flashinfer"), "fctbw2lokKspdDirRLgxmn",
     "causal window_left qo_indptr kv_indptr paged_kv_indptr paged_kv_last_page_len page_size "
     "indptr last_page_len"},
    {lib("flex"), "fctbw2lokKspdDirRLgxmhen", ""},
    {lib("fa4"), "fctbw2lokKspdDirRLgxmhen", ""},
    {lib("splash"), "fctbw2lokdDRL", "offset window_size chunk_size"},
    {lib("vllm"), "cbw2kdDim", "per_layer_sliding_window attention_chunk_size sliding_window"},
    {lib("ck_tile"), "ctbw2losdD", ""},
    {lib("flashmask"), "fctbw2lokKspdDirRLm", "causal window_size"},
    {lib("sdpa"), "fctbw2lokKspdDirRLgxmhen", "is_causal"},
    {lib("varlen"), "fdDrRL", "cu_seq_q cu_seq_k window_size seqused_k"},
    {lib("mha"), "fctbw2lokKspdDirRLgxmhen", ""},
    {lib("jax"), "fctbw2lokKspdDirRLgxmhen",
     "is_causal local_window_size query_seq_lengths key_value_seq_lengths"},
    {lib("onnx"), "fctbw2lokKspdDirRLgxmhen",
     "is_causal left_window_size right_window_size nonpad_kv_seqlen"},
    {lib("onnxruntime"), "cbwdD", "causal local_window_size seqlens_k"},
    {lib("mlx"), "fctbw2lokKspdDirRLgxmhen", "mask"},
    {lib("sglang"), "cbwd", "sliding_window_size"},
    {lib("keras"), "fctbw2lokKspdDirRLgxmhen", "is_causal use_causal_mask sliding_window"},
    {lib("natten"), "fcwdDRL", "is_causal cumulative_seqlen_Q cumulative_seqlen_KV"},
    {lib("openvino"), "fctbw2lokKspdDirRLgxmhen", "causal"},
    {lib("tensorrt-llm"), "cbwdD", "attention_mask attention_window_size"},
    {lib("magi"), "fdDrRL", "cu_seqlens_q cu_seqlens_k causal window_size"},
    {lib("megatron"), "cw", "window_size"},
};

TEST_CASE("masks that a library has no argument for are refused") {
  for (const Limits& limits : kLimits) {
    INFO(limits.library.name);
    CHECK(arguments_of(limits.library) == limits.arguments);
    std::string writes;
    for (const KindOfMask& kind : kMaskKinds) {
      const Translation made = translated(kind, limits.library);
      if (made.ok()) writes += kind.letter;
      INFO(kind.pipeline);
      CHECK(made.ok() == made.refusal.empty());
      CHECK(made.ok() != made.code.empty());
    }
    CHECK(writes == limits.writes);
  }
  CHECK(std::size(kLimits) == libraries().size());
}

TEST_CASE("the notes about a window come from the row of the library") {
  const auto notes = [](const Library& library) {
    return fmt::format("{}",
                       fmt::join(translated({"", "window:keys=4 | causal"}, library).notes, "; "));
  };
  CHECK(notes(lib("cudnn")) == "the left bound is exclusive: 4 is left=3");
  CHECK(notes(lib("xformers")) == "4 keys including the query's own");
  CHECK(notes(lib("vllm")) == "4 keys including the query's own");
  CHECK(notes(lib("ejkernel-ragged")) == "4 keys including the query's own");
  CHECK(notes(lib("fa")).empty());
  const Argument exact[] = {{"left", ArgumentMeaning::kLeftKeys, "None"},
                            {"right", ArgumentMeaning::kRight, "None"}};
  const Argument counted[] = {{"keys", ArgumentMeaning::kKeys, "None"},
                              {"causal", ArgumentMeaning::kCausal, "False"}};
  for (const std::span<const Argument> arguments : {std::span(exact), std::span(counted)}) {
    const Convention call[] = {{.call = "attend", .unbounded = "None", .arguments = arguments}};
    Library other = lib("cudnn");
    other.calls = call;
    CHECK(notes(other).empty());
  }
}

TEST_CASE("masks that differ by head are refused for transformers, which only asks head 0") {
  for (const char* pipeline :
       {"heads:1{window:keys=3} | causal", "heads:0{causal}", "batch:0{heads:1{causal}}"}) {
    const Translation hf = translated({"", pipeline}, lib("hf"));
    INFO(pipeline);
    CHECK(!hf.ok());
    CHECK(hf.refusal.find("head 0") != std::string::npos);
  }
}

TEST_CASE("flashmask code has arrays per batch entry where these differ, and one for documents") {
  const auto code = [](const char* pipeline) {
    return fmt::format("{}", fmt::join(translated({"", pipeline}, lib("flashmask")).code, " "));
  };
  CHECK(code("doc:ids.npy").find("reshape([2, 1, 4, 4])") != std::string::npos);
  CHECK(code("within:lens=2+2{causal:offset=0+1}").find("reshape([1, 1, 4, 4])") !=
        std::string::npos);
}

TEST_CASE("a note gives the batch size that the code needs, unless it fits any batch") {
  for (const Library* library : libraries()) {
    INFO(library->name);
    const Translation some = translated({"", "batch:1{causal}"}, *library);
    for (const std::string& note : some.notes) CHECK(note.find("a batch of") == note.npos);
    const Translation each = translated({"", "causal | pad:lens=3+5+4"}, *library);
    const bool told = std::ranges::any_of(each.notes, [](const std::string& note) {
      return note.find("a batch of 3") != note.npos || note.find("batch entry") != note.npos;
    });
    CHECK((!each.ok() || told));
  }
}

TEST_CASE(
    "jax gives 0 to queries after their length, and the mean of V to other rows without keys") {
  const Translation padded = translated({"", "causal | pad:lens=3+5,of=both"}, lib("jax"));
  CHECK(padded.empty_row.starts_with("0"));
  CHECK(translated({"", "causal | pad:lens=3+5"}, lib("jax")).empty_row.starts_with("the mean"));
}

TEST_CASE("vLLM arguments cannot express images longer than the window") {
  const auto refusal = [](const char* pipeline) {
    return translated({"", pipeline}, lib("vllm")).refusal;
  };
  CHECK(refusal("window:keys=4 | tokens:images.npy").empty());
  CHECK(refusal("window:keys=3 | tokens:images.npy").find("longer than the window") !=
        std::string::npos);
  CHECK(refusal("window:both=5 | tokens:images.npy").find("causal") != std::string::npos);
}

}  // namespace
}  // namespace maskctl
