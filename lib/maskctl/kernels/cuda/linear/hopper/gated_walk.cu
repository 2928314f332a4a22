#include "maskctl/kernels/cuda/linear/hopper/gated_walk.h"
#include "maskctl/kernels/cuda/linear/hopper/state.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

struct GatedWalkCall {
  ChunkedCall chunked;
  Index interval_tokens, intervals;
};

template <int kFrom>
struct GatedWalkMemory {
  static constexpr int kPanels = kFrom / kPanel;
  unsigned char read[kPanels * kPanelBytes], write[kPanels * kPanelBytes];
  unsigned char write_y[2][kPanelBytes], decayed_y[kPanelBytes];
  // Right factors in two parts (split_pair): the state before the chunk, then two tiles of levels.
  unsigned char high[2 * kPanelBytes], low[2 * kPanelBytes];
  // logs[t] is the sum of log2 decays over the first t steps of the chunk; padding avoids bank
  // conflicts.
  float logs[kChunk + 1][kColumns + 8];
  float head_logs[kChunk];  // log2 decays of the head at the steps of the next chunk
  float sums[4][kColumns];  // partial sums of each warp
  BadSteps bad;
};

/// Like ChunkedWalk, but with a decay L_t[y] for each channel y of `to`:
///   before_t = L_t * (read_t * state + sum over s < t of S_ts / L_s * write_y_s),
///   S = read * write'.
/// The sum over s is computed by the levels of gated_chunks.cu: in each block of 2 h steps, rows
/// write_y_s of the lower half are decayed up to the middle step, and added for steps t of the
/// upper half to what comes from before the block, decayed up to the middle step as well.
///
/// The gradient of a gate is a sum over later steps. Most of what a forward walk adds to it, a
/// backward walk takes away, exactly so only if neither has rounded its factors. So every factor
/// that is no element of an array is multiplied in two parts of 16 bits; only products of two low
/// parts are left out.
template <class T, int kFrom>
class GatedWalk {
 public:
  using Memory = GatedWalkMemory<kFrom>;

  __device__ __forceinline__ GatedWalk(const GatedWalkCall& call, Memory& memory)
      : gated_call_(call),
        call_(call.chunked),
        part_(ChunkedPart::of_block(call_)),
        memory_(memory),
        thread_(static_cast<int>(threadIdx.x)),
        row_(fragment_row(thread_, 0)),
        column_(fragment_column(thread_, 0)),
        state_(call_, part_) {}

  __device__ __forceinline__ void run() {
    const LinearWalk& w = call_.walk;
    const Index length = part_.run.length;
    Chunk chunk = linear::first_chunk(length, kChunk, w.backwards);
    memory_.bad.clear();
    float logs[kLogs];
    if (chunk.count > 0) {
      load_rows_of(chunk);
      load_y(chunk, 0);
      __pipeline_commit();
      find_logs(chunk, logs);
      __syncthreads();
      store_logs(logs);
    }
    if (thread_ < kColumns) memory_.logs[0][thread_] = 0;
    for (int stage = 0; chunk.count > 0; stage ^= 1) {
      const Chunk next = linear::next_chunk(chunk, length, kChunk);
      state_.store_parts(memory_.high, memory_.low);
      __pipeline_wait_prior(0);
      fence_shared_writes();
      __syncthreads();
      if (w.backwards) multiply_states(chunk);
      take(chunk, next, stage);
      if (!w.backwards) store_boundary(chunk);
      chunk = next;
    }
    if (!w.last.data) return;
    if (w.backwards && length > 0) decay_by_first_token();
    state_.store(part_.sequence, w.last);
  }

 private:
  static constexpr int kLogs = kChunk * kColumns / kThreads;  // log decays that a thread sums

  __device__ __forceinline__ void load_rows_of(const Chunk& chunk) {
    const LinearWalk& w = call_.walk;
    const LinearRows &read = w.backwards ? w.from.forward : w.from.backward,
                     &write = w.backwards ? w.from.backward : w.from.forward;
    load_rows<Memory::kPanels>(memory_.read, ChunkRows<T>(call_, part_, chunk, read, 0));
    load_rows<Memory::kPanels>(memory_.write, ChunkRows<T>(call_, part_, chunk, write, 0));
  }
  __device__ __forceinline__ void load_y(const Chunk& chunk, int n) {
    const LinearWalk& w = call_.walk;
    const LinearRows& rows = w.backwards ? w.to.backward : w.to.forward;
    load_rows<1>(memory_.write_y[n], ChunkRows<T>(call_, part_, chunk, rows, part_.first_y));
  }

