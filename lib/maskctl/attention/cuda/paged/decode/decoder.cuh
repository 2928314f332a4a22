// The block of threads that decodes over pages.
#pragma once

#include "maskctl/attention/cuda/hopper/kernel.cuh"
#include "maskctl/attention/cuda/paged/decode/loader.cuh"
#include "maskctl/attention/cuda/paged/decode/parts.cuh"
#include "maskctl/attention/cuda/warp_mma.cuh"

namespace maskctl::attention::cuda {

/// A block of threads that computes the attention of query heads which share one key head. The work
/// is divided among gangs of blocks (see decode_line.cuh); a block goes through the rows in the
/// share of its gang. In each step every warp processes keys of its own, which it has prefetched
/// into its ring of slots in shared memory, and waits for no other warp until a row ends. A vector
/// is one query head of a row. The vectors of a row, or of a tile of neighbouring rows, are the
/// columns of two matrix products:
///
///     logits [keys x vectors] = keys [keys x D] queries [D x vectors]
///     sums   [D x vectors]   += values' [D x keys] weights [keys x vectors]
///
/// At the end of a row the warps' sums are merged. If a row is in the shares of several gangs, each
/// gang stores a partial result in memory, and the last one merges them in the order of the keys.
template <class Shape>
class Decoder {
 public:
  using T = typename Shape::Element;

  __device__ Decoder(const DecodeCall& c, const DecodeShare& share, int gang, int block)
      : c_(c),
        share_(share),
        gang_(gang),
        block_(block),
        head_(block / c.pieces),
        first_head_(static_cast<int>(head_ * c.p.group) + block % c.pieces * Shape::kVectors),
        heads_(least(static_cast<int>((head_ + 1) * c.p.group) - first_head_, Shape::kVectors)),
        parts_(reinterpret_cast<float*>(dynamic_shared() + Shape::kRingBytes)),
        ring_(shared_address(dynamic_shared()) + warp_ * Shape::kSlots * Shape::kSlotBytes),
        slot_(ring_),
        loader_(c, share, head_, warp_, ring_) {}

  __device__ void run() {
    fill();
    DecodeWay<Shape> way(c_, share_, warp_);
    read_queries(way.row(), way.number());
    while (!way.has_ended()) {
      const DecodeRow row = way.row();
      const Index number = way.number();
      clear_sums();
      for (int left = way.steps_here(); left > 0; --left) {
        const int keys = row.end - way.key();
        const std::uint32_t key_slot = next_slot<Shape::kSlots % 2 == 0>();
        if (keys > 0) score(key_slot, row, way.key());
        const std::uint32_t value_slot = next_slot<Shape::kSlots % 2 == 1>();
        if (keys > 0) add_values(value_slot, row, way.key());
        way.next();
      }
      if (!way.has_ended())
        read_queries(way.row(), way.number());  // they load while the warps' sums are merged
      end_row(row, number);
    }
  }

 private:
  static constexpr int kDepths = Shape::kDim / 16, kRows = Shape::kKeys / 16;

  __device__ static int least(int a, int b) { return a < b ? a : b; }

  /// Starts to load all slots of the ring but the last.
  __device__ void fill() {
#pragma unroll
    for (int n = 0; n + 1 < Shape::kSlots; n += 2) {
      loader_.template load<false>();
      if (n + 2 < Shape::kSlots) loader_.template load<true>();
    }
  }
  /// Waits until the next slot of the ring is loaded and returns its address. Starts to load later
  /// keys or values into the slot before that one, which is no longer in use.
  template <bool kLoadsValues>
  __device__ std::uint32_t next_slot() {
    await_copies<Shape::kSlots - 2>();
    __syncwarp();
    loader_.template load<kLoadsValues>();
    const std::uint32_t slot = slot_;
    slot_ += Shape::kSlotBytes;
    if (slot_ == ring_ + Shape::kSlots * Shape::kSlotBytes) slot_ = ring_;
    return slot;
  }

