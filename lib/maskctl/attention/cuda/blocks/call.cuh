// The arguments that all kernels of attention over listed blocks have in common.
#pragma once

#include "maskctl/attention/cuda/blocks/tiles.cuh"

namespace maskctl::attention::cuda {

struct BlockCall {
  BlockCall(const BlockProblem& c, const BlockLists& lists)
      : queries(c.d.queries),
        tokens(c.d.batch * c.d.queries),
        kv_heads(c.d.kv_heads),
        group(c.d.group()),
        dim(c.d.dim),
        value_dim(c.d.value_dim),
        scale(static_cast<float>(c.scale)),
        query(any_array(c.query)),
        key(any_array(c.key)),
        value(any_array(c.value)),
        lists(lists) {}

  __host__ __device__ Index q_heads() const { return kv_heads * group; }
  /// The index of a token and query head in [B,T,Hq]; row_by_head() is the index in [B,Hq,T].
  __device__ Index query_row(Index token, Index h) const { return token * q_heads() + h; }
  __device__ Index row_by_head(Index token, Index h) const {
    return (token / queries * q_heads() + h) * queries + token % queries;
  }

  Index queries, tokens;  // T and B * T
  Index kv_heads, group, dim, value_dim;
  float scale;
  AnyArray query, key, value;
  BlockLists lists;
};

/// The grid of a kernel in which each block of threads computes one token, `heads` query heads of
/// one key head, and kColumns of the `columns` columns of the result.
inline dim3 token_grid(const BlockCall& c, int heads, Index columns) {
  const auto at_least_1 = [](Index n) { return static_cast<unsigned>(n > 0 ? n : 1); };
  return {static_cast<unsigned>(c.tokens * c.kv_heads), at_least_1(ceil_div(c.group, heads)),
          at_least_1(ceil_div(columns, kColumns))};
}

}  // namespace maskctl::attention::cuda