  // Two threads share a channel's log decays: each sums half of the chunk's steps.
  __device__ __forceinline__ int log_channel() const { return thread_ % kColumns; }
  __device__ __forceinline__ int first_log() const { return thread_ / kColumns * kLogs; }
  /// Reads the log decays of the thread's channel and steps into `logs`, and those of the whole
  /// head into shared memory.
  __device__ __forceinline__ void find_logs(const Chunk& chunk, float (&logs)[kLogs]) {
#pragma unroll
    for (float& log : logs) log = 0;
    add_logs(call_, part_, chunk, call_.walk.to, part_.first_y + log_channel(), first_log(), logs);
    if (thread_ < kChunk) memory_.head_logs[thread_] = head_log(call_, part_, chunk, thread_);
  }
  /// Stores in memory_.logs the prefix sums of the log decays over the whole chunk. All threads
  /// must call this, after their last read of the previous chunk's sums.
  __device__ __forceinline__ void store_logs(float (&logs)[kLogs]) {
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kLogs; ++i) {
      sum += memory_.head_logs[first_log() + i] + bounded_log(logs[i]);
      logs[i] = sum;
    }
    if (first_log() == 0) memory_.sums[0][log_channel()] = sum;
    __syncthreads();
    const float before = first_log() == 0 ? 0 : memory_.sums[0][log_channel()];
#pragma unroll
    for (int i = 0; i < kLogs; ++i) {
      memory_.logs[first_log() + i + 1][log_channel()] = before + logs[i];
    }
  }

  /// Computes one chunk, whose rows along `to` are in buffer n, and starts to load the next one.
  __device__ __forceinline__ void take(const Chunk& chunk, const Chunk& next, int n) {
    unsigned char* const write_y = memory_.write_y[n];
    unsigned char* const low_y = memory_.write_y[n ^ 1];  // free until the next chunk is loaded
    float scores[kChunk / 2], out[kColumns / 2];
    wgmma_fence();
    multiply_rows<T, kFrom>(memory_.read, memory_.write, scores);
    wgmma_commit();
    state_.multiply(memory_.read, memory_.high, out);
    state_.multiply(memory_.read, memory_.low, out, true);
    wgmma_commit();
    decay_y(write_y, low_y);
    fence_shared_writes();
    wgmma_wait<0>();
    pin(scores);
    pin(out);
    float own[2];
    ScoreParts parts;
    split_scores(scores, own, parts);
    __syncthreads();  // decayed_y is written, and all warps have multiplied with the old state
    const bool has_bad = memory_.bad.any != 0;
    decay_state(memory_.logs[kChunk]);
    state_.pin_cells();
    wgmma_fence();
    state_.add(memory_.write, memory_.decayed_y);
    state_.add(memory_.write, low_y);
    wgmma_commit();
    decay_halves(kChunk / 2, write_y);
    fence_shared_writes();
    wgmma_wait<0>();
    state_.pin_cells();
    __syncthreads();
    if (next.count > 0) load_rows_of(next), load_y(next, n ^ 1);
    __pipeline_commit();
    add_levels(write_y, parts, out);
    float next_logs[kLogs];
    find_logs(next, next_logs);
    write(chunk, write_y, own, out, has_bad);
    __syncthreads();
    if (has_bad) memory_.bad.clear();
    store_logs(next_logs);
  }

  /// A thread's scores, as left factors in two parts (split_pair).
  struct ScoreParts {
    std::uint32_t high[kChunk / 4], low[kChunk / 4];
  };
  /// Splits the scaled scores below the diagonal into `parts`; `own` gets the diagonal scores of
  /// the two steps whose rows this thread holds.
  __device__ __forceinline__ void split_scores(float (&scores)[kChunk / 2], float (&own)[2],
                                               ScoreParts& parts) const {
    own[0] = own[1] = 0;
#pragma unroll
    for (int i = 0; i < kChunk / 2; ++i) {
      const int side = i / 2 % 2, row = row_ + 8 * side, column = column_ + i / 4 * 8 + i % 2;
      scores[i] *= call_.walk.write_scale;
      if (row == column) own[side] = scores[i];
      if (row <= column) scores[i] = 0;
    }
#pragma unroll
    for (float& sum : own) sum = sum_of_lanes<4>(sum);
    split_fragment<T>(scores, parts.high, parts.low);
  }

  /// Where the tile of level h = half begins in Memory::high and Memory::low.
  __device__ __forceinline__ static int tile_of(int half) {
    return tile_of_level(half) * kPanelBytes;
  }
  /// Adds to each step's result the contributions of earlier steps of the chunk, level by level: at
  /// level h, those of steps s to steps t where h is the highest bit of t ^ s. Before,
  /// decay_halves(kChunk / 2) must have run, and `out` is decayed up to the start of the chunk;
  /// afterwards it is decayed up to each row's step.
  __device__ __forceinline__ void add_levels(const unsigned char* write_y, const ScoreParts& scores,
                                             float (&out)[kColumns / 2]) {
#pragma unroll 1
    for (int half = kChunk / 2; half > 0; half /= 2) {
      ScoreParts weights = picked(half, scores);
      const unsigned char* const high = memory_.high + tile_of(half);
      const unsigned char* const low = memory_.low + tile_of(half);
      decay_to_middle(half, out);
      pin(out), pin(weights.high), pin(weights.low);
      wgmma_fence();
      multiply_y<T>(weights.high, high, out, true);
      multiply_y<T>(weights.high, low, out, true);
      multiply_y<T>(weights.low, high, out, true);
      wgmma_commit();
      if (half > 1) decay_halves(half / 2, write_y);
      fence_shared_writes();
      wgmma_wait<0>();
      pin(out);
      __syncthreads();
    }
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      decay_row(side, row_ + 8 * side, row_ + 8 * side + 1, out);
    }
  }
  /// The scores of level h = half, which are those of pairs of steps (t, s) where h is the highest
  /// bit of t ^ s; all other scores are 0.
  __device__ __forceinline__ ScoreParts picked(int half, const ScoreParts& scores) const {
    // A pair of steps belongs to level h if t ^ s ^ h < h. For h > 1 both steps s of a pair of
    // elements do, or neither; at level 1 the second one may be t itself, whose score is 0 here.
    const int first = fragment_row(thread_here(), 0) ^ column_ ^ half;
    ScoreParts level;
#pragma unroll
    for (int i = 0; i < kChunk / 4; ++i) {
      const bool is_here = ((first ^ i % 2 * 8 ^ i / 2 * 8) & -half) == 0;
      level.high[i] = is_here ? scores.high[i] : 0;
      level.low[i] = is_here ? scores.low[i] : 0;
    }
    return level;
  }
  /// Fills the tile of level h = half in shared memory. In each block of 2 h steps, rows of the
  /// first half are those of write_y, decayed up to the middle step; rows of the second half are 0.
  __device__ __forceinline__ void decay_halves(int half, const unsigned char* write_y) {
    const int tile = tile_of(half);
#pragma unroll
    for (int i = 0; i < kPanelBytes / 32 / kThreads; ++i) {
      const int piece = thread_here() + i * kThreads, column = piece % 8 * 8;
      // number of a pair of steps (step, step + half) in one block of 2 * half steps
      const int pair = piece / 8;
      const int step = 2 * (pair & -half) + (pair & (half - 1));
      const int middle = (step & -2 * half) + half;
      const int at = swizzled(step, column), zeros = tile + swizzled(step + half, column);
      store_decayed(write_y + at, 1, memory_.logs[middle], memory_.logs[step + 1], column,
                    memory_.high + tile + at, memory_.low + tile + at);
      *reinterpret_cast<uint4*>(memory_.high + zeros) = make_uint4(0, 0, 0, 0);
      *reinterpret_cast<uint4*>(memory_.low + zeros) = make_uint4(0, 0, 0, 0);
    }
  }
  /// decayed_y + low_y = scaled write_y times the decay from its step to the end of the chunk.
  /// Elements of write_y that are not finite become 0 and are noted in memory_.bad.
  __device__ __forceinline__ void decay_y(unsigned char* write_y, unsigned char* low_y) {
    each_piece([&](int step, int column) {
      const int at = swizzled(step, column);
      store_decayed(write_y + at, call_.walk.write_scale, memory_.logs[kChunk],
                    memory_.logs[step + 1], column, memory_.decayed_y + at, low_y + at);
      uint4* const here = reinterpret_cast<uint4*>(write_y + at);
      uint4 x = *here;
      if (memory_.bad.template replace<T>(step, column, x)) *here = x;
    });
  }
  /// Calls f(step, first column) for each piece of 8 elements that belongs to this thread.
  template <class F>
  __device__ __forceinline__ void each_piece(F f) const {
#pragma unroll
    for (int i = 0; i < kPanelBytes / 16 / kThreads; ++i) {
      const int piece = thread_here() + i * kThreads;
      f(piece / 8, piece % 8 * 8);
    }
  }
  /// Stores eight elements in two parts, times `scale` and their channels' decays between two steps
  /// whose rows of summed logs are given.
  __device__ __forceinline__ static void store_decayed(const unsigned char* from, float scale,
                                                       const float* until, const float* since,
                                                       int column, unsigned char* to_high,
                                                       unsigned char* to_low) {
    const uint4 x = *reinterpret_cast<const uint4*>(from);
    uint4 high, low;
    const float4 end[2] = {*reinterpret_cast<const float4*>(until + column),
                           *reinterpret_cast<const float4*>(until + column + 4)};
    const float4 begin[2] = {*reinterpret_cast<const float4*>(since + column),
                             *reinterpret_cast<const float4*>(since + column + 4)};
    split_decayed<T>(x.x, scale, end[0].x - begin[0].x, end[0].y - begin[0].y, high.x, low.x);
    split_decayed<T>(x.y, scale, end[0].z - begin[0].z, end[0].w - begin[0].w, high.y, low.y);
    split_decayed<T>(x.z, scale, end[1].x - begin[1].x, end[1].y - begin[1].y, high.z, low.z);
    split_decayed<T>(x.w, scale, end[1].z - begin[1].z, end[1].w - begin[1].w, high.w, low.w);
    *reinterpret_cast<uint4*>(to_high) = high;
    *reinterpret_cast<uint4*>(to_low) = low;
  }

  /// Decays the rows of `out` in the upper halves of blocks of 2 * half steps from the start of
  /// their block, up to which higher levels have decayed them, to its middle step.
  __device__ __forceinline__ void decay_to_middle(int half, float (&out)[kColumns / 2]) const {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int row = row_ + 8 * side, begin = row & -2 * half;
      if ((row & half) != 0) decay_row(side, begin, begin + half, out);
    }
  }
  /// Multiplies one of the thread's two rows of `out` by the decays of steps `begin` to `end` - 1.
  __device__ __forceinline__ void decay_row(int side, int begin, int end,
                                            float (&out)[kColumns / 2]) const {
#pragma unroll
    for (int j = 0; j < kColumns / 8; ++j) {
      const int column = column_ + 8 * j;
      const float2 until = *reinterpret_cast<const float2*>(memory_.logs[end] + column);
      const float2 since = *reinterpret_cast<const float2*>(memory_.logs[begin] + column);
      out[4 * j + 2 * side] *= exp2_approximate(until.x - since.x);
      out[4 * j + 2 * side + 1] *= exp2_approximate(until.y - since.y);
    }
  }
  /// Multiplies each column of the state by 2^logs[column].
  __device__ __forceinline__ void decay_state(const float* logs) {
    float factors[kColumns / 4];
#pragma unroll
    for (int i = 0; i < kColumns / 4; ++i) {
      factors[i] = exp2_approximate(logs[column_ + i / 2 * 8 + i % 2]);
    }
    state_.scale_columns(factors);
  }
  __device__ __forceinline__ void decay_by_first_token() {
    const float of_head = head_log(call_, part_, {{-1, 0}, true, 1}, 0);
    float factors[kColumns / 4];
#pragma unroll
    for (int i = 0; i < kColumns / 4; ++i) {
      const Index y = part_.first_y + column_ + i / 2 * 8 + i % 2;
      float log = 0;
      if (y < call_.walk.to.width) {
        log = bounded_log(log_decay(call_.walk.to, part_.run.first, part_.head, y));
      }
      factors[i] = exp2_approximate(of_head + log);
    }
    state_.scale_columns(factors);
  }

  /// Writes the results of a chunk. On entry `out` lacks each step's contribution to itself;
  /// w.before is written without it, w.out with it.
  __device__ __forceinline__ void write(const Chunk& chunk, const unsigned char* write_y,
                                        const float (&own)[2], float (&out)[kColumns / 2],
                                        bool has_bad) {
    const LinearWalk& w = call_.walk;
    const ChunkResults results(call_, part_, chunk);
#pragma unroll
    for (float& x : out) x *= w.out_scale;
    if (has_bad) memory_.bad.spread(out, 1);
    if (w.before) results.write(w.before, out);
    if (!w.out.data) return;
    add_own(write_y, own, out);
    if (has_bad) memory_.bad.spread(out, 0);
    results.template write<T>(w.out, memory_.decayed_y, out);
  }
  __device__ __forceinline__ void add_own(const unsigned char* write_y, const float (&own)[2],
                                          float (&out)[kColumns / 2]) const {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const float factor = call_.walk.out_scale * own[side];
#pragma unroll
      for (int j = 0; j < kColumns / 8; ++j) {
        const std::uint32_t pair = *reinterpret_cast<const std::uint32_t*>(
            write_y + swizzled(row_ + 8 * side, column_ + 8 * j));
        out[4 * j + 2 * side] += factor * element_of_pair<T>(pair, 0);
        out[4 * j + 2 * side + 1] += factor * element_of_pair<T>(pair, 1);
      }
    }
  }

  /// Whether the chunk is the last one of an interval (tokens between two saved states), but not of
  /// the last interval of the sequence.
  __device__ __forceinline__ bool ends_interval(const Chunk& chunk) const {
    const Index end = chunk.times.end;
    return end % gated_call_.interval_tokens == 0 && end < part_.run.length;
  }
  __device__ __forceinline__ void store_boundary(const Chunk& chunk) {
    if (!call_.walk.boundary_states || !ends_interval(chunk)) return;
    state_.store(part_.run.first_boundary + chunk.times.end / gated_call_.interval_tokens - 1,
                 {call_.walk.boundary_states, DType::kFloat32});
  }
  /// Writes LinearWalk::products for the interval (tokens between two saved states) that ends with
  /// this chunk, if there is one. Backward walks call this before they process the chunk.
  __device__ __forceinline__ void multiply_states(const Chunk& chunk) {
    const LinearWalk& w = call_.walk;
    const Index end = chunk.times.end;
    const bool is_last = end == part_.run.length;
    if (!w.products || !(is_last ? w.last_states != nullptr : ends_interval(chunk))) return;
    const float* const states = is_last ? w.last_states : w.boundary_states;
    const Index interval = (end - 1) / gated_call_.interval_tokens;
    float sums[kColumns / 4];
    state_.sum_products(is_last ? part_.sequence : part_.run.first_boundary + interval, states,
                        sums);
#pragma unroll
    for (int i = 0; i < kColumns / 4; ++i) {
      for (int bit = 4; bit < 32; bit *= 2) sums[i] += __shfl_xor_sync(~0u, sums[i], bit);
      if (thread_ % 32 < 4) memory_.sums[thread_ / 32][column_ + i / 2 * 8 + i % 2] = sums[i];
    }
    __syncthreads();
    const Index y = part_.first_y + thread_;
    if (thread_ < kColumns && y < w.to.width) {
      const float sum = memory_.sums[0][thread_] + memory_.sums[1][thread_] +
                        memory_.sums[2][thread_] + memory_.sums[3][thread_];
      const Index row = (part_.run.first_interval + interval) * w.heads + part_.head;
      w.products[row * w.to.width + y] = sum * exp2_approximate(memory_.logs[1][thread_]);
    }
  }

  const GatedWalkCall& gated_call_;
  const ChunkedCall& call_;
  const ChunkedPart part_;
  Memory& memory_;
  const int thread_;
  const int row_, column_;  // row and column of the thread's first fragment element
  ChunkedState<T, kFrom> state_;
};

template <class T, int kFrom>
__global__ void __launch_bounds__(kThreads, 2)
    gated_walk_kernel(const __grid_constant__ GatedWalkCall call) {
  GatedWalk<T, kFrom>(call, block_memory<GatedWalkMemory<kFrom>>()).run();
}

template <class T, int kFrom>
void run(Workspace& workspace, const GatedWalkCall& call, Index blocks) {
  launch("linear walk with gates", gated_walk_kernel<T, kFrom>, static_cast<unsigned>(blocks),
         kThreads, block_bytes<GatedWalkMemory<kFrom>, 2>(), workspace.stream(), call);
}

}  // namespace

void gated_walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  const GatedWalkCall call{chunked_call(plan, walk), plan.interval_tokens, plan.intervals};
  const Index blocks = plan.sequences * walk.heads * call.chunked.slices;
  with_16_bits(walk.from.forward.array.dtype, [&]<class T>(std::type_identity<T>) {
    if (walk.from.width <= 64) return run<T, 64>(workspace, call, blocks);
    run<T, 128>(workspace, call, blocks);
  });
}

}  // namespace maskctl::attention::cuda::hopper
