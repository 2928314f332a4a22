// Attention over listed blocks by warps that each take a token and 16 query heads of one key head:
// the heads are the rows of matrix products, and tiles of keys are loaded into shared memory.
#pragma once

#include "maskctl/attention/cuda/blocks/call.cuh"
#include "maskctl/attention/cuda/blocks/seen_keys.cuh"
#include "maskctl/attention/cuda/hopper/fragment.cuh"
#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"
#include "maskctl/attention/cuda/warp_mma.cuh"

namespace maskctl::attention::cuda::hopper {

constexpr int kWarp = 32, kRows = 16, kTileBytes = kKeys * kPanelRowBytes;

/// A tile of kKeys keys or values in shared memory.
template <int kDim>
using KeyPanels = unsigned char[kDim / kPanel][kTileBytes];

/// The shared memory of a warp: the keys and values of one tile, and the blocks of keys that
/// SeenWalk has looked up.
template <int kDim>
struct TokenMemory {
  KeyPanels<kDim> key, value;
  SeenKeys seen;
  Barrier key_full, value_full;

  __device__ void init() {
    if (threadIdx.x == 0) key_full.init(1), value_full.init(1), fence_barriers();
    __syncwarp();
  }
};

/// kKeys keys of a listed block. `key` is the index of the first of them in the sequence, or -1
/// after the last tile; `times` is how often each key counts in the softmax.
struct SeenTile {
  int key;
  float times;
};
/// Iterates over the tiles of keys that a token sees.
class SeenWalk {
 public:
  __device__ SeenWalk(const TokenBlocks& token, SeenKeys& seen)
      : token_(token), seen_(seen), tiles_(static_cast<int>(token.lists.block_size) / kKeys) {}

  __device__ SeenTile next() {
    for (;; ++n_) {
      while (n_ == end_) {
        if (first_ >= token_.wanted) return {-1, 0};
        __syncwarp();
        find_blocks(token_, first_, seen_);
        __syncwarp();
        first_ += SeenKeys::kBlocks;
        n_ = 0, end_ = seen_.count * tiles_;
      }
      const int block = n_ / tiles_;
      const Index key = (Index{seen_.blocks[block]} * tiles_ + n_ % tiles_) * kKeys;
      if (key > token_.token - token_.offsets.first) continue;
      ++n_;
      return {static_cast<int>(key), seen_.block_times[block]};
    }
  }

 private:
  const TokenBlocks& token_;
  SeenKeys& seen_;
  const int tiles_;  // tiles per block of keys
  Index first_ = 0;  // where find_blocks() looks next, as an index in the token's list of blocks
  int n_ = 0, end_ = 0;
};

/// 16 query heads of a token as the rows of a warp's matrix products. `first_head` is the number of
/// the first of them among the query heads that share the key head.
template <class T, int kDim>
class TokenRows {
 public:
  using Panels = KeyPanels<kDim>;
  // The left factor of a product: the rows' queries or gradients of outputs.
  using Row = std::uint32_t[kDim / 16][4];
  using Scores = float[kKeys / 8][4];
  using Sums = float[kDim / 8][4];

  __device__ TokenRows(const BlockCall& call, const TokenBlocks& token, Index first_head)
      : call_(call),
        token_(token),
        first_head_(first_head),
        lane_(static_cast<int>(threadIdx.x)),
        own_(static_cast<int>(token.token - token.offsets.first)) {}

  /// Returns how many keys of the tile the token sees; a number above kKeys means all of them.
  __device__ __forceinline__ int seen(const SeenTile& tile) const { return own_ - tile.key + 1; }
  /// Which key of the tile the lane's i-th score of a row belongs to.
  __device__ __forceinline__ int key_of(int i) const { return i / 2 * 8 + lane_ % 4 * 2 + i % 2; }
  /// The query head of the lane's row `side`, 0 or 1; -1 for a row past the last head.
  __device__ __forceinline__ Index head(int side) const {
    const Index n = first_head_ + lane_ / 4 + 8 * side;
    return n < call_.group ? token_.u * call_.group + n : -1;
  }
  __device__ __forceinline__ Index row_by_head(int side) const {
    return call_.row_by_head(token_.token, head(side));
  }
  __device__ __forceinline__ bool is_first_of_row() const { return lane_ % 4 == 0; }

