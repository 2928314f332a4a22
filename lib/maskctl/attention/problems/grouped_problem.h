// A grouped matrix product: the checked problem that kernels receive.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/base/index.h"
#include "maskctl/tensor/tensor_view.h"

namespace maskctl::attention {

/// Which rows of lhs each matrix of rhs multiplies.
struct RowGroups {
  Index rows = 0, inner = 0, columns = 0;  // m, k, n of the product [m,k] [k,n]
  /// For each matrix, the range of its rows as positions in `order`.
  std::vector<Range> positions;
  /// The row at each position: rows sorted by matrix, otherwise in their old order. Empty: row i is
  /// at position i.
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
  bool adds_everywhere = true;  // false: existing_out is kept only in rows that no matrix writes
  Index block_m = 0, block_n = 0, block_k = 0;  // hints, as in GroupedMatmulOptions
};

/// Gradients, with the shapes and dtypes of the inputs.
struct GroupedGradientOutputs {
  MutableTensorView lhs, rhs;
};

/// Calls f(matrix, row) for each row that belongs to a matrix of rhs.
template <class F>
void for_each_row(const RowGroups& groups, F&& f) {
  for (Index g = 0; g < groups.matrices(); ++g) {
    const Range positions = groups.positions[as_size(g)];
    for (Index p = positions.begin; p < positions.end; ++p) f(g, groups.row(p));
  }
}

/// Initializes `out` [m,n], to which the product is then added: with existing_out (everywhere, or
/// only in rows that no matrix writes), and with 0 elsewhere.
void start_product(const RowGroups& groups, const std::optional<TensorView>& existing_out,
                   bool everywhere, const MutableTensorView& out);

}  // namespace maskctl::attention
