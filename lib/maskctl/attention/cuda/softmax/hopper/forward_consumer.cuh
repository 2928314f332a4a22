// The warpgroups of forward attention on Hopper GPUs that compute. A warpgroup multiplies queries
// by the keys of the next tile while it multiplies weights by the values of the current tile.
// Warpgroups take turns, so that one uses the tensor cores while another computes exponentials.
#pragma once

#include "maskctl/attention/cuda/hopper/powers.cuh"
#include "maskctl/attention/cuda/softmax/hopper/forward_call.cuh"

namespace maskctl::attention::cuda::hopper {

/// One warpgroup. Of its 64 queries in each tile, a thread has two: `row_` and `row_` + 8.
template <class Shape>
class Consumer {
  using T = typename Shape::Element;
  using Memory = ForwardMemory<Shape>;
  static constexpr int kDim = Shape::kDim, kValueDim = Shape::kValueDim, kKeys = Shape::kKeys;

 public:
  __device__ Consumer(const ForwardCall& call, Memory& memory)
      : call_(call),
        memory_(memory),
        group_(__shfl_sync(~0u, static_cast<int>(threadIdx.x) / 128 - 1, 0)),
        thread_(static_cast<int>(threadIdx.x) % 128),
        row_(thread_ / 32 * 16 + thread_ % 32 / 4),
        to_exponent_(Shape::kIsGeneral ? 1 : call.p.scale * kLog2E) {}

  __device__ __forceinline__ void run() {
    if (Shape::kTakesTurns && group_ == Shape::kWarpgroups - 1) pass_turn();
    for (;; at_query_.next()) {
      memory_.query_full[at_query_.slot].wait(at_query_.parity);
      work_ = memory_.work[at_query_.slot];
      if (__any_sync(~0u, work_.is_end)) return;
#pragma unroll
      for (float& x : sums_) x = 0;
      max_[0] = max_[1] = -kInfinity;
      total_[0] = total_[1] = 0;
      if (__any_sync(~0u, work_.has_tiles)) walk();
      finish();
    }
  }

 private:
  struct Words {
    std::uint32_t of[Shape::kColumns][2];
    bool is_full;
  };

  /// Loops over all tiles of keys. The weights of a tile are multiplied by its values while the
  /// scores of the next tile are computed. (Going on to the next tile of queries without a pause
  /// was 5 % slower, even where rows have few tiles.)
  __device__ __forceinline__ void walk() {
    float scores[kKeys / 2];
    std::uint32_t weights[kKeys / 4];
    float rescale[2];
    memory_.key_full[at_.slot].wait(at_.parity);
    take_turn();
    multiply_keys(scores);
    pass_turn();
    Words words = read_tile();
    wgmma_wait<0>();
    pin(scores);
    release(memory_.key_empty[at_.slot]);
    online_softmax(scores, words, rescale);
    round(scores, weights);
    at_.next();
    while (!is_last_) {
      memory_.key_full[at_.slot].wait(at_.parity);
      if (has_unseen_) clear_unseen();
      take_turn();
      multiply_keys(scores);
      memory_.value_full[at_value_.slot].wait(at_value_.parity);
      multiply_values(weights);
      pass_turn();
      words = read_tile();
      wgmma_wait<1>();
      pin(scores);
      release(memory_.key_empty[at_.slot]);
      online_softmax(scores, words, rescale);
      pin(total_);  // keeps the additions before the wait
      wgmma_wait<0>();
      pin(sums_);
      release(memory_.value_empty[at_value_.slot]);
      if (needs_rescale_) {
#pragma unroll
        for (int i = 0; i < kValueDim / 2; ++i) sums_[i] *= rescale[i / 2 % 2];
      }
      round(scores, weights);
      at_.next(), at_value_.next();
    }
    if (has_unseen_) clear_unseen();
    memory_.value_full[at_value_.slot].wait(at_value_.parity);
    multiply_values(weights);
    wgmma_wait<0>();
    pin(sums_);
    release(memory_.value_empty[at_value_.slot]);
    at_value_.next();
  }

