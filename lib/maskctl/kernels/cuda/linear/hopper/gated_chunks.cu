// Computes the scores read_t * (L_t / L_s) * write_s of steps s <= t of a chunk, summed over the
// channels of `from`; L_t is the product of the decays up to step t. L_t and 1 / L_s could
// underflow and overflow, so pairs t > s are computed by levels h = 32, 16, .. 1, the highest bit
// of t ^ s. In each block of 2 h steps with middle step m, one tile holds (L_t / L_m) * read_t in
// its upper half and (L_m / L_s) * write_s in its lower half, and its product with itself has the
// level's scores. All these factors are at most 1 if log decays are at most 0.
//
// Scores of a walk backwards (kTwoParts) have two parts (split_pair), and so do these tiles.
// Without them the results, gradients of values or keys, would carry the rounding of both rows and
// of the score besides their own.
#include "maskctl/kernels/cuda/linear/hopper/gated_chunks.h"
#include "maskctl/kernels/cuda/linear/hopper/state.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

struct GateCall {
  ChunkedCall chunked;
  GatedChunks out;
  Index chunks;  // number of chunks of the longest sequence
};

template <int kFrom>
struct GateMemory {
  static constexpr int kBytes = kFrom / kPanel * kPanelBytes;
  unsigned char read[kBytes], write[kBytes], halves[2][kBytes];
  float logs[kChunk][kFrom];  // log2 decays, summed from the chunk's first step to each step
  float head_logs[kChunk];
};

template <class T, int kFrom, bool kTwoParts>
class GatedChunk {
 public:
  using Memory = GateMemory<kFrom>;

  __device__ __forceinline__ GatedChunk(const GateCall& call, Memory& memory,
                                        const ChunkedPart& part, Index n)
      : call_(call),
        part_(part),
        memory_(memory),
        chunk_(chunk_number(n)),
        block_(part.number(call.chunked, n * kChunk)),
        thread_(static_cast<int>(threadIdx.x)) {}

  __device__ __forceinline__ void run() {
    if (chunk_.count <= 0) return;
    load();
    sum_logs();
    __pipeline_wait_prior(0);
    fence_shared_writes();
    __syncthreads();
    float scores[kChunk / 2] = {}, level[kChunk / 2];
    multiply(memory_.read, memory_.write, level);
    int half = 0;  // level h of the product in flight; 0: the diagonal, t = s
#pragma unroll 1
    for (int next = kChunk / 2; next > 0; next /= 2) {
      // Two parts fill both tiles, so the product before must have ended.
      unsigned char* const high = memory_.halves[kTwoParts ? 0 : tile_of_level(next)];
      unsigned char* const low = memory_.halves[1];
      if (kTwoParts) {
        finish(half, level, scores);
        __syncthreads();
      }
      decay_halves(next, high, low);
      fence_shared_writes();
      if (!kTwoParts) finish(half, level, scores);
      __syncthreads();
      multiply_level(high, low, level);
      half = next;
    }
    write_rows();
    finish(half, level, scores);
    write_scores(scores);
  }

 private:
  static constexpr int kPieces = kFrom / 4;  // a row of a tile in pieces of 4 channels
  static constexpr int kRowsAtOnce = kThreads / kPieces;

  __device__ __forceinline__ Chunk chunk_number(Index n) const {
    const Index begin = n * kChunk, rest = part_.run.length - begin;
    const int count = static_cast<int>(rest < kChunk ? rest : kChunk);
    return {{begin, begin + count}, call_.chunked.walk.backwards, count};
  }