  // Vector v of a tile is query head v % heads_ of row v / heads_ of this tile.
  __device__ int row_of(int vector) const { return Shape::kHasManyRows ? vector / heads_ : 0; }
  __device__ int vectors_of(const DecodeRow& row) const {
    return Shape::kHasManyRows ? row.count * heads_ : heads_;
  }
  /// The index, in the queries and in the results, of the first element of a vector.
  __device__ Index element_of(Index number, int vector) const {
    const int row = row_of(vector);
    return ((number + row) * c_.p.q_heads + first_head_ + vector - row * heads_) * c_.p.dim;
  }
  /// The keys that a row of a tile sees.
  __device__ int2 seen(const DecodeRow& tile, int row) const {
    const int end = tile.end - (tile.count - 1 - row);
    const Index first = end - 1 - c_.p.left;
    return {first > tile.begin ? static_cast<int>(first) : tile.begin, end};
  }
  /// Whether all rows of a tile see all keys of the warp's step.
  __device__ bool is_whole(const DecodeRow& tile, int key) const {
    if (!Shape::kHasManyRows) return key + Shape::kKeys <= tile.end;
    return key + Shape::kKeys <= seen(tile, 0).y && key >= seen(tile, tile.count - 1).x;
  }

  __device__ void read_queries(const DecodeRow& row, Index number) {
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      const int vector = tile * 8 + lane_ / 4, column = lane_ % 4 * 2;
      const T* const query =
          static_cast<const T*>(c_.p.queries.data) + element_of(number, vector) + column;
#pragma unroll
      for (int n = 0; n < kDepths * 2; ++n) {
        const bool exists = vector < vectors_of(row) && n * 8 < c_.p.dim;
        queries_[tile][n / 2][n % 2] =
            exists ? *reinterpret_cast<const std::uint32_t*>(query + n * 8) : 0;
      }
    }
  }
  __device__ void clear_sums() {
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
#pragma unroll
      for (int n = 0; n < kDepths; ++n) {
#pragma unroll
        for (float& sum : sums_[tile][n]) sum = 0;
      }
#pragma unroll
      for (int i = 0; i < 2; ++i) top_[tile][i] = kNothing, total_[tile][i] = 0;
    }
  }

  /// Turns the dot product of a query and a key into a logit, and multiplies that by log2(e), so
  /// that exp2 gives its exponential.
  __device__ float logit(float dot) const {
    if (c_.p.soft_cap == 0) return dot * (c_.p.scale * hopper::kLog2E);
    return c_.p.soft_cap * hopper::kLog2E * tanhf(dot * c_.p.scale / c_.p.soft_cap);
  }

  /// Computes the softmax weights of the warp's keys of this step, which begin with key `first`.
  __device__ void score(std::uint32_t slot, const DecodeRow& row, int first) {
    float z[kRows][Shape::kTiles][4] = {};
    const std::uint32_t place = slot + (lane_ & 15) * Shape::kRowBytes;
    const std::uint32_t unit = ((lane_ / 16) ^ (lane_ & 7)) * kUnitBytes;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int n = 0; n < kDepths; ++n) {
        std::uint32_t key[4];
        load_matrices<false>(key,
                             place + r * 16 * Shape::kRowBytes + (unit ^ (n * 2 * kUnitBytes)));
#pragma unroll
        for (int tile = 0; tile < Shape::kTiles; ++tile) {
          multiply<T>(z[r][tile], key, queries_[tile][n]);
        }
      }
    }
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
      close_unseen(z, tile, row, first);
      raise_tops(z, tile);
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          float weight[2];
#pragma unroll
          for (int i = 0; i < 2; ++i) {
            const float shift = top_[tile][i] == kNothing ? 0 : top_[tile][i];
            weight[i] = hopper::exp2_approximate(z[r][tile][half * 2 + i] - shift);
            total_[tile][i] += weight[i];
          }
          weights_[r][tile][half] = transposed(rounded_pair<T>(weight[0], weight[1]));
        }
      }
    }
  }

  /// Turns the dot products z into logits, which are -inf for keys that a vector does not see.
  __device__ void close_unseen(float (&z)[kRows][Shape::kTiles][4], int tile, const DecodeRow& row,
                               int first) const {
    const bool are_open = is_whole(row, first);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      const int2 keys = Shape::kHasManyRows ? seen(row, row_of(tile * 8 + lane_ % 4 * 2 + i))
                                            : int2{row.begin, row.end};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int key = first + r * 16 + half * 8 + lane_ / 4;
          const bool is_open = are_open || (key >= keys.x && key < keys.y);
          float& logit_of_key = z[r][tile][half * 2 + i];
          logit_of_key = is_open ? logit(logit_of_key) : kNothing;
        }
      }
    }
  }

  /// Updates the running maxima of the lane's vectors with new logits, and rescales the sums.
  __device__ void raise_tops(const float (&z)[kRows][Shape::kTiles][4], int tile) {
    float factor[2];
    bool has_grown = false;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      float top = top_[tile][i];
#pragma unroll
      for (int r = 0; r < kRows; ++r) top = fmaxf(top, fmaxf(z[r][tile][i], z[r][tile][i + 2]));
#pragma unroll
      for (int bit = 4; bit < 32; bit *= 2) top = fmaxf(top, __shfl_xor_sync(~0u, top, bit));
      has_grown |= top > top_[tile][i];
      factor[i] = hopper::exp2_approximate(__fsub_rn(top_[tile][i], top == kNothing ? 0 : top));
      top_[tile][i] = top;
    }
    if (!__any_sync(~0u, has_grown)) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      total_[tile][i] *= factor[i];