  // Warpgroups issue their products one after the other, so that the exponentials of one overlap
  // the products of another. (Overlapping a warpgroup's exponentials with its own products as well
  // was 5 % slower.)
  __device__ __forceinline__ void take_turn() {
    if constexpr (Shape::kTakesTurns) sync(kTurnOfFirst + group_, 256);
  }
  __device__ __forceinline__ void pass_turn() {
    if constexpr (Shape::kTakesTurns) {
      arrive(kTurnOfFirst + (group_ + 1) % Shape::kWarpgroups, 256);
    }
  }
  __device__ __forceinline__ void release(Barrier& empty) {
    if (thread_ % 32 == 0) empty.arrive();
  }

  __device__ __forceinline__ void multiply_keys(float (&scores)[kKeys / 2]) {
    const std::uint64_t query =
        k_major(shared_address(memory_.query[at_query_.slot][0]) + group_ * 64 * kPanelRowBytes);
    const std::uint64_t key = k_major(shared_address(memory_.key[at_.slot][0]));
    pin(scores);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kDim / 16; ++i) {
      const int panel = i / 4, inside = i % 4 * 32;
      wgmma<T, kKeys, 0, 0>(scores, advanced(query, panel * Memory::kQueryBytes + inside),
                            advanced(key, panel * Memory::kKeyBytes + inside), i > 0);
    }
    wgmma_commit();
  }
  __device__ __forceinline__ void multiply_values(const std::uint32_t (&weights)[kKeys / 4]) {
    const std::uint64_t value =
        transposed(shared_address(memory_.value[at_value_.slot][0]), Memory::kKeyBytes);
    pin(sums_);
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kKeys / 16; ++i) {
      wgmma<T, kValueDim, 1>(sums_, weights + 4 * i, advanced(value, i * 16 * kPanelRowBytes), 1);
    }
    wgmma_commit();
  }

  /// Reads which cells the current tile of keys opens in the thread's two rows.
  __device__ __forceinline__ Words read_tile() {
    const typename Memory::KeyTile& tile = memory_.tiles[at_.slot];
    // The votes tell the compiler that all lanes of a warp agree, so that it uses uniform
    // registers.
    number_ = tile.number;
    is_last_ = __any_sync(~0u, tile.is_last), has_unseen_ = __any_sync(~0u, tile.has_unseen);
    const int keys_left = static_cast<int>(call_.p.d.keys) - number_ * kKeys;
    Words words;
    words.is_full = keys_left >= kKeys;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) words.is_full &= tile.cells[group_][i] == kAllCells;
    words.is_full = __all_sync(~0u, words.is_full);
    if (words.is_full) return words;