  __device__ __forceinline__ void load(Panels& to, const CUtensorMap& map, const SeenTile& tile,
                                       Barrier& full) const {
    if (lane_ != 0) return;
    full.arrive_expecting(sizeof(Panels));
    const int row = static_cast<int>(token_.offsets.first) + tile.key;
    for (int i = 0; i < kDim / kPanel; ++i) {
      load_box(to[i], map, {i * kPanel, row, static_cast<int>(token_.u), 0}, full, kEvictLast);
    }
  }
  /// Reads the token's rows of an array [B * T,Hq,D]; zeros for rows past the last head.
  __device__ __forceinline__ void read(const void* array, Row& rows) const {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const T* const row = head(side) < 0 ? nullptr : row_of(static_cast<const T*>(array), side);
#pragma unroll
      for (int i = 0; i < kDim / 8; ++i) {
        rows[i / 2][i % 2 * 2 + side] =
            row ? *reinterpret_cast<const std::uint32_t*>(row + i * 8 + lane_ % 4 * 2) : 0;
      }
    }
  }
  /// scores = rows times the transposed keys.
  __device__ __forceinline__ void score(const Row& rows, const Panels& keys, Scores& scores) const {
    const int matrix = lane_ / 8;
    const std::uint32_t begin = matrices(keys, matrix / 2 * 8 + lane_ % 8, matrix % 2 * 8);
#pragma unroll
    for (int j = 0; j < kKeys / 8; ++j) {
#pragma unroll
      for (float& x : scores[j]) x = 0;
    }
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
#pragma unroll
      for (int j = 0; j < kKeys / 8; j += 2) {
        std::uint32_t b[4];  // b[0], b[1]: keys 8 j to 8 j + 7; b[2], b[3]: the next 8
        load_matrices<false>(b, (begin ^ i % 4 * 32) + i / 4 * kTileBytes + j * 8 * kPanelRowBytes);
        multiply<T>(scores[j], rows[i], {b[0], b[1]});
        multiply<T>(scores[j + 1], rows[i], {b[2], b[3]});
      }
    }
  }
  /// sums += the weights, rounded to T, times the values; or gradients of scores times keys.
  __device__ __forceinline__ void add(const Scores& weights, const Panels& values,
                                      Sums& sums) const {
    const int matrix = lane_ / 8;
    const std::uint32_t begin = matrices(values, matrix % 2 * 8 + lane_ % 8, matrix / 2 * 8);
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
      std::uint32_t a[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) {
        const float* const pair = weights[2 * i + r / 2] + r % 2 * 2;
        a[r] = rounded_pair<T>(pair[0], pair[1]);
      }
#pragma unroll
      for (int j = 0; j < kDim / 8; j += 2) {
        std::uint32_t b[4];  // b[0], b[1]: columns 8 j to 8 j + 7; b[2], b[3]: the next 8
        load_matrices<true>(b, (begin ^ j % 8 * 16) + j / 8 * kTileBytes + i * 16 * kPanelRowBytes);
        multiply<T>(sums[j], a, {b[0], b[1]});
        multiply<T>(sums[j + 1], a, {b[2], b[3]});
      }
    }
  }
  /// Sets keys or values of the tile that the token does not see to zero, since a weight of zero
  /// would not cancel an element that is infinite or NaN.
  __device__ __forceinline__ void clear_unseen(const SeenTile& tile, Panels& panels) const {
    if (seen(tile) >= kKeys) return;
    __syncwarp();  // other lanes may still read the panels
    for (int i = 0; i < kDim / kPanel; ++i) {
      for (int at = seen(tile) * kPanelRowBytes + lane_ * 16; at < kTileBytes; at += kWarp * 16) {
        *reinterpret_cast<uint4*>(panels[i] + at) = make_uint4(0, 0, 0, 0);
      }
    }
    fence_shared_writes();
    __syncwarp();
  }
  /// Multiplies the lane's sums of its row `side` by a factor and stores them in an array
  /// [B * T,Hq,D].
  __device__ __forceinline__ void store(const Sums& sums, int side, float factor,
                                        void* array) const {
    T* const row = row_of(static_cast<T*>(array), side);
#pragma unroll
    for (int i = 0; i < kDim / 8; ++i) {
      *reinterpret_cast<std::uint32_t*>(row + i * 8 + lane_ % 4 * 2) =
          rounded_pair<T>(sums[i][2 * side] * factor, sums[i][2 * side + 1] * factor);
    }
  }

 private:
  template <class Element>
  __device__ __forceinline__ Element* row_of(Element* array, int side) const {
    return array + call_.query_row(token_.token, head(side)) * kDim;
  }
  /// The shared address of 8 elements of the first panel, which a lane passes to load_matrices().
  /// Panels are swizzled and aligned, so xor with a constant gives the address of other columns.
  __device__ __forceinline__ static std::uint32_t matrices(const Panels& panels, int row,
                                                           int column) {
    return made_here(shared_address(panels) + swizzled(row, column));
  }

  const BlockCall& call_;
  const TokenBlocks& token_;
  const Index first_head_;
  const int lane_, own_;  // own_: the token's index in its sequence
};

/// The token of this block of threads, and the first of its query heads. Blocks of the grid are
/// ordered by batch entry, key head, tile of heads, and then token, so that the keys and values of
/// a head stay in the cache.
struct TokenOfBlock {
  __device__ TokenOfBlock(const BlockCall& c, Index head_tiles)
      : n(blockIdx.x / c.queries),
        first_head(n % head_tiles * kRows),
        blocks(c.lists, n / head_tiles / c.kv_heads * c.queries + blockIdx.x % c.queries,
               n / head_tiles % c.kv_heads) {}
  Index n, first_head;
  TokenBlocks blocks;
};
inline Index head_tiles_of(const BlockCall& c) { return ceil_div(c.group, kRows); }
inline unsigned token_blocks(const BlockCall& c) {
  return static_cast<unsigned>(c.tokens * c.kv_heads * head_tiles_of(c));
}

/// Whether the kernels read the array: contiguous rows of `dim` elements that begin at multiples of
/// 16 bytes.
inline bool is_readable(const TensorView& array, DType dtype, Index dim) {
  return array.dtype() == dtype && array.is_contiguous() && array.extent(3) == dim &&
         reinterpret_cast<std::uintptr_t>(array.data()) % 16 == 0;
}
/// A tensor map of keys or values [B * T,Hkv,D] for boxes of kKeys tokens of one head.
inline CUtensorMap keys_map(const TensorView& array, const BlockCall& c) {
  const HeadsView view{array.data(), array.dtype(), c.tokens * c.kv_heads * c.dim,
                       c.kv_heads * c.dim, c.dim};
  return tensor_map(view, 1, c.tokens, c.kv_heads, c.dim, kKeys);
}

/// Calls f(std::integral_constant<int, dim>()) for a `dim` of 64 or 128.
template <class F>
void with_dim(Index dim, F&& f) {
  if (dim == 64) return f(std::integral_constant<int, 64>());
  f(std::integral_constant<int, 128>());
}

}  // namespace maskctl::attention::cuda::hopper