  __device__ __forceinline__ void load() {
    const LinearWalk& w = call_.chunked.walk;
    const LinearRows& read = w.backwards ? w.from.forward : w.from.backward;
    const LinearRows& write = w.backwards ? w.from.backward : w.from.forward;
    load_rows<kFrom / kPanel>(memory_.read, ChunkRows<T>(call_.chunked, part_, chunk_, read, 0));
    load_rows<kFrom / kPanel>(memory_.write, ChunkRows<T>(call_.chunked, part_, chunk_, write, 0));
    __pipeline_commit();
    if (thread_ < kChunk) {
      memory_.head_logs[thread_] = head_log(call_.chunked, part_, chunk_, thread_);
    }
    __syncthreads();
  }
  /// Sums the log decays of one channel per thread over the steps of the chunk.
  __device__ __forceinline__ void sum_logs() {
    const LinearAxis& axis = call_.chunked.walk.from;
    constexpr int kAtOnce = 32;
    if (thread_ >= kFrom) return;
    float sum = 0;
#pragma unroll 1
    for (int first = 0; first < kChunk; first += kAtOnce) {
      float log[kAtOnce] = {};
      add_logs(call_.chunked, part_, chunk_, axis, thread_, first, log);
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        sum += memory_.head_logs[first + i] + bounded_log(log[i]);
        memory_.logs[first + i][thread_] = sum;
      }
    }
    call_.out.decays[block_ * kFrom + thread_] = exp2_approximate(sum);
  }

  /// Calls f(row, first channel) for each piece of 4 channels that belongs to this thread.
  template <class F>
  __device__ __forceinline__ void each_piece(F f) const {
    const int channel = thread_ % kPieces * 4;
#pragma unroll 4
    for (int row = thread_ / kPieces; row < kChunk; row += kRowsAtOnce) f(row, channel);
  }
  __device__ __forceinline__ static int place(int row, int channel) {
    return channel / kPanel * kPanelBytes + swizzled(row, channel % kPanel);
  }
  /// Four neighbouring elements of a tile, each times `scale` and 2^log, in two parts.
  struct Scaled {
    uint2 high, low;
  };
  __device__ __forceinline__ static Scaled scaled(const unsigned char* element, float scale,
                                                  const float (&log)[4]) {
    const uint2 x = *reinterpret_cast<const uint2*>(element);
    Scaled parts;
    split_decayed<T>(x.x, scale, log[0], log[1], parts.high.x, parts.low.x);
    split_decayed<T>(x.y, scale, log[2], log[3], parts.high.y, parts.low.y);
    return parts;
  }

  /// Fills the tile of level h = half. In each block of 2 h steps, the second half gets rows of
  /// `read` and the first half rows of `write`, each times the decay between its step and the
  /// middle step. With kTwoParts, `low` gets the second parts of the elements.
  __device__ __forceinline__ void decay_halves(int half, unsigned char* high,
                                               unsigned char* low) const {
    each_piece([&](int row, int channel) {
      const bool is_upper = (row & half) != 0;
      const int middle = (row & ~(2 * half - 1)) + half - 1;
      const float4 here = *reinterpret_cast<const float4*>(&memory_.logs[row][channel]);
      const float4 there = *reinterpret_cast<const float4*>(&memory_.logs[middle][channel]);
      const float sign = is_upper ? 1 : -1;
      const float log[4] = {sign * (here.x - there.x), sign * (here.y - there.y),
                            sign * (here.z - there.z), sign * (here.w - there.w)};
      const int at = place(row, channel);
      const Scaled parts = scaled((is_upper ? memory_.read : memory_.write) + at, 1, log);
      *reinterpret_cast<uint2*>(high + at) = parts.high;
      if (kTwoParts) *reinterpret_cast<uint2*>(low + at) = parts.low;
    });
  }
  __device__ __forceinline__ void multiply(const unsigned char* a, const unsigned char* b,
                                           float (&level)[kChunk / 2]) const {
    wgmma_fence();
    multiply_rows<T, kFrom>(a, b, level);
    wgmma_commit();
  }
  /// Starts the product of a level's tile with itself.
  __device__ __forceinline__ void multiply_level(const unsigned char* high,
                                                 const unsigned char* low,
                                                 float (&level)[kChunk / 2]) const {
    wgmma_fence();
    multiply_rows<T, kFrom>(high, high, level);
    if (kTwoParts) {
      multiply_rows<T, kFrom>(high, low, level, true);
      multiply_rows<T, kFrom>(low, high, level, true);
    }
    wgmma_commit();
  }
  /// Waits for the product of level h = half, and copies into `scores` the scores of its pairs of
  /// steps (t, s), those where h is the highest bit of t ^ s.
  __device__ __forceinline__ void finish(int half, float (&level)[kChunk / 2],
                                         float (&scores)[kChunk / 2]) const {
    wgmma_wait<0>();
    pin(level);
    // A pair belongs to level h if t has the bit h and t ^ s ^ h < h; at h = 0, if t = s.
    const int row = fragment_row(thread_, 0), column = fragment_column(thread_, 0);
    const int bits = half > 0 ? -half : -1;
    constexpr int kNone = 1 << 30;
#pragma unroll
    for (int i = 0; i < kChunk / 2; ++i) {
      const int t = row + i / 2 % 2 * 8;
      const int first = half == 0 || (t & half) != 0 ? t ^ half ^ column : kNone;
      if (((first ^ i / 4 * 8 ^ i % 2) & bits) == 0) scores[i] = level[i];
    }
  }

  __device__ __forceinline__ void write_scores(float (&scores)[kChunk / 2]) const {
#pragma unroll
    for (float& score : scores) score *= call_.chunked.walk.write_scale;
    std::uint32_t high[kChunk / 4], low[kChunk / 4];
    split_fragment<T>(scores, high, low);
    write_pairs(high, call_.out.scores);
    if (kTwoParts) write_pairs(low, call_.out.low_scores);
  }
  __device__ __forceinline__ void write_pairs(const std::uint32_t (&pairs)[kChunk / 4],
                                              std::uint32_t* to) const {
    uint4* const here = reinterpret_cast<uint4*>(to) + block_ * 4 * kThreads + thread_;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      here[i * kThreads] =
          make_uint4(pairs[4 * i], pairs[4 * i + 1], pairs[4 * i + 2], pairs[4 * i + 3]);
    }
  }
  /// Writes GatedChunks::read and GatedChunks::write: the decayed rows that the walk multiplies
  /// with its state.
  __device__ __forceinline__ void write_rows() const {
    T* const read = static_cast<T*>(call_.out.read) + block_ * kChunk * kFrom;
    T* const write = static_cast<T*>(call_.out.write) + block_ * kChunk * kFrom;
    each_piece([&](int row, int channel) {
      const float4 here = *reinterpret_cast<const float4*>(&memory_.logs[row][channel]);
      const float4 last = *reinterpret_cast<const float4*>(&memory_.logs[kChunk - 1][channel]);
      const int at = place(row, channel);
      *reinterpret_cast<uint2*>(read + row * kFrom + channel) =
          scaled(memory_.read + at, 1, {here.x, here.y, here.z, here.w}).high;
      *reinterpret_cast<uint2*>(write + row * kFrom + channel) =
          scaled(memory_.write + at, call_.chunked.walk.write_scale,
                 {last.x - here.x, last.y - here.y, last.z - here.z, last.w - here.w})
              .high;
    });
  }

  const GateCall& call_;
  const ChunkedPart part_;
  Memory& memory_;
  const Chunk chunk_;
  const Index block_;  // index of this (chunk, head) in the arrays of GatedChunks
  const int thread_;
};

