// Products of dense matrices, compiled for several instruction sets.
#include <algorithm>
#include <array>

#include "maskctl/attention/cpu/simd_targets.h"
#include "maskctl/verify/solve/dense.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "maskctl/verify/solve/products.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace maskctl::attention::solving {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, 8>;
using V = hn::Vec<D>;

/// Depth, rows and columns of the blocks that are multiplied, chosen to fit the caches.
constexpr Index kDepth = 256, kRows = 4, kMostColumns = 24;

/// c[4, 3 vectors] += a[4, depth] b[depth, 3 vectors]. Rows of a are `stride_a` apart, rows of c
/// `stride_c`.
HWY_ATTR void add_block(const double* a, Index stride_a, const double* b, Index depth, double* c,
                        Index stride_c) {
  const D d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  double* const c1 = c + stride_c;
  double* const c2 = c1 + stride_c;
  double* const c3 = c2 + stride_c;
  V v00 = hn::LoadU(d, c), v01 = hn::LoadU(d, c + step), v02 = hn::LoadU(d, c + 2 * step);
  V v10 = hn::LoadU(d, c1), v11 = hn::LoadU(d, c1 + step), v12 = hn::LoadU(d, c1 + 2 * step);
  V v20 = hn::LoadU(d, c2), v21 = hn::LoadU(d, c2 + step), v22 = hn::LoadU(d, c2 + 2 * step);
  V v30 = hn::LoadU(d, c3), v31 = hn::LoadU(d, c3 + step), v32 = hn::LoadU(d, c3 + 2 * step);
  for (Index k = 0; k < depth; ++k, b += 3 * step) {
    const V b0 = hn::LoadU(d, b), b1 = hn::LoadU(d, b + step), b2 = hn::LoadU(d, b + 2 * step);
    V x = hn::Set(d, a[k]);
    v00 = hn::MulAdd(x, b0, v00), v01 = hn::MulAdd(x, b1, v01), v02 = hn::MulAdd(x, b2, v02);
    x = hn::Set(d, a[stride_a + k]);
    v10 = hn::MulAdd(x, b0, v10), v11 = hn::MulAdd(x, b1, v11), v12 = hn::MulAdd(x, b2, v12);
    x = hn::Set(d, a[2 * stride_a + k]);
    v20 = hn::MulAdd(x, b0, v20), v21 = hn::MulAdd(x, b1, v21), v22 = hn::MulAdd(x, b2, v22);
    x = hn::Set(d, a[3 * stride_a + k]);
    v30 = hn::MulAdd(x, b0, v30), v31 = hn::MulAdd(x, b1, v31), v32 = hn::MulAdd(x, b2, v32);
  }
  hn::StoreU(v00, d, c), hn::StoreU(v01, d, c + step), hn::StoreU(v02, d, c + 2 * step);
  hn::StoreU(v10, d, c1), hn::StoreU(v11, d, c1 + step), hn::StoreU(v12, d, c1 + 2 * step);
  hn::StoreU(v20, d, c2), hn::StoreU(v21, d, c2 + step), hn::StoreU(v22, d, c2 + 2 * step);
  hn::StoreU(v30, d, c3), hn::StoreU(v31, d, c3 + step), hn::StoreU(v32, d, c3 + 2 * step);
}

/// add_block() at the borders, where only `rows` rows and `columns` columns exist.
HWY_ATTR void add_part(const double* a, Index stride_a, const double* b, Index depth, Index rows,
                       Index columns, double* c, Index stride_c) {
  const Index width = 3 * static_cast<Index>(hn::Lanes(D()));
  std::array<double, as_size(kRows * kDepth)> some{};
  std::array<double, as_size(kRows * kMostColumns)> sums{};
  for (Index i = 0; i < rows; ++i) {
    std::copy_n(a + i * stride_a, depth, &some[as_size(i * kDepth)]);
    std::copy_n(c + i * stride_c, columns, &sums[as_size(i * width)]);
  }
  add_block(some.data(), kDepth, b, depth, sums.data(), width);
  for (Index i = 0; i < rows; ++i) {
    std::copy_n(&sums[as_size(i * width)], columns, c + i * stride_c);
  }
}

/// c[m,n] = a[m,k] b[k,n]; if `transposed`, c[m,n] = a[m,k] b[n,k]^T.
HWY_ATTR void multiply_all(const double* a, const double* b, Index m, Index k, Index n,
                           bool transposed, double* c) {
  const Index width = 3 * static_cast<Index>(hn::Lanes(D()));
  std::array<double, as_size(kDepth * kMostColumns)> packed;
  std::fill_n(c, m * n, 0.0);
  for (Index from = 0; from < k; from += kDepth) {
    const Index depth = std::min(kDepth, k - from);
    for (Index j = 0; j < n; j += width) {
      const Index columns = std::min(width, n - j);
      if (columns < width) packed.fill(0);
      if (transposed) {
        for (Index x = 0; x < columns; ++x) {
          const double* const row = b + (j + x) * k + from;
          for (Index p = 0; p < depth; ++p) packed[as_size(p * width + x)] = row[p];
        }
      } else {
        for (Index p = 0; p < depth; ++p) {
          std::copy_n(b + (from + p) * n + j, columns, &packed[as_size(p * width)]);
        }
      }
      for (Index i = 0; i < m; i += kRows) {
        const double* const rows = a + i * k + from;
        double* const to = c + i * n + j;
        if (columns == width && m - i >= kRows) {
          add_block(rows, k, packed.data(), depth, to, n);
        } else {
          add_part(rows, k, packed.data(), depth, std::min(kRows, m - i), columns, to, n);
        }
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace maskctl::attention::solving
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace maskctl::attention::solving {

HWY_EXPORT(multiply_all);

void multiply(const double* a, const double* b, Index m, Index k, Index n, double* c) {
  HWY_DYNAMIC_DISPATCH(multiply_all)(a, b, m, k, n, false, c);
}

void multiply_transposed(const double* a, const double* b, Index m, Index k, Index n, double* c) {
  if (m == 1) return multiply_vector(b, a, n, k, c);
  HWY_DYNAMIC_DISPATCH(multiply_all)(a, b, m, k, n, true, c);
}

}  // namespace maskctl::attention::solving
#endif  // HWY_ONCE
