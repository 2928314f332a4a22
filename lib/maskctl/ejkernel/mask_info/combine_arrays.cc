// Combines two mask arrays, with numpy's broadcasting over all axes.
#include <fmt/core.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/ejkernel/mask_info/broadcast.h"
#include "maskctl/ejkernel/mask_info/mask_array.h"
#include "maskctl/ejkernel/mask_info/python_error.h"
#include "maskctl/mask/arrays/dense.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/apply_op.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Broadcasts a plane whose number of queries or keys is 1. The result consists of runs and bands,
/// not of a dense array.
PlanePtr stretched(const PlanePtr& plane, Index queries, Index keys) {
  if (plane->queries() == queries && plane->keys() == keys) return plane;
  if (queries == 0 || keys == 0) return empty_plane(queries, keys);
  PlanePtr wide = plane;
  if (wide->keys() != keys) {
    std::vector<std::uint8_t> open(static_cast<std::size_t>(wide->queries()));
    dense_rows(*wide, {0, wide->queries()}, open);
    wide = query_flags(open, keys);
  }
  if (wide->queries() == queries) return wide;
  std::vector<std::uint8_t> open(static_cast<std::size_t>(keys));
  dense_rows(*wide, {0, 1}, open);
  return key_flags(queries, open);
}

/// Returns the mask of an array. An array of rank 0 or 1 becomes a mask with a single query.
Mask mask_of(const MaskArray& array) {
  if (array.rank() >= 2) return array.mask();
  Tensor row = array.tensor();
  row.reshape({1, row.elements()});
  return mask_from_dense(row);
}

MaskArray combine_lazy(Op op, const MaskArray& a, const MaskArray& b,
                       std::span<const Index> shape) {
  const Index queries = shape[shape.size() - 2], keys = shape[shape.size() - 1];
  const auto operand = [&](const MaskArray& array) {
    return mask_of(array).map(
        [&](const PlanePtr& plane) { return stretched(plane, queries, keys); });
  };
  return MaskArray(zip(op, operand(a), operand(b)), static_cast<Index>(shape.size()), DType::kBool);
}

MaskArray combine_dense(Op op, const MaskArray& a, const MaskArray& b, std::vector<Index> shape) {
  const Tensor left = astype(a.tensor(), DType::kBool);
  const Tensor right = astype(b.tensor(), DType::kBool);
  const auto x = left.as<std::uint8_t>(), y = right.as<std::uint8_t>();
  Tensor out(DType::kBool, std::move(shape));
  const auto to = out.as<std::uint8_t>();
  std::size_t at = 0;
  for_each_broadcast(out.shape(), a.shape(), b.shape(), [&](std::size_t i, std::size_t j) {
    to[at++] = apply_op(op, x[i] != 0, y[j] != 0);
  });
  return MaskArray(out);
}

}  // namespace

std::vector<Index> broadcast_shape(std::span<const Index> a, std::span<const Index> b) {
  std::vector<Index> shape(std::max(a.size(), b.size()));
  for (std::size_t i = 1; i <= shape.size(); ++i) {
    const Index x = i <= a.size() ? a[a.size() - i] : 1;
    const Index y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw PythonError(PythonType::kTypeError,
                        fmt::format("got incompatible shapes for broadcasting: {}, {}",
                                    shape_text(a), shape_text(b)));
    }
    shape[shape.size() - i] = x == 1 ? y : x;
  }
  return shape;
}

MaskArray combine(Op op, const MaskArray& a, const MaskArray& b) {
  std::vector<Index> shape = broadcast_shape(a.shape(), b.shape());
  if (shape.size() >= 2 && shape.size() <= 4) return combine_lazy(op, a, b, shape);
  return combine_dense(op, a, b, std::move(shape));
}

}  // namespace maskctl
