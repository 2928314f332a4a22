#include "maskctl/attention/cuda/linear/hopper/gated_walk.h"
#include "maskctl/attention/cuda/linear/hopper/state.cuh"

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
  unsigned char write_y[2][kPanelBytes], decayed_y[kPanelBytes], halves[2][kPanelBytes];
  unsigned char state[kFrom * kPanelRowBytes];  // the state before the chunk, rounded to 16 bits
  // log2 decays, summed from the chunk's first step to each step; padding avoids bank conflicts
  float logs[kChunk][kColumns + 8];
  float head_logs[kChunk];  // log2 decays of the head at the steps of the next chunk
  float sums[4][kColumns];  // partial sums of each warp
  BadSteps bad;
};

/// Like ChunkedWalk, but with a decay L_t[y] for each channel y of `to`:
///   before_t = L_t * (read_t * state + sum over s < t of S_ts / L_s * write_y_s),
///   S = read * write'.
/// The sum over s is computed by the levels of gated_chunks.cu: in each block of 2 h steps, rows
/// write_y_s of the lower half are decayed up to the middle step, and their sums for steps t of the
/// upper half are decayed from the middle to t.
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
    for (int stage = 0; chunk.count > 0; stage ^= 1) {
      const Chunk next = linear::next_chunk(chunk, length, kChunk);
      state_.store_operand(memory_.state);
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
    for (int i = 0; i < kLogs; ++i) memory_.logs[first_log() + i][log_channel()] = before + logs[i];
  }

  /// Computes one chunk, whose rows along `to` are in buffer n, and starts to load the next one.
  __device__ __forceinline__ void take(const Chunk& chunk, const Chunk& next, int n) {
    unsigned char* const write_y = memory_.write_y[n];
    float scores[kChunk / 2], out[kColumns / 2];
    wgmma_fence();
    multiply_rows<T, kFrom>(memory_.read, memory_.write, scores);
    wgmma_commit();
    state_.multiply(memory_.read, memory_.state, out);
    wgmma_commit();
    decay_y(write_y);
    fence_shared_writes();
    wgmma_wait<0>();
    pin(scores);
    pin(out);
    float own[2];
    std::uint32_t weights[kChunk / 4];
    round_scores(scores, own, weights);
    decay_from(-1, out);
    __syncthreads();  // decayed_y is written, and all warps have multiplied with the old state
    const bool has_bad = memory_.bad.any != 0;
    decay_state(memory_.logs[kChunk - 1]);
    state_.pin_cells();
    wgmma_fence();
    state_.add(memory_.write, memory_.decayed_y);
    wgmma_commit();
    decay_halves(kChunk / 2, write_y);
    fence_shared_writes();
    wgmma_wait<0>();
    state_.pin_cells();
    __syncthreads();
    if (next.count > 0) load_rows_of(next), load_y(next, n ^ 1);
    __pipeline_commit();
    add_levels(write_y, weights, out);
    float next_logs[kLogs];
    find_logs(next, next_logs);
    write(chunk, write_y, own, out, has_bad);
    __syncthreads();
    if (has_bad) memory_.bad.clear();
    store_logs(next_logs);
  }

  /// Rounds the scaled scores below the diagonal into `weights`; `own` gets the diagonal scores of
  /// the two steps whose rows this thread holds.
  __device__ __forceinline__ void round_scores(float (&scores)[kChunk / 2], float (&own)[2],
                                               std::uint32_t (&weights)[kChunk / 4]) const {
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
    round_fragment<T>(scores, weights);
  }

  __device__ __forceinline__ unsigned char* halves_of(int half) const {
    return memory_.halves[__popc(static_cast<unsigned>(half - 1)) % 2];
  }
  /// Adds to each step's result the contributions of earlier steps of the chunk, level by level: at
  /// level h, those of steps s to steps t where h is the highest bit of t ^ s. Before,
  /// decay_halves(kChunk / 2) must have run.
  __device__ __forceinline__ void add_levels(const unsigned char* write_y,
                                             const std::uint32_t (&scores)[kChunk / 4],
                                             float (&out)[kColumns / 2]) {
#pragma unroll 1
    for (int half = kChunk / 2; half > 0; half /= 2) {
      std::uint32_t weights[kChunk / 4];
      pick(half, scores, weights);
      float level[kColumns / 2];
      wgmma_fence();
      multiply_y<T>(weights, halves_of(half), level, false);
      wgmma_commit();
      if (half > 1) decay_halves(half / 2, write_y);
      fence_shared_writes();
      wgmma_wait<0>();
      pin(level);
      decay_from(half, level);
#pragma unroll
      for (int i = 0; i < kColumns / 2; ++i) out[i] += level[i];
      __syncthreads();
    }
  }
  /// Copies the rounded scores of level h = half, which are those of pairs of steps (t, s) where h
  /// is the highest bit of t ^ s; all other scores become 0.
  __device__ __forceinline__ void pick(int half, const std::uint32_t (&scores)[kChunk / 4],
                                       std::uint32_t (&weights)[kChunk / 4]) const {
    const int first_row = fragment_row(thread_here(), 0);
#pragma unroll
    for (int i = 0; i < kChunk / 4; ++i) {
      const int row = first_row + i % 2 * 8, column = column_ + i / 2 * 8;
      const auto bits = [&](int n, std::uint32_t those) {
        const int differ = row ^ (column + n);
        return differ >= half && differ < 2 * half ? those : 0;
      };
      weights[i] = scores[i] & (bits(0, 0xffff) | bits(1, 0xffff0000));
    }
  }
  /// Fills the tile of level h = half in shared memory. In each block of 2 h steps, rows of the
  /// first half are those of write_y, decayed up to the middle step; rows of the second half are 0.
  __device__ __forceinline__ void decay_halves(int half, const unsigned char* write_y) {
    unsigned char* const to = halves_of(half);
#pragma unroll
    for (int i = 0; i < kPanelBytes / 32 / kThreads; ++i) {
      const int piece = thread_here() + i * kThreads, column = piece % 8 * 8;
      // number of a pair of steps (step, step + half) in one block of 2 * half steps
      const int pair = piece / 8;
      const int step = 2 * (pair & -half) + (pair & (half - 1));
      const int middle = (step & -2 * half) + half - 1;
      const int at = swizzled(step, column);
      *reinterpret_cast<uint4*>(to + at) =
          decayed_piece(write_y + at, 1, memory_.logs[middle], memory_.logs[step], column);
      *reinterpret_cast<uint4*>(to + swizzled(step + half, column)) = make_uint4(0, 0, 0, 0);
    }
  }
  /// decayed_y = scaled write_y times the decay from its step to the end of the chunk. Elements of
  /// write_y that are not finite become 0 and are noted in memory_.bad.
  __device__ __forceinline__ void decay_y(unsigned char* write_y) {
    each_piece([&](int step, int column) {
      const int at = swizzled(step, column);
      *reinterpret_cast<uint4*>(memory_.decayed_y + at) =
          decayed_piece(write_y + at, call_.walk.write_scale, memory_.logs[kChunk - 1],
                        memory_.logs[step], column);
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
  /// Eight elements times `scale` and their channels' decays from step `since` to step `until`,
  /// whose rows of summed logs are given.
  __device__ __forceinline__ static uint4 decayed_piece(const unsigned char* from, float scale,
                                                        const float* until, const float* since,
                                                        int column) {
    const uint4 x = *reinterpret_cast<const uint4*>(from);
    const auto pair = [scale](std::uint32_t of, float low, float high) {
      return rounded_pair<T>(scale * element_of_pair<T>(of, 0) * exp2_approximate(low),
                             scale * element_of_pair<T>(of, 1) * exp2_approximate(high));
    };
    uint4 decayed;
    const auto half = [&](int n, std::uint32_t first, std::uint32_t second, std::uint32_t& to_first,
                          std::uint32_t& to_second) {
      const float4 end = *reinterpret_cast<const float4*>(until + column + n),
                   begin = *reinterpret_cast<const float4*>(since + column + n);
      to_first = pair(first, end.x - begin.x, end.y - begin.y);
      to_second = pair(second, end.z - begin.z, end.w - begin.w);
    };
    half(0, x.x, x.y, decayed.x, decayed.y);
    half(4, x.z, x.w, decayed.z, decayed.w);
    return decayed;
  }

  /// Multiplies each row of `sums` (one row per step of the chunk) by a decay. If half > 0, this is
  /// the decay from the middle step of the row's block of 2 * half steps to the step of the row;
  /// rows of the first half of a block are 0 and stay 0. If half < 0, it is the decay from the
  /// beginning of the chunk to the step.
  __device__ __forceinline__ void decay_from(int half, float (&sums)[kColumns / 2]) const {
#pragma unroll
    for (int side = 0; side < 2; ++side) {
      const int row = row_ + 8 * side;
      if (half > 0 && (row & half) == 0) continue;
      const float* const there = memory_.logs[half > 0 ? (row & ~(2 * half - 1)) + half - 1 : 0];
#pragma unroll
      for (int j = 0; j < kColumns / 8; ++j) {
        const int column = column_ + 8 * j;
        const float2 end = *reinterpret_cast<const float2*>(memory_.logs[row] + column);
        const float2 begin =
            half > 0 ? *reinterpret_cast<const float2*>(there + column) : float2{0, 0};
        sums[4 * j + 2 * side] *= exp2_approximate(end.x - begin.x);
        sums[4 * j + 2 * side + 1] *= exp2_approximate(end.y - begin.y);
      }
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
      w.products[row * w.to.width + y] = sum * exp2_approximate(memory_.logs[0][thread_]);
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
