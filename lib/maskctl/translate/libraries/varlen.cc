// torch.nn.attention.varlen: documents, and windows in which -1 is no end and 0 the query's own
// key.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kVarlenArguments[] = {{"cu_seq_q", kEnds, ""},
                                         {"cu_seq_k", kKeyEnds, ""},
                                         {.name = "max_q", .fallback = "", .text = "{longest_q}"},
                                         {.name = "max_k", .fallback = "", .text = "{longest_k}"},
                                         {"window_size", kSides, "(-1, -1)"},
                                         {"seqused_k", kUsedKeys, "None"},
                                         {"block_table", kUnread, "None"},
                                         {"return_aux", kNothing, "None"},
                                         {"scale", kNothing, "None"},
                                         {"enable_gqa", kNothing, "False"},
                                         {"num_splits", kNothing, "None"}};

constexpr Convention varlen_call(std::string_view call, std::string_view leading, bool written) {
  return {.call = call,
          .align = Align::kBottomRight,
          .documents = true,
          .unbounded = "-1",
          .leading = leading,
          .arguments = kVarlenArguments,
          .overrides = "is_causal is gone: (-1, 0) is causal, (W, 0) a causal window of W + 1 keys",
          .source = "torch 2.15 torch/nn/attention/varlen.py, which calls flash-attn",
          .written = written};
}
constexpr Convention kVarlenCalls[] = {
    varlen_call("varlen_attn", "query, key, value", true),
    varlen_call("varlen_attn_out", "out, query, key, value", false)};

constexpr WindowConvention kVarlenWindows[] = {
    {"torch varlen_attn", "window_size=(W, 0)", WindowRule::kInclusive,
     "torch/nn/attention/varlen.py hands (left, right) to flash-attn"}};

constexpr Library kVarlen = {.name = "varlen",
                             .title = "torch.nn.attention.varlen",
                             .align = Align::kBottomRight,
                             .empty_row = "0, as flash-attn documents",
                             .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                             .calls = kVarlenCalls,
                             .windows = kVarlenWindows,
                             .reader = read_call,
                             .writer = write_call};

}  // namespace

const Library& row(const Varlen*) { return kVarlen; }

}  // namespace maskctl::library