#pragma unroll
    for (int i = 0; i < Shape::kColumns; ++i) {
      const Cells cells = tile.cells[group_][i];
      const std::uint64_t* const payload = memory_.payloads[at_.slot][group_][i];
      std::uint64_t open[2];
      open_words(cells, payload, tile.payload_rows, row_, open);
      if (const int left = keys_left - kTile * i; left < kTile) {
        open[0] &= first_columns(left), open[1] &= first_columns(left);
      }
#pragma unroll
      for (int side = 0; side < 2; ++side) words.of[i][side] = own_columns(open[side]);
    }
    return words;
  }

  /// Sets the values of keys that no query of the tile sees to zero: 0 times their content could be
  /// NaN.
  __device__ __forceinline__ void clear_unseen() {
    memory_.value_full[at_value_.slot].wait(at_value_.parity);
    for (int key = thread_ + 128 * group_; key < kKeys; key += 128 * Shape::kWarpgroups) {
      if ((memory_.unseen[Memory::round(at_value_)][key / 64] >> key % 64 & 1) == 0) continue;
      for (auto& panel : memory_.value[at_value_.slot]) {
        auto* const row = reinterpret_cast<uint4*>(panel + key * kPanelRowBytes);
        for (int i = 0; i < kPanelRowBytes / 16; ++i) row[i] = make_uint4(0, 0, 0, 0);
      }
    }
    fence_shared_writes();
    sync(kConsumers, 128 * Shape::kWarpgroups);
  }

  /// Computes the logits of a call with a bias, soft cap or similar, as exponents of two. For cells
  /// outside the arrays the indices are clamped, so that reading the bias is safe; these cells are
  /// closed or are not stored.
  __device__ __forceinline__ void score_generally(float (&scores)[kKeys / 2]) {
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      const int query = work_.tile * Shape::kRows + group_ * 64 + row_ + i / 2 % 2 * 8;
      const int key = number_ * kKeys + i / 4 * 8 + thread_ % 4 * 2 + i % 2;
      float derivative;
      scores[i] =
          kLog2E * logit(call_.p, work_.b, work_.h,
                         min(query, static_cast<int>(call_.p.d.queries) - 1),
                         min(key, static_cast<int>(call_.p.d.keys) - 1), scores[i], derivative);
    }
  }
  /// Sets the scores of closed cells to -inf. It goes byte by byte through the words, because one
  /// instruction turns a byte into four predicates.
  __device__ __forceinline__ void close(float (&scores)[kKeys / 2], const Words& words) {
#pragma unroll
    for (int word = 0; word < kKeys / 32; ++word) {
      const int column = word / 2, side = word % 2;
#pragma unroll
      for (int bits = 0; bits < 16; ++bits) {
        const int i = bits / 4 * 4 + bits % 4 / 2 * 16 + side * 2 + bits % 2;
        if (!is_open(words.of[column][side], i)) scores[column * 32 + i] = -kInfinity;
      }
    }
  }

  /// Turns scores into weights relative to the running maximum of each row. As long as the maximum
  /// grows only a little, the old one stays in use, and sums need no rescaling. `rescale`: the
  /// factors for earlier sums, valid where needs_rescale_ is set.
  __device__ __forceinline__ void online_softmax(float (&scores)[kKeys / 2], const Words& words,
                                                 float (&rescale)[2]) {
    if constexpr (Shape::kIsGeneral) score_generally(scores);
    if (!words.is_full) close(scores, words);
    raise_maxima(scores, rescale);
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float shift = max_[side] == -kInfinity ? 0 : max_[side] * to_exponent_;
      float sums[4] = {};  // four sums, for short chains of additions
#pragma unroll
      for (int i = 0; i < kKeys / 2; i += 4) {
#pragma unroll
        for (int j = 0; j < 2; ++j) {
          float& x = scores[i + 2 * side + j];
          x = exp2_approximate(fmaf(x, to_exponent_, -shift));
          sums[i / 4 % 2 * 2 + j] += x;
        }
      }
      total_[side] += (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
    if constexpr (Shape::kIsGeneral) drop(scores);
  }
  __device__ __forceinline__ void raise_maxima(const float (&scores)[kKeys / 2],
                                               float (&rescale)[2]) {
    // How far, as an exponent of two, a maximum may grow without rescaling: weights stay below 2^8.
    // It is 0 in general calls, because sums that are not normalised must be relative to the
    // largest score.
    constexpr float kLittle = Shape::kIsGeneral ? 0 : 8;
    float most[2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      most[side] = max_[side];
#pragma unroll
      for (int i = 0; i < kKeys / 2; i += 4) {
        most[side] = fmaxf(most[side], fmaxf(scores[i + 2 * side], scores[i + 2 * side + 1]));
      }
      most[side] = fmaxf(most[side], __shfl_xor_sync(~0u, most[side], 1));
      most[side] = fmaxf(most[side], __shfl_xor_sync(~0u, most[side], 2));
    }
    const auto has_new_maximum = [&](int side) {
      return (most[side] - max_[side]) * to_exponent_ > kLittle;
    };
    needs_rescale_ = __any_sync(~0u, has_new_maximum(0) || has_new_maximum(1));
    if (!needs_rescale_) return;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      // Rescales only rows whose maximum has grown: a row's bits must not depend on other rows of
      // the warp. The other rows need a branch that gives exactly 1, because exp2(x y - x y),
      // computed with fmaf, would give the rounding error of the product instead of exp2(0).
      const float max = has_new_maximum(side) ? most[side] : max_[side];
      const float shift = max * to_exponent_;
      rescale[side] =
          has_new_maximum(side) ? exp2_approximate(fmaf(max_[side], to_exponent_, -shift)) : 1;
      max_[side] = max;
      total_[side] *= rescale[side];
    }
  }
  __device__ __forceinline__ void drop(float (&scores)[kKeys / 2]) {
    if (call_.p.dropout == 0) return;
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      scores[i] *= multiplier(call_.p, work_.b, work_.h,
                              work_.tile * Shape::kRows + group_ * 64 + row_ + i / 2 % 2 * 8,
                              number_ * kKeys + i / 4 * 8 + thread_ % 4 * 2 + i % 2);
    }
  }
  __device__ __forceinline__ void round(const float (&scores)[kKeys / 2],
                                        std::uint32_t (&weights)[kKeys / 4]) {
#pragma unroll
    for (int i = 0; i < kKeys / 4; ++i) {
      weights[i] = rounded_pair<T>(scores[2 * i], scores[2 * i + 1]);
    }
  }

  /// Writes out and lse of the tile of queries. `out` goes through the shared memory that held the
  /// queries.
  __device__ __forceinline__ void finish() {
    float factor[2];
    bool seen[2];
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      float sum = sum_of_lanes<4>(total_[side]);
      // The maximum of the row's logits.
      float max = max_[side] == -kInfinity ? -kInfinity : max_[side] * to_exponent_ * kLn2;
      seen[side] = max != -kInfinity;
      const float rescale = call_.p.sink_count > 0 ? add_sinks(call_.p, work_.h, max, sum) : 1;
      factor[side] = (call_.p.normalize ? rescale / sum : 1) * call_.out_scale;
      const Index query = Index{work_.tile} * Shape::kRows + group_ * 64 + row_ + 8 * side;
      if (query < call_.p.d.queries && thread_ % 4 == 0) {
        call_.lse[(work_.b * call_.p.d.q_heads + work_.h) * call_.p.d.queries + query] =
            max == -kInfinity ? -kInfinity : max + logf(sum);
      }
    }
    int row = group_ * 64 + row_, pair = thread_ % 4 * 2;
    // Computes addresses here, so that the loop over tiles need not keep them in registers.
    asm volatile("" : "+r"(row), "+r"(pair));
