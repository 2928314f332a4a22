// native_sparse_attention as a module.
#pragma once

#include "maskctl/attention/modules/describe.h"
#include "maskctl/attention/operations/native_sparse/native_sparse.h"
#include "maskctl/attention/runtime/module.h"
#include "maskctl/attention/sharded/shard_map.h"

namespace maskctl::attention {

struct NativeSparseAttentionOp : NoHints {
  using Inputs = NativeSparseInputs;
  using Options = NativeSparseOptions;
  using Output = NativeSparseResult;
  using Gradients = NativeSparseGradients;
  using Config = NativeSparseAttentionConfig;
  static constexpr OpInfo kInfo{
      .id = "native_sparse_attention", .algorithm = "native_sparse_attention", .cache_name = "nsa"};
  static constexpr std::string_view kOutLabels = "b t h e";

  template <class I, class O, class F>
  static void arrays(I& in, O&, F&& f) {
    f("query", in.query, "b t h d");
    f("key", in.key, "b t u d");
    f("value", in.value, "b t u e");
    f("g_cmp", in.g_cmp, "b t h");
    f("g_slc", in.g_slc, "b t h");
    f("block_indices", in.block_indices, "b r u s");
    f("block_counts", in.block_counts, "b r u");
    f("cu_seqlens", in.cu_seqlens, "n");
  }
  template <class F>
  static void scalars(const Options& o, F&& f) {
    f("block_size", o.block_size);
    f("block_counts_of_all", o.block_counts);
    f("softmax_scale", o.softmax_scale);
    f("duplicate_blocks", o.duplicate_blocks);
  }
  template <class F>
  static void outputs(Output& out, F&& f) {
    f("out", out.out, "b t h e");
    f("selected_out", out.selected.out, "b t h e");
    f("selected_lse", out.selected.lse, "b h t");
    if (out.compressed) {
      f("compressed_out", out.compressed->out, "b t h e");
      f("compressed_lse", out.compressed->lse, "b h t");
    }
    f("selected_block_indices", out.selected_block_indices, "b t u s");
  }
  template <class F>
  static void gradients(Gradients& gradients, F&& f) {
    f("query", gradients.query);
    f("key", gradients.key);
    f("value", gradients.value);
    f("g_cmp", gradients.g_cmp);
    f("g_slc", gradients.g_slc);
  }
  static Output forward(const Inputs& in, const Options& o) {
    return native_sparse_attention(in, o);
  }
  static Gradients backward(const Inputs& in, const Output& out, const Cotangents& d,
                            const Options& o) {
    return native_sparse_attention_backward(in, out, *d.out, o);
  }
};
using NativeSparseAttention = Module<NativeSparseAttentionOp>;

}  // namespace maskctl::attention
