#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/kernels/cuda/linear/hopper/chunked_walk.h"
#include "maskctl/kernels/cuda/linear/hopper/gated_chunks.h"
#include "maskctl/kernels/cuda/linear/hopper/gated_walk.h"
#include "maskctl/kernels/cuda/linear/hopper/state.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

/// The arguments of the kernel. `gated` is set only if the axis `from` has gates.
struct WalkCall {
  ChunkedCall chunked;
  GatedChunks gated;
};

/// The shared memory of a block. The axis `from` has up to kFrom channels.
template <int kFrom>
struct WalkMemory {
  static constexpr int kPanels = kFrom / kPanel;
  struct Stage {
    unsigned char read[kPanels * kPanelBytes], write[kPanels * kPanelBytes], write_y[kPanelBytes];
  } stages[2];
  unsigned char decayed_y[kPanelBytes];
  unsigned char state[kFrom * kPanelRowBytes];  // the state before the chunk, rounded to 16 bits
  float logs[2][kChunk];  // of each stage: cumulative sums of the chunk's log decays
  BadSteps bad;
};

/// Each block takes one head of a sequence and 64 channels of `to`, whose state it keeps in
/// registers. With L_t the decay from the begin of a chunk to its step t, it computes for each
/// chunk
///   out = (L * read) * state + scores * write_y
///   state = L_last * state + write' * (L_last / L * write_y),
/// where scores_ts = read_t * (L_t / L_s) * write_s for s <= t, else 0. Without gates on `from`,
/// L_t is a scalar and this kernel computes the scores. With such gates (kGated), GatedChunks holds
/// the scores and the rows of `read` and `write` with their decays applied; with kTwoParts it holds
/// the scores in two parts.
template <class T, int kFrom, bool kGated, bool kTwoParts>
class ChunkedWalk {
 public:
  using Memory = WalkMemory<kFrom>;

  __device__ __forceinline__ ChunkedWalk(const WalkCall& call, Memory& memory)
      : call_(call.chunked),
        gated_(call.gated),
        part_(ChunkedPart::of_block(call_)),
        memory_(memory),
        thread_(static_cast<int>(threadIdx.x)),
        warp_(thread_ / 32),
        row_(fragment_row(thread_, 0)),
        column_(fragment_column(thread_, 0)),
        state_(call_, part_) {}

  __device__ __forceinline__ void run() {
    const LinearWalk& w = call_.walk;
    const Index length = part_.run.length;
    Chunk chunk = linear::first_chunk(length, kChunk, w.backwards);
    if (chunk.count > 0) load(chunk, 0);
    if (!kGated && warp_ == 0) {
      float logs[2];
      logs_of(chunk, logs);
      sum_up(logs, memory_.logs[0]);
    }
    if (kGated && chunk.count > 0) load_scores(chunk);
    memory_.bad.clear();
    for (int stage = 0; chunk.count > 0; stage ^= 1) {
      const Chunk next = linear::next_chunk(chunk, length, kChunk);
      state_.store_operand(memory_.state);
      __pipeline_wait_prior(0);
      fence_shared_writes();
      __syncthreads();
      if (next.count > 0) load(next, stage ^ 1);
      take(chunk, next, stage);
      chunk = next;
    }
    if (!w.last.data) return;
    if (w.backwards && length > 0) decay_by_first_token();
    state_.store(part_.sequence, w.last);
  }

 private:
  static constexpr int kTiles = kFrom / 64;
  using Stage = typename Memory::Stage;

