#include "maskctl/attention/modules/functions.h"

namespace maskctl::attention::modules {

SoftmaxResult scaled_dot_product_attention(const Tensor& query, const Tensor& key,
                                           const Tensor& value,
                                           const ScaledDotProductAttentionOptions& options,
                                           const CallOptions<ScaledDotProductAttentionConfig>& call,
                                           Runtime& runtime) {
  return runtime.call<ScaledDotProductAttentionOp>({&query, &key, &value}, options, call);
}

AttentionResult attention(const Tensor& query, const Tensor& key, const Tensor& value,
                          const AttentionOptions& options, const CallOptions<AttentionConfig>& call,
                          Runtime& runtime) {
  return runtime.call<AttentionOp>({&query, &key, &value}, options, call);
}

SoftmaxResult flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                              const FlashAttentionOptions& options,
                              const CallOptions<FlashAttentionConfig>& call, Runtime& runtime) {
  return runtime.call<FlashAttentionOp>({&query, &key, &value}, options, call);
}

SoftmaxResult blocksparse_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                    const BlocksparseAttentionOptions& options,
                                    const CallOptions<BlockSparseAttentionConfig>& call,
                                    Runtime& runtime) {
  return runtime.call<BlockSparseAttentionOp>({&query, &key, &value}, options, call);
}

SoftmaxResult ring_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                             const RingAttentionOptions& options,
                             const CallOptions<RingAttentionConfig>& call, Runtime& runtime) {
  return runtime.call<RingAttentionOp>({&query, &key, &value}, options, call);
}

SoftmaxResult mla_attention(const Tensor& query, const Tensor& key_value, const Tensor& w_kc,
                            const Tensor& w_vc, const MlaAttentionOptions& options,
                            const CallOptions<FlashMLAConfig>& call, Runtime& runtime) {
  return runtime.call<FlashMLAOp>({&query, &key_value, &w_kc, &w_vc}, options, call);
}

NativeSparseResult native_sparse_attention(const NativeSparseInputs& inputs,
                                           const NativeSparseOptions& options,
                                           const CallOptions<NativeSparseAttentionConfig>& call,
                                           Runtime& runtime) {
  return runtime.call<NativeSparseAttentionOp>(inputs, options, call);
}

Tensor page_attention(const PageAttentionInputs& inputs, const PageAttentionOptions& options,
                      const CallOptions<PageAttentionConfig>& call, Runtime& runtime) {
  return runtime.call<PageAttentionOp>(inputs, options, call);
}

Tensor ragged_page_attention(const RaggedPageAttentionInputs& inputs,
                             const RaggedPageAttentionOptions& options,
                             const CallOptions<RaggedPageAttentionConfig>& call, Runtime& runtime) {
  return runtime.call<RaggedPageAttentionOp>(inputs, options, call);
}

Tensor ragged_page_attention_v3(const RaggedPageAttentionV3Inputs& inputs, Tensor& kv_cache,
                                const RaggedPageAttentionV3Options& options,
                                const CallOptions<RaggedPageAttentionv3Config>& call,
                                Runtime& runtime) {
  return runtime.call<RaggedPageAttentionv3Op>({inputs, &kv_cache}, options, call);
}

Tensor ragged_page_attention_v3(const RaggedPageAttentionV3PagesInputs& inputs,
                                const RaggedPageAttentionV3PagesOptions& options,
                                const CallOptions<RaggedPageAttentionv3Config>& call,
                                Runtime& runtime) {
  return runtime.call<RaggedPageAttentionv3PagesOp>(inputs, options, call);
}

Tensor ragged_decode_attention(const RaggedDecodeAttentionInputs& inputs,
                               const RaggedDecodeAttentionOptions& options,
                               const CallOptions<RaggedDecodeAttentionConfig>& call,
                               Runtime& runtime) {
  return runtime.call<RaggedDecodeAttentionOp>(inputs, options, call);
}

LinearAttentionResult recurrent_attention(const RecurrentAttentionInputs& inputs,
                                          const RecurrentAttentionOptions& options,
                                          const CallOptions<RecurrentAttentionConfig>& call,
                                          Runtime& runtime) {
  return runtime.call<RecurrentAttentionOp>(inputs, options, call);
}

LinearAttentionResult gla_attention(const GlaAttentionInputs& inputs,
                                    const GlaAttentionOptions& options,
                                    const CallOptions<GLAttentionConfig>& call, Runtime& runtime) {
  return runtime.call<GLAttentionOp>(inputs, options, call);
}

LinearAttentionResult lightning_attention(const LightningAttentionInputs& inputs,
                                          const LightningAttentionOptions& options,
                                          const CallOptions<LightningAttentionConfig>& call,
                                          Runtime& runtime) {
  return runtime.call<LightningAttentionOp>(inputs, options, call);
}

Tensor grouped_matmul(const GroupedMatmulInputs& inputs, const GroupedMatmulOptions& options,
                      const CallOptions<GroupedMatmulConfig>& call, Runtime& runtime) {
  return runtime.call<GroupedMatmulOp>(inputs, options, call);
}

Tensor mean_pooling(const MeanPoolingInputs& inputs, const MeanPoolingOptions& options,
                    const CallOptions<MeanPoolingConfig>& call, Runtime& runtime) {
  return runtime.call<MeanPoolingOp>(inputs, options, call);
}

}  // namespace maskctl::attention::modules
