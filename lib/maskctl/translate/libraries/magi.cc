// MagiAttention: the key of a packed mask, with a causal flag or a window.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kMagiDocuments[] = {{"cu_seqlens_q", kEnds, ""}, {"cu_seqlens_k", kKeyEnds, ""}};
constexpr Argument kMagiCausal[] = {{"causal", kCausal, "False"}};
constexpr Argument kMagiWindow[] = {{"window_size", kSides, "(-1, -1)"}};
constexpr Argument kMagiOthers[] = {
    {"num_heads_q", kNothing, ""},      {"num_heads_kv", kNothing, ""},
    {"head_dim", kNothing, ""},         {"pad_size", kNothing, ""},
    {"cp_group_or_mesh", kNothing, ""}, {"dist_attn_config", kNothing, "None"},
    {"chunk_size", kNothing, "None"}};
constexpr auto kMagiOfCausal = joined_lists(kMagiDocuments, kMagiCausal, kMagiOthers);
constexpr auto kMagiOfWindow = joined_lists(kMagiDocuments, kMagiWindow, kMagiOthers);
constexpr auto kMagiOfBoth = joined_lists(kMagiDocuments, kMagiCausal, kMagiWindow, kMagiOthers);

constexpr Convention magi_call(std::span<const Argument> arguments, bool written) {
  return {.call = "magi_attn_varlen_key",
          .align = Align::kBottomRight,
          .documents = true,
          .unbounded = "-1",
          .arguments = arguments,
          .overrides = "causal refuses a window",
          .source = "MagiAttention 1.1.1 api/magi_attn_interface.py, api/functools.py at 2c641357",
          .written = written};
}
constexpr Convention kMagiCalls[] = {magi_call(kMagiOfCausal, true), magi_call(kMagiOfWindow, true),
                                     magi_call(kMagiOfBoth, false)};

/// The first document with more queries than keys, of which infer_attn_mask_from_sliding_window
/// leaves out the first queries even where the window has keys after the query's own; -1: none.
Index cut_document(const std::vector<Index>& queries, const std::vector<Index>& keys) {
  for (std::size_t i = 0; i < queries.size() && i < keys.size(); ++i) {
    if (queries[i] > keys[i]) return static_cast<Index>(i);
  }
  return -1;
}
constexpr char kMagiCut[] =
    "windows leave out the first queries of a document with more queries than keys, though keys "
    "after their own are in the window";

void settle_magi(const LibrarySource& source, Index position, ParsedCall& call) {
  if (!call.sides_given || (!call.left && !call.right)) return;
  if (call.causal) source.fail(position, "MagiAttention refuses a window beside causal=True");
  const bool after = call.right != Index{0};
  if (after && call.lengths && call.key_lengths &&
      cut_document(*call.lengths, *call.key_lengths) >= 0) {
    source.fail(position, kMagiCut);
  }
}

void write_magi(const Chain& chain, const MaskForm& form, const StepName& name, Translation& out) {
  write_call(chain, form, name, out);
  const bool window = (form.left || form.right) && form.right != Index{0};
  if (out.ok() && window && cut_document(form.lengths, form.kv_lengths) >= 0) refuse(out, kMagiCut);
}

constexpr WindowConvention kMagiWindows[] = {{"magi", "window_size=(W, 0)", WindowRule::kInclusive,
                                              "functools.py infer_attn_mask_from_sliding_window"}};

constexpr Library kMagi = {.name = "magi",
                           .title = "MagiAttention",
                           .align = Align::kBottomRight,
                           .empty_row = "not stated",
                           .array = "torch.tensor([{}], dtype=torch.int32)",
                           .calls = kMagiCalls,
                           .windows = kMagiWindows,
                           .reader = read_call,
                           .writer = write_magi,
                           .settle = settle_magi};

}  // namespace

const Library& row(const Magi*) { return kMagi; }

}  // namespace maskctl::library