#pragma unroll
    for (int i = 0; i < kValueDim / 2; i += 2) {
      const int side = i / 2 % 2;
      *out_at(row + 8 * side, i / 4, pair) =
          rounded_pair<T>(sums_[i] * factor[side], sums_[i + 1] * factor[side]);
    }
    if (!seen[0]) fill_unseen(row);
    if (!seen[1]) fill_unseen(row + 8);
    fence_shared_writes();
    sync(kGroupOfFirst + group_, 128);
    if (thread_ == 0) store();
  }
  /// Where column 8 * eight + pair of a row goes, and the next one, in the memory that held the
  /// queries.
  __device__ __forceinline__ std::uint32_t* out_at(int row, int eight, int pair) {
    unsigned char* const panel = memory_.query[at_query_.slot][eight / 8];
    return reinterpret_cast<std::uint32_t*>(panel + swizzled(row, eight % 8 * 8) + pair * 2);
  }
  __device__ void fill_unseen(int row) {
    const int pair = thread_ % 4 * 2;
#pragma unroll 1
    for (int eight = 0; eight < kValueDim / 8; ++eight) {
      const int column = eight * 8 + pair;
      *out_at(row, eight, pair) = rounded_pair<T>(unseen_row(column), unseen_row(column + 1));
    }
  }
  /// Element `column` of the result of a row that sees no key.
  __device__ __forceinline__ float unseen_row(int column) const {
    if (call_.p.sink_count > 0 || call_.p.empty_row == EmptyRow::kZero) return 0;
    if (call_.p.empty_row == EmptyRow::kNan) return nanf("");
    const Index head = work_.b * call_.p.d.kv_heads + work_.h / call_.p.d.group();
    return column < call_.p.d.value_dim ? call_.means[head * call_.p.d.value_dim + column] : 0;
  }
  __device__ __forceinline__ void store() {
    for (int i = 0; i * kPanel < call_.p.d.value_dim; ++i) {
      store_box(memory_.query[at_query_.slot][i] + group_ * 64 * kPanelRowBytes, call_.out,
                {i * kPanel, work_.tile * Shape::kRows + group_ * 64, work_.h, work_.b});
    }
    commit_stores();
    wait_for_stores<0>();
    memory_.query_empty[at_query_.slot].arrive();
  }

  const ForwardCall& call_;
  Memory& memory_;
  const int group_, thread_, row_;
  const float to_exponent_;  // factor that turns a score into an exponent of two
  Turn<Shape::kTilesOfQueries> at_query_;
  Turn<Shape::kStages> at_, at_value_;
  Work work_;
  int number_ = 0;  // number of the current tile of keys
  bool is_last_ = false, has_unseen_ = false, needs_rescale_ = false;
  float sums_[kValueDim / 2], max_[2], total_[2];
};

}  // namespace maskctl::attention::cuda::hopper
