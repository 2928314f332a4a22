#include "conformance/op_profiles.h"

#include "conformance/mismatch.h"
#include "conformance/value.h"

namespace conformance {
namespace {

/// How cases of each operation are called. The golden data averages all values in rows without a
/// key in the three dense operations, and has 0 there in all others.
const std::map<std::string, OpProfile> kProfiles = {
    {"scaled_dot_product_attention", {"scaled_dot_product_attention", {}, {{"empty_row", "mean"}}}},
    {"attention", {"attention", {}, {{"empty_row", "mean"}, {"mask_with_bias", "ignore"}}}},
    {"flash_attention",
     {"flash_attention",
      {"varlen_layout"},
      {{"empty_row", "mean"}},
      {{"bottom-right per sequence", "bottom-right"}}}},
    {"blocksparse_attention", {"blocksparse_attention", {"mask"}, {{"causal", "false"}}}},
    {"ring_attention", {"ring_attention", {}, {{"segment_padding", "zero"}}}},
    {"native_sparse_attention", {"native_sparse_attention", {"missing_blocks"}}},
    {"apply_native_sparse_attention", {"apply_native_sparse_attention", {"missing_blocks"}}},
    {"page_attention", {"page_attention", {"page_size"}, {{"kv_layout", "heads_first"}}}},
    {"ragged_page_attention", {"ragged_page_attention", {"page_size", "valid_rows"}}},
    {"ragged_page_attention_v3",
     {"ragged_page_attention_v3", {"page_size", "head_dim", "head_dim_padded", "kv_packing"}}},
    {"ragged_decode_attention", {"ragged_decode_attention"}},
    {"recurrent", {"recurrent_attention", {}, {{"return_state", "true"}}}},
    {"gla", {"gla_attention", {}, {{"return_state", "true"}}}},
    {"lightning_attn", {"lightning_attention", {}, {{"return_state", "true"}}}},
    {"grouped_matmul", {"grouped_matmul"}},
    {"mean_pooling", {"mean_pooling"}},
    {"multi_head_latent_attention", {"mla_attention"}},
};

}  // namespace

bool OpProfile::is_argument(const std::string& parameter) const {
  return !notes.contains(parameter) && !parameter.ends_with("_effective");
}

const OpProfile& op_profile(const std::string& op) {
  const auto found = kProfiles.find(op);
  if (found == kProfiles.end()) throw Mismatch("operation " + quoted(op) + " is not known");
  return found->second;
}

}  // namespace conformance
