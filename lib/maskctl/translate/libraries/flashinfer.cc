// The calls of FlashInfer.
#include "maskctl/translate/libraries.h"
#include "maskctl/translate/read/call.h"
#include "maskctl/translate/read/expression.h"
#include "maskctl/translate/write/array_module.h"
#include "maskctl/translate/write/code.h"

namespace maskctl::library {
namespace {

using enum ArgumentMeaning;

constexpr Argument kFlashinferCausal{"causal", kCausal, "False"};
constexpr Argument kFlashinferWindow{"window_left", kLeft, "-1"};

constexpr Argument kFlashinferOthers[] = {
    {"custom_mask", kUnread, "None"},
    {"packed_custom_mask", kUnread, "None"},
    {"prefix_len_ptr", kUnread, "None"},
    {"token_pos_in_items_ptr", kUnread, "None"},
    {"max_item_len_ptr", kUnread, "None"},
    {"token_pos_in_items_len", kNothing, "0"},
    {"kv_layout", kNothing, "\"NHD\""},
    {"pos_encoding_mode", kNothing, "\"NONE\""},
    {"use_fp16_qk_reduction", kNothing, "False"},
    {"sm_scale", kNothing, "None"},
    {"logits_soft_cap", kNothing, "None"},
    {"rope_scale", kNothing, "None"},
    {"rope_theta", kNothing, "None"},
    {"backend", kNothing, "\"auto\""},
    {"return_lse", kNothing, "False"},
    {"head_dim_vo", kNothing, "None"},
    {"q_data_type", kNothing, "\"float16\""},
    {"kv_data_type", kNothing, "None"},
    {"o_data_type", kNothing, "None"},
    {"non_blocking", kNothing, "True"},
    {"fixed_split_size", kNothing, "None"},
    {"disable_split_kv", kNothing, "False"},
    {"out", kNothing, "None"},
    {"lse", kNothing, "None"},
    {"scale_q", kNothing, "None"},
    {"scale_k", kNothing, "None"},
    {"scale_v", kNothing, "None"},
    {"k_scale", kNothing, "None"},
    {"v_scale", kNothing, "None"},
    {"o_dtype", kNothing, "None"},
    {"kv_cache_sf", kNothing, "None"},
    {"seq_lens", kUnread, "None"},
    {"seq_lens_q", kUnread, "None"},
    {"max_token_per_sequence", kNothing, "None"},
    {"max_sequence_kv", kNothing, "None"},
    {"v_indptr", kNothing, "None"},
    {"o_indptr", kNothing, "None"},
};
constexpr Argument kFlashinferPages[] = {
    {"qo_indptr", kEnds, ""},           {"paged_kv_indptr", kPageEnds, ""},
    {"paged_kv_indices", kNothing, ""}, {"paged_kv_last_page_len", kLastPage, ""},
    {"block_tables", kUnread, "None"},  {"page_size", kPageSize, ""},
    {"num_qo_heads", kNothing, ""},     {"num_kv_heads", kNothing, ""},
    {"head_dim_qk", kNothing, ""},
};
constexpr Argument kFlashinferDecode[] = {
    kFlashinferWindow,
    {"kv_layout", kNothing, "\"NHD\""},
    {"pos_encoding_mode", kNothing, "\"NONE\""},
    {"use_tensor_cores", kNothing, "False"},
    {"q_scale", kNothing, "None"},
    {"k_scale", kNothing, "None"},
    {"v_scale", kNothing, "None"},
    {"logits_soft_cap", kNothing, "None"},
    {"sm_scale", kNothing, "None"},
    {"rope_scale", kNothing, "None"},
    {"rope_theta", kNothing, "None"},
    {"return_lse", kNothing, "False"},
};
constexpr Argument kFlashinferDecodePages[] = {
    {"indptr", kPageEnds, ""},
    {"indices", kNothing, ""},
    {"last_page_len", kLastPage, ""},
    {"block_tables", kUnread, "None"},
    {"q_len_per_req", kUnread, "1"},
    {"window_right", kUnread, "0"},
    {"page_size", kPageSize, ""},
    {"num_qo_heads", kNothing, ""},
    {"num_kv_heads", kNothing, ""},
    {"head_dim", kNothing, ""},
    {"q_data_type", kNothing, "\"float16\""},
    {"kv_data_type", kNothing, "None"},
    {"o_data_type", kNothing, "None"},
    {"data_type", kNothing, "None"},
    {"non_blocking", kNothing, "True"},
    {"seq_lens", kNothing, "None"},
    {"fixed_split_size", kNothing, "None"},
    {"disable_split_kv", kNothing, "False"},
};

constexpr Argument kFlashinferMask[] = {kFlashinferCausal, kFlashinferWindow};
constexpr Argument kFlashinferDocuments[] = {
    {"qo_indptr", kEnds, ""},       {"kv_indptr", kKeyEnds, ""},   {"num_qo_heads", kNothing, ""},
    {"num_kv_heads", kNothing, ""}, {"head_dim_qk", kNothing, ""},
};
constexpr auto kFlashinferSingle = joined_lists(kFlashinferMask, kFlashinferOthers);
constexpr auto kFlashinferPlan =
    joined_lists(kFlashinferDocuments, kFlashinferMask, kFlashinferOthers);
constexpr auto kFlashinferPagedPlan =
    joined_lists(kFlashinferPages, kFlashinferMask, kFlashinferOthers);
constexpr auto kFlashinferDecodePlan = joined_lists(kFlashinferDecodePages, kFlashinferDecode);

constexpr std::string_view kFlashinferOverrides = "custom_mask drops causal";
constexpr std::string_view kFlashinferSource = "flashinfer 0.6.18 variants.cuh, prefill.py";

/// The convention of plan() of a paged wrapper, which is named by the wrapper's class.
constexpr Convention flashinfer_pages(std::string_view wrapper, std::span<const Argument> arguments,
                                      std::string_view overrides) {
  return {.call = "plan",
          .module = wrapper,
          .align = Align::kBottomRight,
          .documents = true,
          .unbounded = "-1",
          .arguments = arguments,
          .overrides = overrides,
          .source = "flashinfer 0.6.18 prefill.py, decode.py",
          .written = false};
}

constexpr Convention kFlashinferCalls[] = {
    {.call = "single_prefill_with_kv_cache",
     .align = Align::kBottomRight,
     .unbounded = "-1",
     .leading = "q, k, v",
     .arguments = kFlashinferSingle,
     .overrides = kFlashinferOverrides,
     .source = kFlashinferSource},
    {.call = "plan",
     .align = Align::kBottomRight,
     .documents = true,
     .unbounded = "-1",
     .arguments = kFlashinferPlan,
     .overrides = kFlashinferOverrides,
     .source = kFlashinferSource,
     .object = "wrapper = BatchPrefillWithRaggedKVCacheWrapper(workspace)",
     .spelled = "wrapper.plan"},
    {.call = "single_decode_with_kv_cache",
     .align = Align::kBottomRight,
     .unbounded = "-1",
     .leading = "q, k, v",
     .arguments = kFlashinferDecode,
     .overrides = "there is one query, the last",
     .source = "flashinfer 0.6.18 decode.py",
     .written = false},
    flashinfer_pages("BatchPrefillWithPagedKVCacheWrapper", kFlashinferPagedPlan,
                     "keys are in the order of positions, whichever pages they lie in"),
    flashinfer_pages("BatchDecodeWithPagedKVCacheWrapper", kFlashinferDecodePlan,
                     "one query, the last, of each document; keys are in the order of positions, "
                     "whichever pages they lie in")};

/// The cells of custom_mask, which drops causal; a window would close more of them.
Chain read_flashinfer(const Library& library, std::string_view text) {
  const LibrarySource source = read_library_source(library, text);
  const Python* given = given_argument(source, "custom_mask");
  if (!given) return read_call(library, text);
  const Python cells = resolved(source.text, *given);
  if (cells.kind == Python::Kind::kWord) return read_call(library, text);  // a name is not read
  if (const Python* window = given_argument(source, "window_left")) {
    source.fail(window->position,
                "expected custom_mask without window_left, which is not read then");
  }
  return chain_of_expression(source, cells, Align::kTopLeft);
}

/// The arrays of one request: [tokens, heads, head_dim].
constexpr ArrayModule kFlashinferTorch = {.name = kTorch.name,
                                          .device = kTorch.device,
                                          .repeated = kTorch.repeated,
                                          .lengths = kJaxNumpy.lengths};

void write_custom_mask(const Chain& chain, const StepName& name, Translation& out) {
  const auto axes = write_dense_mask(chain, name, out);
  if (!axes) return;
  if (axes->batches || axes->heads) {
    return refuse(out, "custom_mask is the same for all heads of a request");
  }
  out.code.emplace_back("single_prefill_with_kv_cache(q, k, v, custom_mask=mask)");
}

void write_flashinfer(const Chain& chain, const MaskForm& form, const StepName& name,
                      Translation& out) {
  write_call_or_dense(chain, form, name, out, write_custom_mask);
}

constexpr WindowConvention kFlashinferWindows[] = {
    {"flashinfer", "window_left=W", WindowRule::kInclusive, "variants.cuh: inclusive"}};

constexpr Library kFlashinfer = {.name = "flashinfer",
                                 .title = "FlashInfer",
                                 .align = Align::kBottomRight,
                                 .empty_row = "has been NaN (flashinfer#4401)",
                                 .dense = "custom_mask=mask (causal is ignored then)",
                                 .array = "torch.tensor([{}], dtype=torch.int32, device=q.device)",
                                 .module = &kFlashinferTorch,
                                 .calls = kFlashinferCalls,
                                 .windows = kFlashinferWindows,
                                 .reader = read_flashinfer,
                                 .writer = write_flashinfer};

}  // namespace

const Library& row(const Flashinfer*) { return kFlashinfer; }

}  // namespace maskctl::library
