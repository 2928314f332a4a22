// The modules of all operations, with ejkernel's names, and the runtime that runs them.
#pragma once

#include "maskctl/attention/operations/all.h"
#include "maskctl/ejkernel/runtime/runtime.h"
#include "maskctl/kernels/all.h"

namespace maskctl::attention {

using FlashAttention = Module<FlashAttentionOp>;
using RingAttention = Module<RingAttentionOp>;
using ScaledDotProductAttention = Module<ScaledDotProductAttentionOp>;
using Attention = Module<AttentionOp>;
using BlockSparseAttention = Module<BlockSparseAttentionOp>;
using FlashMLA = Module<FlashMLAOp>;
using NativeSparseAttention = Module<NativeSparseAttentionOp>;
using PageAttention = Module<PageAttentionOp>;
using RaggedPageAttention = Module<RaggedPageAttentionOp>;
using RaggedPageAttentionv3 = Module<RaggedPageAttentionv3Op>;
using RaggedPageAttentionv3Pages = Module<RaggedPageAttentionv3PagesOp>;
using RaggedDecodeAttention = Module<RaggedDecodeAttentionOp>;
using GLAttention = Module<GLAttentionOp>;
using LightningAttention = Module<LightningAttentionOp>;
using RecurrentAttention = Module<RecurrentAttentionOp>;
using GroupedMatmul = Module<GroupedMatmulOp>;
using MeanPooling = Module<MeanPoolingOp>;

}  // namespace maskctl::attention
