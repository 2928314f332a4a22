// One grouped product, checked, as kernels take it.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Which rows each matrix multiplies.
struct RowGroups {
  Index rows = 0, inner = 0, columns = 0;  // m, k, n
  /// For each matrix of rhs, the positions of its rows in `order`.
  std::vector<Range> positions;
  /// Rows by group, in order within each group; empty: row i is at index i.
  std::vector<Index> order;

  Index row(Index position) const { return order.empty() ? position : order[as_size(position)]; }
  Index matrices() const { return static_cast<Index>(positions.size()); }
};

struct GroupedProblem {
  RowGroups groups;
  TensorView lhs;                          // [m,k]
  TensorView rhs;                          // [G,k,n]; [G,n,k] when transposed
  std::optional<TensorView> existing_out;  // [m,n]
  bool transpose_rhs = false;
  bool adds_everywhere = true;  // false: existing_out stays only in rows that no matrix writes
  Index block_m = 0, block_n = 0, block_k = 0;  // hints, as in GroupedMatmulOptions
};

/// In the shapes and dtypes of the inputs.
struct GroupedGradientOutputs {
  MutableTensorView lhs, rhs;
};

/// Calls f(matrix, row) for each row that rhs has a matrix for.
template <class F>
void for_each_row(const RowGroups& groups, F&& f) {
  for (Index g = 0; g < groups.matrices(); ++g) {
    const Range positions = groups.positions[as_size(g)];
    for (Index p = positions.begin; p < positions.end; ++p) f(g, groups.row(p));
  }
}

/// Writes what the product is added to, in the dtype of `out` [m,n]: existing_out, everywhere or
/// only in rows that no matrix writes, and 0 elsewhere.
void start_product(const RowGroups& groups, const std::optional<TensorView>& existing_out,
                   bool everywhere, const MutableTensorView& out);

}  // namespace maskctl::attention