template <class T, int kFrom, bool kTwoParts>
__global__ void __launch_bounds__(kThreads, 2)
    gate_chunks_kernel(const __grid_constant__ GateCall call) {
  const Index n = blockIdx.x / call.chunked.heads;
  const ChunkedPart part(call.chunked, n / call.chunks, blockIdx.x % call.chunked.heads, 0);
  auto& memory = block_memory<GateMemory<kFrom>>();
  GatedChunk<T, kFrom, kTwoParts>(call, memory, part, n % call.chunks).run();
}

template <class T, int kFrom, bool kTwoParts>
void run(Workspace& workspace, const GateCall& call, Index blocks) {
  launch("gates of chunks", gate_chunks_kernel<T, kFrom, kTwoParts>, static_cast<unsigned>(blocks),
         kThreads, block_bytes<GateMemory<kFrom>, 2>(), workspace.stream(), call);
}

template <class T, int kFrom>
void run(Workspace& workspace, const GateCall& call, Index blocks) {
  if (call.out.low_scores) return run<T, kFrom, true>(workspace, call, blocks);
  run<T, kFrom, false>(workspace, call, blocks);
}

}  // namespace

GatedChunks gate_chunks(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk,
                        int width) {
  const Index chunks = plan.chunks * walk.heads;
  GatedChunks out;
  out.read = workspace.take<std::uint16_t>(chunks * kChunk * width);
  out.write = workspace.take<std::uint16_t>(chunks * kChunk * width);
  out.scores = workspace.take<std::uint32_t>(chunks * 16 * kThreads);
  if (walk.backwards) out.low_scores = workspace.take<std::uint32_t>(chunks * 16 * kThreads);
  out.decays = workspace.take<float>(chunks * width);
  const Index most = ceil_div(plan.longest, Index{kChunk});
  const GateCall call{chunked_call(plan, walk), out, most};
  const Index blocks = plan.sequences * most * walk.heads;
  with_16_bits(walk.from.forward.array.dtype, [&]<class T>(std::type_identity<T>) {
    if (width == 64) return run<T, 64>(workspace, call, blocks);
    run<T, 128>(workspace, call, blocks);
  });
  return out;
}

}  // namespace maskctl::attention::cuda::hopper
