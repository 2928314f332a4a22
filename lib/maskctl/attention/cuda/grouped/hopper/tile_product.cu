// Grouped products on the tensor cores of Hopper GPUs.
//
// Blocks are persistent and compute tiles of 128 x 256 elements. The two blocks of a cluster
// compute vertically adjacent tiles and load the right factor once for both. One thread loads
// factors to a ring of stages in shared memory; two warpgroups compute 64 rows of the tile each. A
// group's last tile may load rows of the next group: they are not stored, or set to zero where rows
// are summed.
#include <algorithm>
#include <limits>

#include "maskctl/attention/cuda/gpus.h"
#include "maskctl/attention/cuda/grouped/hopper/tile_product.cuh"
#include "maskctl/attention/cuda/grouped/hopper/tile_product.h"
#include "maskctl/attention/cuda/hopper/gpu.h"
#include "maskctl/attention/cuda/hopper/tensor_map.cuh"

namespace maskctl::attention::cuda::hopper {
namespace {

constexpr int kEight = 8;  // elements in 16 bytes

template <class Shape>
__global__ void __cluster_dims__(kClusterBlocks) __launch_bounds__(Shape::kThreads, 1)
    grouped_kernel(const __grid_constant__ GroupedCall call) {
  using Memory = GroupedMemory<Shape>;
  Memory& memory = block_memory<Memory>();
  if (threadIdx.x == 0) memory.init();
  meet_cluster();
  if (threadIdx.x < 128) {
    give_registers<Shape::kFew>();
    if (threadIdx.x == 0) GroupedProducer<Shape>(call, memory).run();
  } else {
    take_registers<Shape::kMany>();
    GroupedConsumer<Shape>(call, memory).run();
  }
  meet_cluster();
}

constexpr int kCopyThreads = 256;

/// to[n] = from[rows[n]], for rows of `width` pieces of 16 bytes.
__global__ void __launch_bounds__(kCopyThreads)
    copy_rows(const uint4* from, const Index* rows, Index count, Index width, uint4* to) {
  const Index n = Index{blockIdx.x} * kCopyThreads + threadIdx.x;
  if (n < count * width) to[n] = from[rows[n / width] * width + n % width];
}

constexpr Index kMostCoordinate = std::numeric_limits<int>::max() / 2;

/// Whether an array [rows,width] is aligned for the copy engine and for 16-byte accesses.
bool is_even(const void* array, Index width) {
  return width > 0 && width <= kMostCoordinate && width % kEight == 0 &&
         reinterpret_cast<std::uintptr_t>(array) % 16 == 0;
}
bool has_rows(const GroupedPlan& plan) {
  return plan.tiles_with_matrix() > 0 && plan.row_count() <= kMostCoordinate;
}

/// A tensor map of matrices [G,height,width] for boxes of 64 x 64 elements.
CUtensorMap matrix_map(AnyArray array, Index matrices, Index height, Index width) {
  const HeadsView view{array.data, array.dtype, matrices * height * width, width, height * width};
  return tensor_map(view, 1, height, matrices, width, 64);
}

template <class Shape>
void run(Workspace& workspace, const GroupedCall& call) {
  const int blocks =
      kClusterBlocks *
      std::min(tile_count<Shape>(call), properties_in_use().multiprocessors / kClusterBlocks);
  launch("grouped product on tensor cores", grouped_kernel<Shape>, static_cast<unsigned>(blocks),
         Shape::kThreads, block_bytes<GroupedMemory<Shape>>(), workspace.stream(), call);
}

}  // namespace

bool takes(const GroupedPlan& plan, const RowProduct& p) {
  const DType dtype = p.left.dtype, result = p.out.dtype;
  return unavailable().empty() && has_rows(plan) && size_bytes(dtype) == 2 &&
         p.matrices.dtype == dtype && (result == dtype || result == DType::kFloat32) &&
         is_even(p.left.data, p.depth) && is_even(p.matrices.data, p.depth) &&
         is_even(p.out.data, p.columns);
}
bool takes(const GroupedPlan& plan, const ColumnProduct& p) {
  const DType dtype = p.left.dtype;
  return unavailable().empty() && has_rows(plan) && size_bytes(dtype) == 2 &&
         p.right.dtype == dtype && p.out.dtype == dtype && is_even(p.left.data, p.height) &&
         is_even(p.right.data, p.width) && is_even(p.out.data, p.width);
}

AnyArray in_order(Workspace& workspace, const GroupedPlan& plan, AnyArray array, Index width) {
  if (plan.is_in_order()) return array;
  const Index pieces = width / kEight, count = plan.row_count() * pieces;
  auto* const sorted = workspace.take<uint4>(count);
  launch("rows in order", copy_rows, static_cast<unsigned>(ceil_div(count, kCopyThreads)),
         kCopyThreads, 0, workspace.stream(), static_cast<const uint4*>(array.data), plan.rows(),
         plan.row_count(), pieces, sorted);
  return {sorted, array.dtype};
}

void multiply(Workspace& workspace, const GroupedPlan& plan, const RowProduct& p) {
  with_16_bits(p.left.dtype, [&]<class T>(std::type_identity<T>) {
    const auto with = [&]<class Shape>(Shape) {
      GroupedCall call{};
      call.left = matrix_map(p.left, 1, plan.row_count(), p.depth);
      call.right = p.transposed ? matrix_map(p.matrices, plan.matrices(), p.columns, p.depth)
                                : matrix_map(p.matrices, plan.matrices(), p.depth, p.columns);
      call.out = p.out;
      if (p.adds(true)) call.added = p.added;
      call.columns = p.columns, call.depth = static_cast<int>(p.depth);
      call.parts = plan.large_tiles(), call.part_count = static_cast<int>(plan.large_tile_count());
      if (!plan.is_in_order()) call.rows = plan.rows();
      run<Shape>(workspace, call);
    };
    if (p.transposed) return with(GroupedShape<T, Grouped::kRowsTransposed>());
    with(GroupedShape<T, Grouped::kRows>());
  });
}

void multiply(Workspace& workspace, const GroupedPlan& plan, const ColumnProduct& p) {
  with_16_bits(p.left.dtype, [&]<class T>(std::type_identity<T>) {
    using Shape = GroupedShape<T, Grouped::kColumns>;
    GroupedCall call{};
    call.left = matrix_map(p.left, 1, plan.row_count(), p.height);
    call.right = matrix_map(p.right, 1, plan.row_count(), p.width);
    call.out = p.out;
    call.height = p.height, call.columns = p.width;
    call.parts = plan.by_size(), call.part_count = static_cast<int>(plan.matrices());
    run<Shape>(workspace, call);
  });
}

}  // namespace maskctl::attention::cuda::hopper
