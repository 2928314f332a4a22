// Launches the decoding kernel (decoder.cuh): its shape for a problem, and its division of the
// work.
#include <algorithm>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/paged/decode/decode.h"
#include "maskctl/attention/cuda/paged/decode/decoder.cuh"
#include "maskctl/attention/cuda/paged/prompts/attend.cuh"

namespace maskctl::attention::cuda {

namespace {

constexpr Index kMostDim = 256, kMostDimOfTiles = 128;

/// Defined if a kernel can start before the previous kernel of its stream has ended.
#if defined(MASKCTL_CUDA_EMULATED) || __CUDA_ARCH__ >= 900
#define MASKCTL_BEGINS_EARLY
#endif

template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    decode_kernel(const __grid_constant__ DecodeCall c) {
#if defined(MASKCTL_BEGINS_EARLY)
  hopper::await_previous_kernel();
  hopper::let_next_kernel_begin();
#endif
  const int gang = static_cast<int>(blockIdx.x) / c.cut.blocks;
  const int block = static_cast<int>(blockIdx.x) % c.cut.blocks;
  const DecodeShare share = c.line.shares[gang];
  if (share.begin == share.end) return;
  Decoder<Shape>(c, share, gang, block).run();
}

/// Calls f with the DecodeShape for a problem with elements T. For 256 dimensions 16 vectors do not
/// fit in registers, so each block has at most 8.
template <class T, class F>
void with_shape(const PagedProblem& problem, Index usual_rows, F&& f) {
  const bool are_few = problem.group() <= 8 && usual_rows <= 1;
  if (problem.cache.dim > 128) return f(DecodeShape<T, 256, 8>());
  if (problem.cache.dim > 64) {
    return are_few ? f(DecodeShape<T, 128, 8>()) : f(DecodeShape<T, 128, 16>());
  }
  are_few ? f(DecodeShape<T, 64, 8>()) : f(DecodeShape<T, 64, 16>());
}

template <class Shape>
Index pieces_of(const PagedProblem& problem) {
  return ceil_div(problem.group(), Shape::kVectors);
}

template <class Shape>
DecodeCut cut_of(const PagedProblem& problem) {
  const Index blocks = problem.cache.heads * pieces_of<Shape>(problem);
  const Index at_once = properties_in_use().multiprocessors;
  DecodeCut cut;
  cut.blocks = static_cast<int>(blocks);
  cut.gangs = static_cast<int>(std::max<Index>(at_once / blocks, 1));
  cut.step_keys = Shape::kStepKeys;
  if (Shape::kHasManyRows) {
    cut.rows = static_cast<int>(std::max<Index>(Shape::kVectors / problem.group(), 1));
  }
  return cut;
}

DecodeCut cut_of(const PagedProblem& problem, Index usual_rows) {
  DecodeCut cut;
  with_shape<__half>(problem, usual_rows,
                     [&](auto shape) { cut = cut_of<decltype(shape)>(problem); });
  return cut;
}

std::size_t row_bytes(Index rows) { return as_size(rows + 1) * sizeof(DecodeRow); }

/// Returns a DecodeLine whose arrays lie in `memory`, which has line_bytes() bytes: first the rows,
/// then the shares.
DecodeLine line_in(std::byte* memory, Index rows) {
  return {reinterpret_cast<DecodeRow*>(memory),
          reinterpret_cast<DecodeShare*>(memory + row_bytes(rows))};
}
std::size_t line_bytes(const DecodeCut& cut, Index rows) {
  return row_bytes(rows) + as_size(cut.gangs) * sizeof(DecodeShare);
}

template <class Shape>
void run(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan, AnyResult out) {
  const Stream stream = workspace.stream();
  DecodeCall call{};
  call.p = call_of(problem, plan);
  call.cut = cut_of<Shape>(problem);
  call.pieces = static_cast<int>(pieces_of<Shape>(problem));
  call.out = out;
  const Index all = Index{call.cut.gangs} * call.cut.blocks;
  if (plan.divided_work()) {
    call.line = line_in(plan.divided_work(), call.p.rows);
  } else {
    std::byte* const memory =
        workspace.take<std::byte>(static_cast<Index>(line_bytes(call.cut, call.p.rows)));
    call.line = line_in(memory, call.p.rows);
    const Source source = checked_source(workspace, call.p, plan);
    const Prompts prompts = attend_prompts(workspace, problem, call.p, plan, source, out);
    lay_line(stream, call.p, source, prompts, call.cut, call.line);
  }
  if (call.cut.gangs > 1) {
    call.parts = workspace.take<float>(2 * all * Shape::kPartFloats);
    call.arrivals = workspace.counters(all);
  }
  const auto launched =
      properties_in_use().major == 9 ? hopper::launch_early<DecodeCall> : launch<DecodeCall>;
  launched("decode", decode_kernel<Shape>, static_cast<unsigned>(all), Shape::kThreads,
           Shape::kSharedBytes, stream, call);
}

}  // namespace

bool decodes(const PagedProblem& problem, Index usual_rows) {
  const PagedCache& cache = problem.cache;
  constexpr Index kMostUnits = Index{1} << 32;  // 16-byte units of the cache have 32-bit indices
  const Index strides = cache.page_stride | cache.slot_stride | cache.head_stride | cache.dim;
  if (size_bytes(cache.dtype) != 2 || problem.queries.dtype() != cache.dtype ||
      cache.dim > (usual_rows > 1 ? kMostDimOfTiles : kMostDim) || strides % 8 != 0 ||
      cache.extent() / 8 + 1 >= kMostUnits) {
    return false;
  }
  std::size_t bytes = 0;
  with_shape<__half>(problem, usual_rows,
                     [&](auto shape) { bytes = decltype(shape)::kSharedBytes; });
  return bytes <= properties_in_use().block_bytes;
}

std::size_t divided_work_bytes(const PagedProblem& problem, Index usual_rows) {
  return line_bytes(cut_of(problem, usual_rows), problem.rows());
}

void divide_work(const PagedProblem& problem, const PagedPlan& plan, Stream stream) {
  lay_line(stream, call_of(problem, plan), {plan.sequences(), plan.arrays(), nullptr, nullptr}, {},
           cut_of(problem, plan.usual_rows(problem.rows())),
           line_in(plan.divided_work(), problem.rows()));
}

void decode(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
            const MutableTensorView& out) {
  const AnyResult results{out.data(), out.dtype()};
  hopper::with_16_bits(problem.cache.dtype, [&]<class T>(std::type_identity<T>) {
    with_shape<T>(problem, plan.usual_rows(problem.rows()),
                  [&](auto shape) { run<decltype(shape)>(workspace, problem, plan, results); });
  });
}

}  // namespace maskctl::attention::cuda
