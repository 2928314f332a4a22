// One step of the recurrence. Each block computes 128 channels of `to` for one head of a sequence:
// each lane has four of these channels, each warp every eighth channel of `from`.
#include "maskctl/kernels/cuda/linear/rows.cuh"
#include "maskctl/kernels/cuda/linear/step.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kWarps = 8, kThreads = 32 * kWarps;
constexpr int kColumns = 128;  // channels of `to` in a block
constexpr int kAtOnce = 8;     // loads that a thread has in flight

struct StepCall {
  LinearWalk walk;
  const LinearRun* runs;
  unsigned heads, slices;
};

struct StepRows {
  float read[LinearWalk::kWidest], write[LinearWalk::kWidest], decay[LinearWalk::kWidest];
  float sums[kWarps][kColumns];
};

/// Loads the token's query, key and decays along `from`. An empty sequence gets zeros and decay 1,
/// so that its state does not change.
__device__ void load_rows(const LinearWalk& w, Index length, Index token, Index head,
                          StepRows& rows) {
  const int x = static_cast<int>(threadIdx.x);
  if (x >= w.from.width) return;
  rows.read[x] = rows.write[x] = 0, rows.decay[x] = 1;
  if (length == 0) return;
  const LinearRows &read = w.from.backward, &write = w.from.forward;
  rows.read[x] = element(read.array, row_of(read, token, head / read.group) + x);
  rows.write[x] =
      w.write_scale * element(write.array, row_of(write, token, head / write.group) + x);
  rows.decay[x] = expf(log_decay(w.head_gates, token, head) + log_decay(w.from, token, head, x));
}

__global__ void __launch_bounds__(kThreads, 3) take_step(const __grid_constant__ StepCall call) {
  static_assert(kThreads >= LinearWalk::kWidest);
  __shared__ StepRows rows;
  const LinearWalk& w = call.walk;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const Index row = blockIdx.x / call.slices, head = row % call.heads, sequence = row / call.heads;
  const Index y = blockIdx.x % call.slices * Index{kColumns} + 4 * lane;
  const bool inside = y < w.to.width;
  const LinearRun run = call.runs[sequence];
  const int width = static_cast<int>(w.from.width);
  const Index begin = row * w.from.width * w.to.width + y;
  const float* const before = static_cast<const float*>(w.first.data) + begin;
  float* const after = static_cast<float*>(w.last.data) + begin;
  float4 cells[kAtOnce];
  const auto load = [&](int first) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int x = first + i * kWarps;
      cells[i] = w.first.data && inside && x < width
                     ? __ldcs(reinterpret_cast<const float4*>(before + x * w.to.width))
                     : make_float4(0, 0, 0, 0);
    }
  };
  load(warp);
  load_rows(w, run.length, run.first, head, rows);
  float written[4] = {}, decay_y[4] = {1, 1, 1, 1}, sums[4] = {};
  if (inside && run.length > 0) {
    const LinearRows& values = w.to.forward;
    const Index from = row_of(values, run.first, head / values.group) + y;
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      written[j] = element(values.array, from + j);
      decay_y[j] = expf(log_decay(w.to, run.first, head, y + j));
    }
  }
  __syncthreads();
  for (int first = warp; first < width; first += kAtOnce * kWarps) {
    if (first > warp) load(first);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int x = first + i * kWarps;
      if (x >= width) break;
      const float decay = rows.decay[x], write = rows.write[x], read = rows.read[x];
      float* const cell = reinterpret_cast<float*>(&cells[i]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        cell[j] = cell[j] * (decay * decay_y[j]) + write * written[j];
        sums[j] += read * cell[j];
      }
      if (w.last.data && inside)
        __stcs(reinterpret_cast<float4*>(after + x * w.to.width), cells[i]);
    }
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) rows.sums[warp][4 * lane + j] = sums[j];
  __syncthreads();
  const int column = static_cast<int>(threadIdx.x);
  const Index to = blockIdx.x % call.slices * Index{kColumns} + column;
  if (!w.out.data || run.length == 0 || column >= kColumns || to >= w.to.width) return;
  float sum = 0;
#pragma unroll
  for (int n = 0; n < kWarps; ++n) sum += rows.sums[n][column];
  put(w.out, (run.first * w.heads + head) * w.to.width + to, w.out_scale * sum);
}

}  // namespace

bool is_step(const LinearPlan& plan, const LinearWalk& w) {
  const auto is_vector = [](DType dtype, const void* data) {
    return dtype == DType::kFloat32 && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
  };
  return plan.longest <= 1 && !w.backwards && w.to.stride == 1 && w.to.width % 4 == 0 &&
         w.from.width <= LinearWalk::kWidest && !w.before && !w.boundary_states &&
         is_vector(w.first.dtype, w.first.data) && is_vector(w.last.dtype, w.last.data);
}

void step(Workspace& workspace, const LinearPlan& plan, const LinearWalk& walk) {
  const Index slices = ceil_div(walk.to.width, Index{kColumns});
  launch("linear step", take_step, static_cast<unsigned>(plan.sequences * walk.heads * slices),
         kThreads, 0, workspace.stream(),
         StepCall{walk, plan.runs.data(), static_cast<unsigned>(walk.heads),
                  static_cast<unsigned>(slices)});
}

}  // namespace maskctl::attention::cuda