  __device__ __forceinline__ void decay_by_first_token() {
    const float of_head = head_log(call_, part_, {{-1, 0}, true, 1}, 0);
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const Index x = 64 * tile + row_ + 8 * side;
        float log = 0;
        if (kGated && x < call_.walk.from.width) {
          log = bounded_log(log_decay(call_.walk.from, part_.run.first, part_.head, x));
        }
        state_.scale_row(tile, side, exp2_approximate(of_head + log));
      }
    }
  }

  __device__ __forceinline__ void load(const Chunk& chunk, int n) {
    const LinearWalk& w = call_.walk;
    Stage& stage = memory_.stages[n];
    const auto rows = [&](const LinearRows& of, Index first) {
      return ChunkRows<T>(call_, part_, chunk, of, first);
    };
    if (kGated) {
      const Index begin = part_.number(call_, chunk.times.begin) * kChunk * kFrom;
      const auto gated = [&](const void* of) {
        return ChunkRows<T>(static_cast<const T*>(of) + begin, kFrom, kFrom, kChunk);
      };
      load_rows<Memory::kPanels>(stage.read, gated(gated_.read));
      load_rows<Memory::kPanels>(stage.write, gated(gated_.write));
    } else {
      const LinearRows &read = w.backwards ? w.from.forward : w.from.backward,
                       &write = w.backwards ? w.from.backward : w.from.forward;
      load_rows<Memory::kPanels>(stage.read, rows(read, 0));
      load_rows<Memory::kPanels>(stage.write, rows(write, 0));
    }
    load_rows<1>(stage.write_y, rows(w.backwards ? w.to.backward : w.to.forward, part_.first_y));
    __pipeline_commit();
  }
  __device__ __forceinline__ void load_scores(const Chunk& chunk) {
    const Index number = part_.number(call_, chunk.times.begin);
    load_scores(gated_.scores, number, weights_);
    if (kTwoParts) load_scores(gated_.low_scores, number, low_weights_);
  }
  __device__ __forceinline__ void load_scores(const std::uint32_t* of, Index number,
                                              std::uint32_t (&to)[kChunk / 4]) const {
    const uint4* const from = reinterpret_cast<const uint4*>(of) + number * 4 * kThreads + thread_;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const uint4 x = from[i * kThreads];
      to[4 * i] = x.x, to[4 * i + 1] = x.y, to[4 * i + 2] = x.z, to[4 * i + 3] = x.w;
    }
  }

  /// The log decays of the head before steps 2 * lane and 2 * lane + 1 of a chunk.
  __device__ __forceinline__ void logs_of(const Chunk& chunk, float (&logs)[2]) const {
    for (int i = 0; i < 2; ++i) logs[i] = head_log(call_, part_, chunk, thread_ % 32 * 2 + i);
  }
  /// to[s] = the sum of the log decays of steps 0 to s. One warp runs this, with two steps a lane.
  __device__ __forceinline__ void sum_up(const float (&logs)[2], float* to) const {
    const int lane = thread_ % 32;
    float sum = logs[0] + logs[1];
    for (int delta = 1; delta < 32; delta *= 2) {
      const float before = __shfl_up_sync(~0u, sum, delta);
      if (lane >= delta) sum += before;
    }
    to[2 * lane + 1] = sum;
    const float before = __shfl_up_sync(~0u, sum, 1);
    to[2 * lane] = (lane > 0 ? before : 0) + logs[0];
  }

  /// Processes one chunk, whose rows are in stage n.
  __device__ __forceinline__ void take(const Chunk& chunk, const Chunk& next, int n) {
    Stage& stage = memory_.stages[n];
    const float* const logs = memory_.logs[n];
    float scores[kChunk / 2], out[kColumns / 2];
    wgmma_fence();
    if (!kGated) {
      multiply_rows<T, kFrom>(stage.read, stage.write, scores);
      wgmma_commit();
    }
    state_.multiply(stage.read, memory_.state, out);
    wgmma_commit();
    float decays[kTiles][2], next_logs[2];
    find_decays(chunk, logs, decays);
    if (!kGated && warp_ == 0) logs_of(next, next_logs);
    decay_y(stage, logs);
    fence_shared_writes();
    if (!kGated) {
      wgmma_wait<1>();
      pin(scores);
      weigh(logs, scores);
    }
    wgmma_wait<0>();
    pin(out);
    if (!kGated) scale_rows(logs, out);
    __syncthreads();  // decayed_y is complete, and memory_.state is no longer read
    const bool has_bad = memory_.bad.any != 0;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int side = 0; side < 2; ++side) state_.scale_row(tile, side, decays[tile][side]);
    }
    pin(out);
    state_.pin_cells();
    wgmma_fence();
    multiply_y<T>(weights_, stage.write_y, out, true);
    if (kTwoParts) multiply_y<T>(low_weights_, stage.write_y, out, true);
    state_.add(stage.write, memory_.decayed_y);
    wgmma_commit();
    if (!kGated && warp_ == 0) sum_up(next_logs, memory_.logs[n ^ 1]);
    wgmma_wait<0>();
    pin(out);
    state_.pin_cells();
    if (kGated && next.count > 0) load_scores(next);
    if (has_bad) {
      memory_.bad.spread(out, 0);
      __syncthreads();
      memory_.bad.clear();
    }
    write(chunk, stage, out);
  }

  /// The decays over a whole chunk, for each row of the state that the thread has.
  __device__ __forceinline__ void find_decays(const Chunk& chunk, const float* logs,
                                              float (&decays)[kTiles][2]) {
    const float* const of_channels =
        kGated ? gated_.decays + part_.number(call_, chunk.times.begin) * kFrom : nullptr;
#pragma unroll
    for (int tile = 0; tile < kTiles; ++tile) {
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        decays[tile][side] =
            kGated ? of_channels[64 * tile + row_ + 8 * side] : exp2_approximate(logs[kChunk - 1]);
      }
    }
  }

  /// decayed_y = write_y times write_scale and the decay from its step to the end of the chunk.
  /// With kGated it only copies: GatedChunks has both factors.
  __device__ __forceinline__ void decay_y(Stage& stage, const float* logs) {
    const float total = kGated ? 0 : logs[kChunk - 1];
#pragma unroll
    for (int i = 0; i < kPanelBytes / 16 / kThreads; ++i) {
      const int piece = thread_ + i * kThreads, step = piece / 8, column = piece % 8 * 8;
      const float decay =
          kGated ? 1 : call_.walk.write_scale * exp2_approximate(total - logs[step]);
      const int at = swizzled(step, column);
      uint4* const here = reinterpret_cast<uint4*>(stage.write_y + at);
      uint4 x = *here;
      const auto decayed = [decay](std::uint32_t pair) {
        return rounded_pair<T>(decay * element_of_pair<T>(pair, 0),
                               decay * element_of_pair<T>(pair, 1));
      };
      *reinterpret_cast<uint4*>(memory_.decayed_y + at) =
          make_uint4(decayed(x.x), decayed(x.y), decayed(x.z), decayed(x.w));
      if (memory_.bad.template replace<T>(step, column, x)) *here = x;
    }
  }

  /// Sets weights_ to the scores times write_scale and the decay between their steps, rounded, and
  /// to 0 for later steps.
  __device__ __forceinline__ void weigh(const float* logs, const float (&scores)[kChunk / 2]) {
    const float of_row[2] = {logs[row_], logs[row_ + 8]};
#pragma unroll
    for (int j = 0; j < kChunk / 8; ++j) {
      if (8 * j > 16 * warp_ + 15) {
        weights_[2 * j] = weights_[2 * j + 1] = 0;
        continue;
      }
      const int column = 8 * j + column_;
      const float2 of_column = *reinterpret_cast<const float2*>(logs + column);
#pragma unroll
      for (int side = 0; side < 2; ++side) {
        const int row = row_ + 8 * side;
        const auto weight = [&](int n, float log) {
          const float score = scores[4 * j + 2 * side + n] * call_.walk.write_scale;
          return column + n <= row ? score * exp2_approximate(of_row[side] - log) : 0;
        };
        weights_[2 * j + side] = rounded_pair<T>(weight(0, of_column.x), weight(1, of_column.y));
      }
    }
  }
  __device__ __forceinline__ void scale_rows(const float* logs, float (&out)[kColumns / 2]) const {
    const float of_row[2] = {exp2_approximate(logs[row_]), exp2_approximate(logs[row_ + 8])};
#pragma unroll
    for (int i = 0; i < kColumns / 2; ++i) out[i] *= of_row[i / 2 % 2];
  }

  /// Writes the results of a chunk. May overwrite stage.read, which is no longer needed.
  __device__ __forceinline__ void write(const Chunk& chunk, Stage& stage,
                                        float (&out)[kColumns / 2]) const {
    const LinearWalk& w = call_.walk;
    if (!w.out.data) return;
#pragma unroll
    for (float& x : out) x *= w.out_scale;
    ChunkResults(call_, part_, chunk).write<T>(w.out, stage.read, out);
  }

  const ChunkedCall& call_;
  const GatedChunks& gated_;
  const ChunkedPart part_;
  Memory& memory_;
  const int thread_, warp_;
  const int row_, column_;  // row and column of the thread's first fragment element
  ChunkedState<T, kFrom> state_;
  std::uint32_t weights_[kChunk / 4];      // the scores, decayed and rounded
  std::uint32_t low_weights_[kChunk / 4];  // with kTwoParts: what rounding left of them
};

