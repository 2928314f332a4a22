// The grouped product: the float64 loops that judge it, and the fast path.
#include "maskctl/attention/operations/grouped_matmul/grouped_matmul.h"

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/round_to.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/attention/cpu/group_products.h"
#include "maskctl/attention/cpu/heads.h"
#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/tensor/convert.h"

namespace maskctl::attention {
namespace {

/// f(matrix, row) for each row that rhs has a matrix for.
template <class F>
void for_each_row(const RowGroups& groups, F&& f) {
  for (Index g = 0; g < groups.matrices(); ++g) {
    const Range places = groups.places[as_size(g)];
    for (Index place = places.begin; place < places.end; ++place) f(g, groups.row(place));
  }
}

/// What the product is added to, in the dtype asked for.
Tensor start(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options,
             const RowGroups& groups, DType dtype) {
  if (!in.existing_out) return Tensor(dtype, {groups.rows, groups.columns});
  Tensor out = astype(*in.existing_out, dtype);
  if (options.existing_out_mode == ExistingOutMode::kKeepUnprocessed) {
    const std::size_t row_bytes = as_size(groups.columns * size_bytes(dtype));
    for_each_row(groups, [&](Index, Index row) {
      std::ranges::fill(out.bytes().subspan(as_size(row) * row_bytes, row_bytes), std::byte{0});
    });
  }
  return out;
}

/// Where element (x, y) of rhs[g], or of its transpose, is.
struct RhsPlace {
  Index inner, columns;
  bool transposed;
  std::size_t operator()(Index g, Index x, Index y) const {
    return as_size(g * inner * columns + (transposed ? y * inner + x : x * columns + y));
  }
};

Tensor reference_forward(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options,
                         const RowGroups& groups) {
  const RhsPlace rhs_at{groups.inner, groups.columns, options.transpose_rhs};
  const auto lhs = doubles(in.lhs), rhs = doubles(in.rhs);
  Tensor out = start(in, options, groups, DType::kFloat64);
  for_each_row(groups, [&](Index g, Index row) {
    for (Index y = 0; y < groups.columns; ++y) {
      double& sum = out.as<double>()[as_size(row * groups.columns + y)];
      for (Index x = 0; x < groups.inner; ++x) {
        sum += lhs[as_size(row * groups.inner + x)] * rhs[rhs_at(g, x, y)];
      }
    }
  });
  return out;
}

/// Panels of a product are whole groups of columns; more than this leaves the caches.
ProductTiles tiles_of(const GroupedMatmulOptions& o) {
  ProductTiles tiles;
  if (o.block_m > 0) tiles.rows = std::min<Index>(o.block_m, 4096);
  if (o.block_n > 0) tiles.columns = round_up(std::min<Index>(o.block_n, 512), kColumnGroup);
  if (o.block_k > 0) tiles.depth = std::min<Index>(o.block_k, 1024);
  return tiles;
}

Tensor cpu_forward(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options,
                   const RowGroups& groups) {
  const Floats lhs(in.lhs), rhs(in.rhs);
  Tensor out = start(in, options, groups, DType::kFloat32);
  multiply_groups(groups, lhs.data(), groups.inner, rhs.data(), options.transpose_rhs,
                  groups.columns, tiles_of(options), out.as<float>().data());
  return out;
}

void reference_backward(const GroupedMatmulInputs& in, const Tensor& d_out,
                        const GroupedMatmulOptions& options, const RowGroups& groups,
                        GroupedMatmulGradients& gradients) {
  const RhsPlace rhs_at{groups.inner, groups.columns, options.transpose_rhs};
  const auto lhs = doubles(in.lhs), rhs = doubles(in.rhs), slope = doubles(&d_out);
  std::vector<double> d_lhs(lhs.size()), d_rhs(rhs.size());
  for_each_row(groups, [&](Index g, Index row) {
    for (Index x = 0; x < groups.inner; ++x) {
      const std::size_t at = as_size(row * groups.inner + x);
      for (Index y = 0; y < groups.columns; ++y) {
        const double dy = slope[as_size(row * groups.columns + y)];
        d_lhs[at] += dy * rhs[rhs_at(g, x, y)];
        d_rhs[rhs_at(g, x, y)] += dy * lhs[at];
      }
    }
  });
  gradients.lhs = tensor_of(d_lhs, *in.lhs);
  gradients.rhs = tensor_of(d_rhs, *in.rhs);
}

void cpu_backward(const GroupedMatmulInputs& in, const Tensor& d_out,
                  const GroupedMatmulOptions& options, const RowGroups& groups,
                  GroupedMatmulGradients& gradients) {
  const Floats lhs(in.lhs), rhs(in.rhs), slope(&d_out);
  Tensor d_lhs(DType::kFloat32, in.lhs->shape()), d_rhs(DType::kFloat32, in.rhs->shape());
  const ProductTiles tiles = tiles_of(options);
  multiply_groups(groups, slope.data(), groups.columns, rhs.data(), !options.transpose_rhs,
                  groups.inner, tiles, d_lhs.as<float>().data());
  if (options.transpose_rhs) {
    multiply_within_groups(groups, slope.data(), groups.columns, lhs.data(), groups.inner, tiles,
                           d_rhs.as<float>().data());
  } else {
    multiply_within_groups(groups, lhs.data(), groups.inner, slope.data(), groups.columns, tiles,
                           d_rhs.as<float>().data());
  }
  gradients.lhs = rounded(std::move(d_lhs), in.lhs->dtype());
  gradients.rhs = rounded(std::move(d_rhs), in.rhs->dtype());
}

}  // namespace

Tensor grouped_matmul(const GroupedMatmulInputs& in, const GroupedMatmulOptions& options) {
  const RowGroups groups = checked_row_groups(in, options);
  return rounded(options.backend == Backend::kReference ? reference_forward(in, options, groups)
                                                        : cpu_forward(in, options, groups),
                 result_dtype(in, options));
}

GroupedMatmulGradients grouped_matmul_backward(const GroupedMatmulInputs& in, const Tensor& d_out,
                                               const GroupedMatmulOptions& options) {
  const RowGroups groups = checked_row_groups(in, options);
  check_shape("d_out", d_out, std::vector<Index>{groups.rows, groups.columns});
  GroupedMatmulGradients gradients;
  if (options.backend == Backend::kReference) {
    reference_backward(in, d_out, options, groups, gradients);
  } else {
    cpu_backward(in, d_out, options, groups, gradients);
  }
  if (in.existing_out) {
    // What d_out is to a product of nothing: all of it, or the rows that no matrix wrote.
    GroupedMatmulInputs kept = in;
    kept.existing_out = &d_out;
    gradients.existing_out = start(kept, options, groups, in.existing_out->dtype());
  }
  return gradients;
}

}  // namespace maskctl::attention
