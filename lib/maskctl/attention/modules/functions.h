// The function form of every operation: chooses a config, then runs it.
#pragma once

#include "maskctl/attention/modules/attention.h"
#include "maskctl/attention/modules/blocksparse_attention.h"
#include "maskctl/attention/modules/flash_attention.h"
#include "maskctl/attention/modules/gla_attention.h"
#include "maskctl/attention/modules/grouped_matmul.h"
#include "maskctl/attention/modules/lightning_attention.h"
#include "maskctl/attention/modules/mean_pooling.h"
#include "maskctl/attention/modules/mla_attention.h"
#include "maskctl/attention/modules/native_sparse_attention.h"
#include "maskctl/attention/modules/page_attention.h"
#include "maskctl/attention/modules/ragged_decode_attention.h"
#include "maskctl/attention/modules/ragged_page_attention.h"
#include "maskctl/attention/modules/ragged_page_attention_v3.h"
#include "maskctl/attention/modules/recurrent_attention.h"
#include "maskctl/attention/modules/ring_attention.h"
#include "maskctl/attention/modules/scaled_dot_product_attention.h"
#include "maskctl/attention/runtime/runtime.h"

/// Named as the operations themselves (attention/<operation>/*.h), which run at once with what
/// their options say. These tune on the first call with new shapes, remember, and take `platform`,
/// `cfg`, `mesh`, `in_specs` and `out_specs` in `call`; name the namespace when calling them.
/// Gradients: Runtime::call_backward<FlashAttentionOp>(...).
namespace maskctl::attention::modules {

SoftmaxResult scaled_dot_product_attention(
    const Tensor& query, const Tensor& key, const Tensor& value,
    const ScaledDotProductAttentionOptions& options = {},
    const CallOptions<ScaledDotProductAttentionConfig>& call = {},
    Runtime& runtime = default_runtime());

AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options = {},
                          const CallOptions<AttentionConfig>& call = {},
                          Runtime& runtime = default_runtime());

SoftmaxResult flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const FlashAttentionOptions& options = {},
                              const CallOptions<FlashAttentionConfig>& call = {},
                              Runtime& runtime = default_runtime());

SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const BlocksparseAttentionOptions& options = {},
                                    const CallOptions<BlockSparseAttentionConfig>& call = {},
                                    Runtime& runtime = default_runtime());

SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options,
                             const CallOptions<RingAttentionConfig>& call = {},
                             Runtime& runtime = default_runtime());

SoftmaxResult mla_attention(const Tensor& query, const Tensor& key_value, const Tensor& w_kc,
                            const Tensor& w_vc, const MlaAttentionOptions& options = {},
                            const CallOptions<FlashMLAConfig>& call = {},
                            Runtime& runtime = default_runtime());

NativeSparseResult native_sparse_attention(
    const NativeSparseInputs& inputs, const NativeSparseOptions& options = {},
    const CallOptions<NativeSparseAttentionConfig>& call = {},
    Runtime& runtime = default_runtime());

Tensor page_attention(const PageAttentionInputs& inputs, const PageAttentionOptions& options = {},
                      const CallOptions<PageAttentionConfig>& call = {},
                      Runtime& runtime = default_runtime());

Tensor ragged_page_attention(const RaggedPageAttentionInputs& inputs,
                             const RaggedPageAttentionOptions& options = {},
                             const CallOptions<RaggedPageAttentionConfig>& call = {},
                             Runtime& runtime = default_runtime());

/// Updates kv_cache.
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3Inputs& inputs, Tensor& kv_cache,
                                const RaggedPageAttentionV3Options& options = {},
                                const CallOptions<RaggedPageAttentionv3Config>& call = {},
                                Runtime& runtime = default_runtime());
Tensor ragged_page_attention_v3(const RaggedPageAttentionV3PagesInputs& inputs,
                                const RaggedPageAttentionV3PagesOptions& options = {},
                                const CallOptions<RaggedPageAttentionv3Config>& call = {},
                                Runtime& runtime = default_runtime());

Tensor ragged_decode_attention(const RaggedDecodeAttentionInputs& inputs,
                               const RaggedDecodeAttentionOptions& options = {},
                               const CallOptions<RaggedDecodeAttentionConfig>& call = {},
                               Runtime& runtime = default_runtime());

LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options = {},
                                          const CallOptions<RecurrentAttentionConfig>& call = {},
                                          Runtime& runtime = default_runtime());

LinearAttentionResult gla_attention(const GlaAttentionInputs& inputs,
                                    const GlaAttentionOptions& options = {},
                                    const CallOptions<GLAttentionConfig>& call = {},
                                    Runtime& runtime = default_runtime());

LinearAttentionResult lightning_attention(const LightningAttentionInputs& inputs,
                                          const LightningAttentionOptions& options = {},
                                          const CallOptions<LightningAttentionConfig>& call = {},
                                          Runtime& runtime = default_runtime());

Tensor grouped_matmul(const GroupedMatmulInputs& inputs, const GroupedMatmulOptions& options = {},
                      const CallOptions<GroupedMatmulConfig>& call = {},
                      Runtime& runtime = default_runtime());

Tensor mean_pooling(const MeanPoolingInputs& inputs, const MeanPoolingOptions& options = {},
                    const CallOptions<MeanPoolingConfig>& call = {},
                    Runtime& runtime = default_runtime());

}  // namespace maskctl::attention::modules