template <class T, int kFrom, bool kGated, bool kTwoParts>
__global__ void __launch_bounds__(kThreads, 2)
    chunked_walk_kernel(const __grid_constant__ WalkCall call) {
  ChunkedWalk<T, kFrom, kGated, kTwoParts>(call, block_memory<WalkMemory<kFrom>>()).run();
}

template <class T, int kFrom, bool kGated, bool kTwoParts>
void run(Workspace& workspace, const WalkCall& call, Index blocks) {
  launch("linear walk in chunks", chunked_walk_kernel<T, kFrom, kGated, kTwoParts>,
         static_cast<unsigned>(blocks), kThreads, block_bytes<WalkMemory<kFrom>, 2>(),
         workspace.stream(), call);
}
template <class T, int kFrom>
void run(Workspace& workspace, const WalkCall& call, Index blocks) {
  if (!call.gated.scores) return run<T, kFrom, false, false>(workspace, call, blocks);
  if (!call.gated.low_scores) return run<T, kFrom, true, false>(workspace, call, blocks);
  run<T, kFrom, true, true>(workspace, call, blocks);
}

bool is_gated(const LinearAxis& axis) { return axis.gates[0].any() || axis.gates[1].any(); }
/// Whether the walk also computes arrays from which the gradients of gates are made.
bool is_for_gates(const LinearWalk& w) { return w.before || w.boundary_states || w.products; }
/// Whether gated_walk() must compute the walk.
bool is_gated_to(const LinearWalk& w) { return is_gated(w.to) || is_for_gates(w); }

