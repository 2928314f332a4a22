// Iterates over the keys that one token sees in one key head: those of its listed blocks, in tiles
// of kKeys keys.
#pragma once

#include "maskctl/attention/cuda/blocks/tiles.cuh"

namespace maskctl::attention::cuda {

/// A token and a key head, with their list of blocks.
struct TokenBlocks {
  __device__ TokenBlocks(const BlockLists& lists, Index token, Index u)
      : lists(lists), token(token), u(u), offsets(lists.offsets[token]) {
    if (offsets.first < 0) return;
    listed = lists.indices + (offsets.indices * lists.heads + u) * lists.width;
    const Index count =
        lists.counts ? Index{lists.counts[offsets.counts * lists.heads + u]} : lists.count;
    wanted = count < lists.width ? count : lists.width;
  }
  const BlockLists& lists;
  Index token, u;  // index of the token in [B,T]; key head
  TokenOffsets offsets;
  const std::int32_t* listed = nullptr;
  Index wanted = 0;  // entries of `listed` to use
};

/// Up to kBlocks distinct blocks that a token sees, and one tile of their keys, in shared memory.
struct SeenKeys {
  static constexpr int kBlocks = 32;
  int blocks[kBlocks];
  float block_times[kBlocks];
  int count;
  Index rows[kKeys];   // indices of keys in [B,T,Hkv]; -1: a key that is not seen
  float times[kKeys];  // factors of the keys' weights; 0 for a key that is not seen
};

/// Reads kBlocks entries of the list from `first` on, one per lane of a warp, and stores in `seen`
/// the blocks that the token sees. Later duplicates in the list are skipped, but counted.
__device__ inline void find_blocks(const TokenBlocks& token, Index first, SeenKeys& seen) {
  const unsigned lane = threadIdx.x;
  const Index i = first + lane;
  const int block = i < token.wanted ? token.listed[i] : -1;
  int times = 0;
  bool is_first = true;
  for (Index j = 0; j < token.wanted; ++j) {
    if (token.listed[j] != block) continue;
    ++times;
    is_first = is_first && j >= i;
  }
  const Index t = token.token - token.offsets.first;
  const bool kept = block >= 0 && is_first && block * token.lists.block_size <= t;
  const unsigned votes = __ballot_sync(~0u, kept);
  if (kept) {
    const int n = __popc(votes & ((1u << lane) - 1));
    seen.blocks[n] = block;
    seen.block_times[n] = token.lists.once ? 1 : static_cast<float>(times);
  }
  if (lane == 0) seen.count = __popc(votes);
}

/// Sets row `row_in_tile` of the tile to key n, counted through the keys of all seen.blocks.
__device__ inline void place_key(const TokenBlocks& token, Index n, Index row_in_tile,
                                 SeenKeys& seen) {
  const Index size = token.lists.block_size, block = n / size;
  Index row = -1;
  if (block < seen.count) {
    row = token.offsets.first + seen.blocks[block] * size + n % size;
    if (row > token.token) row = -1;
  }
  seen.rows[row_in_tile] = row < 0 ? -1 : row * token.lists.heads + token.u;
  seen.times[row_in_tile] = row < 0 ? 0 : seen.block_times[block];
}

/// Whether keys n to n + kKeys - 1 are all in one block and all after the token, so that it sees
/// none of them. Keys are counted through the keys of all seen.blocks.
__device__ inline bool is_past(const TokenBlocks& token, Index n, const SeenKeys& seen) {
  const Index size = token.lists.block_size, within = n % size;
  const Index t = token.token - token.offsets.first;
  return within + kKeys <= size && seen.blocks[n / size] * size + within > t;
}

/// Calls f() for each tile of keys that the token sees, with the tile in `seen`. All threads of the
/// block must call this function.
template <class F>
__device__ void for_each_tile(const TokenBlocks& token, SeenKeys& seen, F&& f) {
  for (Index first = 0; first < token.wanted; first += SeenKeys::kBlocks) {
    __syncthreads();
    if (threadIdx.x < SeenKeys::kBlocks) find_blocks(token, first, seen);
    __syncthreads();
    const Index keys = seen.count * token.lists.block_size;
    for (Index key = 0; key < keys; key += kKeys) {
      if (is_past(token, key, seen)) continue;
      __syncthreads();
      if (threadIdx.x < kKeys) place_key(token, key + threadIdx.x, threadIdx.x, seen);
      __syncthreads();
      f();
    }
  }
}

}  // namespace maskctl::attention::cuda