#pragma unroll
      for (int n = 0; n < kDepths; ++n) {
        sums_[tile][n][i] *= factor[i], sums_[tile][n][i + 2] *= factor[i];
      }
    }
  }

  __device__ void add_values(std::uint32_t slot, const DecodeRow& row, int first) {
    if constexpr (Shape::kHasManyRows) {
      if (!is_whole(row, first)) {
        for (int n = 0; n < row.count; ++n) add_seen_values(slot, n, seen(row, n), first);
        return;
      }
    }
    each_value(slot, [&](int r, int n, const std::uint32_t(&value)[4]) {
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile) {
        multiply<T>(sums_[tile][n], value, weights_[r][tile]);
      }
    });
  }
  /// Adds to the vectors of one row only the values of keys that the row sees: others may be NaN,
  /// which weight 0 would not remove.
  __device__ void add_seen_values(std::uint32_t slot, int row, int2 keys, int first) {
    std::uint32_t mask[kRows][2];
    bool are_own[Shape::kTiles][2];
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int key = first + r * 16 + half * 8 + lane_ % 4 * 2;
        mask[r][half] = (key >= keys.x && key < keys.y ? 0xffffu : 0) |
                        (key + 1 >= keys.x && key + 1 < keys.y ? 0xffff0000u : 0);
      }
    }
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        are_own[tile][i] = row_of(tile * 8 + lane_ % 4 * 2 + i) == row;
      }
    }
    each_value(slot, [&](int r, int n, std::uint32_t(&value)[4]) {
#pragma unroll
      for (int i = 0; i < 4; ++i) value[i] &= mask[r][i / 2];
#pragma unroll
      for (int tile = 0; tile < Shape::kTiles; ++tile) {
        float sums[4] = {};
        multiply<T>(sums, value, weights_[r][tile]);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (are_own[tile][i % 2]) sums_[tile][n][i] += sums[i];
        }
      }
    });
  }
  /// Calls f(r, n, value) for each 16 x 16 matrix of values: the values of keys 16 r to 16 r + 15,
  /// in dimensions 16 n to 16 n + 15.
  template <class F>
  __device__ void each_value(std::uint32_t slot, F&& f) const {
    const std::uint32_t place = slot + ((lane_ & 7) + lane_ / 16 * 8) * Shape::kRowBytes;
    const std::uint32_t unit = ((lane_ / 8 & 1) ^ (lane_ & 7)) * kUnitBytes;
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int n = 0; n < kDepths; ++n) {
        std::uint32_t value[4];
        load_matrices<true>(value,
                            place + r * 16 * Shape::kRowBytes + (unit ^ (n * 2 * kUnitBytes)));
        f(r, n, value);
      }
    }
  }

  __device__ void end_row(const DecodeRow& row, Index number) {
    __syncthreads();  // wait until the previous row is merged
    store_sums();
    __syncthreads();
    const Index end = row.first_step + c_.cut.steps(row);
    const bool is_whole = row.first_step >= share_.begin && end <= share_.end;
    float* const part = part_of(gang_, row.first_step >= share_.begin);
    for (int v = warp_; v < vectors_of(row); v += Shape::kWarps) {
      const MergedVector<Shape> merged(Shape::kWarps, [&](int warp) {
        return parts_ + warp * Shape::kPartFloats + v * Shape::kPartRow;
      });
      if (is_whole) {
        write(row, number, v, merged);
      } else {
        merged.store(part + v * Shape::kPartRow);
      }
    }
    if (!is_whole) merge_gangs(row, number, end);
  }

  /// Writes the warp's sums to shared memory.
  __device__ void store_sums() {
    float* const part = parts_ + warp_ * Shape::kPartFloats;
#pragma unroll
    for (int tile = 0; tile < Shape::kTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        float* const vector = part + (tile * 8 + lane_ % 4 * 2 + i) * Shape::kPartRow;
        float total = total_[tile][i];
#pragma unroll
        for (int bit = 4; bit < 32; bit *= 2) total += __shfl_xor_sync(~0u, total, bit);
        if (lane_ < 4) vector[Shape::kDim] = top_[tile][i], vector[Shape::kDim + 1] = total;
#pragma unroll
        for (int n = 0; n < kDepths; ++n) {
          vector[n * 16 + lane_ / 4] = sums_[tile][n][i];
          vector[n * 16 + lane_ / 4 + 8] = sums_[tile][n][i + 2];
        }
      }
    }
  }

  /// Where a gang stores its partial result of a row. `begins`: the row begins inside the gang's
  /// share; otherwise it began in an earlier share.
  __device__ float* part_of(Index gang, bool begins) const {
    return c_.parts + ((gang * 2 + begins) * c_.cut.blocks + block_) * Shape::kPartFloats;
  }

  /// Merges the partial results of all gangs of a row if this block is the last to store its own.
  __device__ void merge_gangs(const DecodeRow& row, Index number, Index end) {
    const Index line = c_.line.rows[c_.p.rows].first_step, sharers = c_.cut.sharers(line);
    const Index first = gang_of(line, sharers, row.first_step);
    const int parts = static_cast<int>(gang_of(line, sharers, end - 1) - first) + 1;
    int* const is_last = reinterpret_cast<int*>(parts_ + Shape::kDim + 2);
    __syncthreads();
    if (threadIdx.x == 0) {
      int* const arrivals = c_.arrivals + first * c_.cut.blocks + block_;
      __threadfence();
      *is_last = atomicAdd(arrivals, 1) == parts - 1;
      if (*is_last) *arrivals = 0;
    }
    __syncthreads();
    if (!*is_last) return;
    __threadfence();
    for (int v = warp_; v < vectors_of(row); v += Shape::kWarps) {
      write(row, number, v, MergedVector<Shape>(parts, [&](int n) {
              return part_of(first + n, n == 0) + v * Shape::kPartRow;
            }));
    }
  }

  __device__ void write(const DecodeRow& row, Index number, int vector,
                        const MergedVector<Shape>& merged) const {
    const int q_head = first_head_ + vector - row_of(vector) * heads_;
    const float factor = c_.p.to_result(q_head, merged.top * hopper::kLn2, merged.sum);
    const bool sees = row.begin < row.end, is_bad = row.table == DecodeRow::kBadTable;
    const Index to = element_of(number, vector);
    constexpr int kWide = MergedVector<Shape>::kWide;
#pragma unroll
    for (int i = 0; i < MergedVector<Shape>::kMany; ++i) {
#pragma unroll
      for (int n = 0; n < kWide; ++n) {
        const int x = (i * 32 + lane_) * kWide + n;
        const float value = sees ? merged.value[i].x[n] * factor : 0;
        if (x < c_.p.dim) put(c_.out, to + x, is_bad ? nanf("") : value);
      }
    }
  }

  const DecodeCall& c_;
  const DecodeShare& share_;
  const int gang_, block_, head_;
  const int first_head_, heads_;  // the query heads of the block
  const int lane_ = static_cast<int>(threadIdx.x) % 32, warp_ = static_cast<int>(threadIdx.x) / 32;
  float* const parts_;  // partial results in shared memory: [warps, vectors]
  const std::uint32_t ring_;
  std::uint32_t slot_;
  DecodeLoader<Shape> loader_;
  std::uint32_t queries_[Shape::kTiles][kDepths][2];
  std::uint32_t weights_[kRows][Shape::kTiles][2];
  float sums_[Shape::kTiles][kDepths][4];
  // running maxima of the warp's logits; sums of the weights of the lane's keys
  float top_[Shape::kTiles][2], total_[Shape::kTiles][2];
};

}  // namespace maskctl::attention::cuda
