// The grouped product and its gradients on the CPU.
#include <algorithm>

#include "maskctl/attention/cpu/group_products.h"
#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/kernels.h"

namespace maskctl::attention {
namespace {

/// Panels of a product are whole groups of columns; more than this leaves the caches.
ProductTiles tiles_of(const GroupedProblem& p) {
  ProductTiles tiles;
  if (p.block_m > 0) tiles.rows = std::min<Index>(p.block_m, 4096);
  if (p.block_n > 0) tiles.columns = round_up(std::min<Index>(p.block_n, 512), kColumnGroup);
  if (p.block_k > 0) tiles.depth = std::min<Index>(p.block_k, 1024);
  return tiles;
}

}  // namespace

void cpu::grouped_forward(const GroupedProblem& p, const MutableTensorView& output,
                          const Context&) {
  const Floats lhs(p.lhs), rhs(p.rhs);
  const FloatOutput out(output);
  start_product(p.groups, p.existing_out, p.existing_out_mode,
                {reinterpret_cast<std::byte*>(out.data()), DType::kFloat32, output.shape()});
  multiply_groups(p.groups, lhs.data(), p.groups.inner, rhs.data(), p.transpose_rhs,
                  p.groups.columns, tiles_of(p), out.data());
  out.finish();
}

void cpu::grouped_backward(const GroupedProblem& p, const TensorView& d_out_array,
                           const GroupedGradientOutputs& gradients, const Context&) {
  const RowGroups& groups = p.groups;
  const Floats lhs(p.lhs), rhs(p.rhs), d_out(d_out_array);
  const FloatOutput d_lhs(gradients.lhs), d_rhs(gradients.rhs);
  d_lhs.fill(0), d_rhs.fill(0);
  const ProductTiles tiles = tiles_of(p);
  multiply_groups(groups, d_out.data(), groups.columns, rhs.data(), !p.transpose_rhs, groups.inner,
                  tiles, d_lhs.data());
  if (p.transpose_rhs) {
    multiply_within_groups(groups, d_out.data(), groups.columns, lhs.data(), groups.inner, tiles,
                           d_rhs.data());
  } else {
    multiply_within_groups(groups, lhs.data(), groups.inner, d_out.data(), groups.columns, tiles,
                           d_rhs.data());
  }
  d_lhs.finish(), d_rhs.finish();
}

}  // namespace maskctl::attention