/// Whether the array has this 16-bit dtype and rows that copies of 16 bytes can load.
bool are_readable(const LinearRows& rows, DType dtype) {
  return rows.array.dtype == dtype && rows.width % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(rows.array.data) % 16 == 0;
}

}  // namespace

bool takes(const LinearPlan& plan, const LinearWalk& w) {
  constexpr Index kWidest = 128;      // the most channels of `from`
  constexpr Index kLeastTokens = 16;  // shorter sequences do not fill a tensor-core tile
  const DType dtype = w.from.forward.array.dtype;
  if (size_bytes(dtype) != 2 || w.from.width > kWidest || plan.longest < kLeastTokens) return false;
  if (is_gated(w.from) && is_gated_to(w)) return false;
  const LinearRows& write_y = w.backwards ? w.to.backward : w.to.forward;
  for (const LinearRows* const rows : {&w.from.forward, &w.from.backward, &write_y}) {
    if (!are_readable(*rows, dtype)) return false;
  }
  const auto out = reinterpret_cast<std::uintptr_t>(w.out.data);
  if (out % 16 != 0 || (w.out.dtype != dtype && w.out.dtype != DType::kFloat32)) return false;
  return unavailable().empty();
}

void chunked_walk(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  if (is_gated_to(walk)) return gated_walk(workspace, plan, walk);
  const Workspace::Scope scope(workspace);
  const int width = walk.from.width <= 64 ? 64 : 128;
  WalkCall call{chunked_call(plan, walk), {}};
  if (is_gated(walk.from)) call.gated = gate_chunks(workspace, plan, walk, width);
  const Index blocks = plan.sequences * walk.heads * call.chunked.slices;
  with_16_bits(walk.from.forward.array.dtype, [&]<class T>(std::type_identity<T>) {
    if (width == 64) return run<T, 64>(workspace, call, blocks);
    run<T, 128>(workspace, call, blocks);
  });
}

}  // namespace maskctl::attention::cuda::hopper
