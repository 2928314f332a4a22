// Grouped matrix products in float64 and plain loops.
#include <vector>

#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/kernels/reference/kernels.h"

namespace maskctl::attention {
namespace {

/// The index of element (x, y) of rhs[g], or of its transpose, in rhs.
struct RhsIndex {
  Index inner, columns;
  bool transposed;
  std::size_t operator()(Index g, Index x, Index y) const {
    return as_size(g * inner * columns + (transposed ? y * inner + x : x * columns + y));
  }
};

}  // namespace

void reference::grouped_forward(const GroupedProblem& p, const MutableTensorView& output,
                                const Context&) {
  const RowGroups& groups = p.groups;
  const RhsIndex rhs_at{groups.inner, groups.columns, p.transpose_rhs};
  const std::vector<double> lhs = to_double(p.lhs), rhs = to_double(p.rhs);
  Tensor out = Tensor::unwritten(DType::kFloat64, {groups.rows, groups.columns});
  start_product(groups, p.existing_out, p.adds_everywhere, out);
  for_each_row(groups, [&](Index g, Index row) {
    for (Index y = 0; y < groups.columns; ++y) {
      double& sum = out.as<double>()[as_size(row * groups.columns + y)];
      for (Index x = 0; x < groups.inner; ++x) {
        sum += lhs[as_size(row * groups.inner + x)] * rhs[rhs_at(g, x, y)];
      }
    }
  });
  convert(out, output);
}

void reference::grouped_backward(const GroupedProblem& p, const TensorView& d_out_array,
                                 const GroupedGradientOutputs& gradients, const Context&) {
  const RowGroups& groups = p.groups;
  const RhsIndex rhs_at{groups.inner, groups.columns, p.transpose_rhs};
  const std::vector<double> lhs = to_double(p.lhs), rhs = to_double(p.rhs);
  const std::vector<double> d_out = to_double(d_out_array);
  std::vector<double> d_lhs(lhs.size()), d_rhs(rhs.size());
  for_each_row(groups, [&](Index g, Index row) {
    for (Index x = 0; x < groups.inner; ++x) {
      const std::size_t at = as_size(row * groups.inner + x);
      for (Index y = 0; y < groups.columns; ++y) {
        const double dy = d_out[as_size(row * groups.columns + y)];
        d_lhs[at] += dy * rhs[rhs_at(g, x, y)];
        d_rhs[rhs_at(g, x, y)] += dy * lhs[at];
      }
    }
  });
  store(d_lhs, gradients.lhs);
  store(d_rhs, gradients.rhs);
}

}  // namespace maskctl::attention
