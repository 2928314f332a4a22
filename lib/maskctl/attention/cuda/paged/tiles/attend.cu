// Launches the blocks that attend over pages (block.cuh). Where the keys of a tile are split, a
// second kernel merges the parts in their order.
#include "maskctl/attention/cuda/paged/tiles/attend.h"
#include "maskctl/attention/cuda/paged/tiles/block.cuh"
#include "maskctl/attention/cuda/paged/tiles/merge.cuh"

namespace maskctl::attention::cuda {
namespace {

__device__ void write_nan(const PagedCall& c, const Task& task, AnyResult out) {
  for (int v = 0; v < task.vectors; ++v) {
    const Index to = element_of(c, task, v);
    for (Index x = threadIdx.x; x < c.dim; x += blockDim.x) put(out, to + x, nanf(""));
  }
}

template <class T, int kHeld>
__global__ void __launch_bounds__(kMostThreads, kHeld == 4 ? 3 : 2)
    attend(const PagedCall c, const Tiling t, const Scheduled* entries, Index count,
           const Parts parts, const AnyResult out) {
  if (blockIdx.x >= entries[count].first_task) return;
  const Task task = read_task(c, entry_of(entries, count, blockIdx.x), t.vectors);
  if (!task.is_valid) return write_nan(c, task, out);
  Attention<T, kHeld> attention(c, t, task);
  attention.run();
  if (task.splits == 1) {
    attention.write_results(out);
  } else {
    attention.write_part(parts);
  }
}

template <class T, int kHeld>
void launch_attend(Stream stream, const PagedCall& call, const Tiling& t, unsigned tasks,
                   const Scheduled* entries, Index count, const Parts& parts, AnyResult out) {
  launch("paged", attend<T, kHeld>, tasks, t.threads, t.shared_bytes, stream, call, t, entries,
         count, parts, out);
}

}  // namespace

void attend_tiles(Workspace& workspace, const PagedProblem& problem, const PagedPlan& plan,
                  const MutableTensorView& out) {
  const Stream stream = workspace.stream();
  fill_bytes(out.data(), 0, as_size(out.elements() * size_bytes(out.dtype())), stream);
  const PagedCall call = call_of(problem, plan);
  const Tiling t = tiling(problem, plan.usual_rows(call.rows));
  const ScheduleBounds bounds = schedule_bounds(call, plan, problem.cache, t.vectors);
  const Index count = plan.arrays().sequences, part_vectors = bounds.parts * t.vectors;
  const Scheduled* const entries = make_schedule(workspace, call, plan, bounds);
  const Parts parts{workspace.take<float>(part_vectors), workspace.take<float>(part_vectors),
                    workspace.take<float>(part_vectors * call.dim)};
  const AnyResult results{out.data(), out.dtype()};
  const auto tasks = static_cast<unsigned>(bounds.tasks);
  with_element(problem.cache.dtype, [&]<class T>(std::type_identity<T>) {
    const auto run = t.held == 4 ? launch_attend<T, 4> : launch_attend<T, 8>;
    run(stream, call, t, tasks, entries, count, parts, results);
  });
  if (bounds.parts == 0) return;
  merge_splits(stream, call, t, tasks, entries, count, parts, results);
}

}  // namespace maskctl::attention::cuda
