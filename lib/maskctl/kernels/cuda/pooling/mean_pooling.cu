// Means over tokens, as fast as memory can be read: threads read 16 bytes at a time, and several
// rows before they add the first. Sums have a fixed order.
#include <algorithm>
#include <bit>

#include "maskctl/attention/cuda/launch.cuh"
#include "maskctl/kernels/cuda/pooling/mean_pooling.h"

namespace maskctl::attention::cuda {
namespace {

constexpr int kThreads = 256, kAtOnce = 8;  // kAtOnce: rows that a thread reads before it adds any

/// How threads share the rows of a PoolingPart. `across` threads side by side each sum some
/// columns, and `down` lines of such threads take the rows in turn. If parts need fewer threads
/// than a block has, a block sums several parts.
struct Team {
  int across, down;
  __host__ __device__ int threads() const { return across * down; }
};

template <class T, int n>
struct alignas(sizeof(T) * n) Piece {
  T x[n];
};

template <class From, class To>
struct PoolingCall {
  const From* from;
  To* to;
  Index width;
  const PoolingPart* parts;
  Index part_count;
  const char* counted;  // null: all rows count
  Team team;
  Index strips;  // how many blocks share the columns of a row
};

/// Adds to `sums` those rows of a part that are this thread's share, in kPiece columns from
/// `column` on. The share begins at the part's row `first` and has every c.team.down-th row.
template <int kPiece, class From, class To>
__device__ void add_rows(const PoolingCall<From, To>& c, Range rows, Index column, int first,
                         float (&sums)[kPiece]) {
  const int down = c.team.down;
  for (Index row = rows.begin + first; row < rows.end; row += kAtOnce * down) {
    using Raw = std::conditional_t<sizeof(Piece<From, kPiece>) == 16, uint4, From>;
    Raw pieces[kAtOnce] = {};  // not yet converted to f32, which takes fewer registers
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const Index r = row + i * down;
      if (r < rows.end && (!c.counted || c.counted[r])) {
        pieces[i] = *reinterpret_cast<const Raw*>(c.from + r * c.width + column);
      }
    }
#pragma unroll
    for (const Raw& piece : pieces) {
      const auto elements = std::bit_cast<Piece<From, kPiece>>(piece);
#pragma unroll
      for (int i = 0; i < kPiece; ++i) sums[i] += to_float(elements.x[i]);
    }
  }
}

template <int kPiece, class From, class To>
__global__ void __launch_bounds__(kThreads) pool(PoolingCall<From, To> c) {
  constexpr int kFour = kPiece < 4 ? kPiece : 4;
  using Four = Piece<float, kFour>;
  __shared__ Four shared[kPiece / kFour][kThreads];
  const int thread = static_cast<int>(threadIdx.x), in_team = thread % c.team.threads();
  const Index n = blockIdx.x / c.strips * (kThreads / c.team.threads()) + thread / c.team.threads();
  const PoolingPart part = n < c.part_count ? c.parts[n] : PoolingPart{};
  const Index column = (blockIdx.x % c.strips * c.team.across + in_team % c.team.across) * kPiece;

  float sums[kPiece] = {};
  if (column < c.width) add_rows(c, part.rows, column, in_team / c.team.across, sums);
#pragma unroll
  for (int i = 0; i < kPiece; ++i) shared[i / kFour][thread].x[i % kFour] = sums[i];
  __syncthreads();

  if (n >= c.part_count || column >= c.width || in_team >= c.team.across) return;
  for (int i = 1; i < c.team.down; ++i) {
#pragma unroll
    for (int k = 0; k < kPiece; ++k) {
      sums[k] += shared[k / kFour][thread + i * c.team.across].x[k % kFour];
    }
  }
  Piece<To, kPiece> means;
#pragma unroll
  for (int k = 0; k < kPiece; ++k) {
    store(part.count == 0 ? 0 : sums[k] / static_cast<float>(part.count), &means.x[k]);
  }
  *reinterpret_cast<Piece<To, kPiece>*>(c.to + part.to * c.width + column) = means;
}

/// Sums all parts. At most `most_across` threads of a block are side by side.
template <int kPiece, class From, class To>
void run(Workspace& workspace, const PoolingPlan::Parts& parts, const From* from,
         const char* counted, Index width, To* to, std::uint64_t most_across) {
  const auto pieces = as_size(ceil_div(width, kPiece));
  const auto across = std::min<std::uint64_t>(most_across, std::bit_ceil(pieces));
  const std::uint64_t down =
      std::bit_ceil(as_size(std::max<Index>(1, ceil_div(parts.longest, kAtOnce))));
  const Team team{static_cast<int>(across),
                  static_cast<int>(std::min<std::uint64_t>(kThreads / across, down))};
  const Index strips = ceil_div(static_cast<Index>(pieces), team.across);
  const Index blocks = ceil_div(parts.count, kThreads / team.threads()) * strips;
  launch("mean_pooling", pool<kPiece, From, To>, static_cast<unsigned>(blocks), kThreads, 0,
         workspace.stream(), {from, to, width, parts.begin, parts.count, counted, team, strips});
}

}  // namespace

void mean_pooling(Workspace& workspace, const PoolingProblem& problem, const PoolingPlan& plan,
                  const MutableTensorView& result) {
  const Index width = problem.width;
  if (width == 0) return;
  const Workspace::Scope scope(workspace);
  with_element(problem.x.dtype(), [&]<class T>(std::type_identity<T>) {
    const T* const x = reinterpret_cast<const T*>(problem.x.data());
    T* const out = reinterpret_cast<T*>(result.data());
    float* const sums = workspace.take<float>(plan.cut().count * width);
    const auto run_all = [&]<int kPiece, int kOfSums>() {
      constexpr int kFew = 8;  // threads side by side at most: these sums have many rows
      run<kPiece>(workspace, plan.whole(), x, plan.counted(), width, out, kThreads);
      run<kPiece>(workspace, plan.cut(), x, plan.counted(), width, sums, kThreads);
      run<kOfSums>(workspace, plan.of_sums(), sums, nullptr, width, out, kFew);
    };
    constexpr int kWide = 16 / sizeof(T);
    const auto address = [](const T* p) { return reinterpret_cast<std::uintptr_t>(p); };
    if (width % kWide == 0 && (address(x) | address(out)) % 16 == 0) {
      run_all.template operator()<kWide, 4>();
    } else {
      run_all.template operator()<1, 1>();
    }
  });
}

}  // namespace maskctl::attention::cuda
