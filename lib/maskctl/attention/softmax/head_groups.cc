// Copies and sums along the axis of heads.
#include "maskctl/attention/softmax/head_groups.h"

#include <algorithm>

#include "maskctl/attention/arrays/checks.h"
#include "maskctl/attention/arrays/to_double.h"
#include "maskctl/base/threads.h"

namespace maskctl::attention {
namespace {

/// The number of elements of one head in [B,H,...].
Index head_elements(const Tensor& x) {
  Index n = 1;
  for (Index axis = 2; axis < x.rank(); ++axis) n *= x.extent(axis);
  return n;
}

std::vector<Index> with_heads(const Tensor& x, Index heads) {
  std::vector<Index> shape = x.shape();
  shape[1] = heads;
  return shape;
}

}  // namespace

Tensor repeat_heads(const Tensor& x, Index group) {
  Tensor out(x.dtype(), with_heads(x, x.extent(1) * group));
  const std::size_t bytes = as_size(head_elements(x) * size_bytes(x.dtype()));
  for (Index n = 0; n < x.extent(0) * x.extent(1) * group; ++n) {
    std::ranges::copy(x.bytes().subspan(as_size(n / group) * bytes, bytes),
                      out.bytes().subspan(as_size(n) * bytes).begin());
  }
  return out;
}

Tensor sum_head_groups(const Tensor& x, Index heads) {
  const Index group = x.extent(1) / heads, n = head_elements(x);
  const std::vector<double> terms = to_double(x);
  std::vector<double> sums(as_size(x.extent(0) * heads * n));
  for (Index h = 0; h < x.extent(0) * heads * group; ++h) {
    for (Index i = 0; i < n; ++i) sums[as_size(h / group * n + i)] += terms[as_size(h * n + i)];
  }
  return tensor_of(sums, x.dtype(), with_heads(x, heads));
}

Tensor swap_heads_and_time(const Tensor& x, const char* what) {
  check_rank(what, &x, 4);
  const Index rows = x.extent(1), columns = x.extent(2);
  const Index bytes = x.extent(3) * size_bytes(x.dtype());
  Tensor out(x.dtype(), {x.extent(0), columns, rows, x.extent(3)});
  parallel_for(x.extent(0) * rows, [&](Index n) {
    const Index b = n / rows, r = n % rows;
    for (Index c = 0; c < columns; ++c) {
      std::copy_n(x.bytes().data() + (n * columns + c) * bytes, bytes,
                  out.bytes().data() + ((b * columns + c) * rows + r) * bytes);
    }
  });
  return out;
}

}  // namespace maskctl::attention
