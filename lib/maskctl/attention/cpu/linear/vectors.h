// What the linear family does to rows besides products: scaling them and summing gates, f32, for
// several instruction sets.
#pragma once

#include <span>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/attention/cpu/linear/heads.h"

namespace maskctl::attention {

/// A logarithm of decays outside +-this ends a segment, so that neither the product of the decays
/// nor its inverse overflows.
inline constexpr float kMaxLogDecay = 30;

/// What cell x of row t is multiplied by: factor * by_row[t] * by_column[x] * cells[t * width + x],
/// or divided by the cell. Null: 1.
struct Scaling {
  float factor = 1;
  const float* by_row = nullptr;
  const float* by_column = nullptr;
  const float* cells = nullptr;
  bool divides = false;  // divides by `cells` instead of multiplying

  bool is_one() const { return factor == 1 && !by_row && !by_column && !cells; }
};

/// Rows 0 .. count - 1 of `to` = (with `adds`, +=) rows of `from`, scaled. `from` may be `to`.
void scale_rows(const Rows& from, Index count, Index width, const Scaling& by,
                const RowsOf<float>& to, bool adds = false);

/// In the rows t of `tokens`: scores[t][s] *= pair[t * pair_stride + s] for s < t, unless pair is
/// null, and 0 in the kRowGroup columns after t, as far as the stride. scores[t][t] goes to own[t],
/// unless own is null, and becomes 0.
void mask_later(const RowsOf<float>& scores, Range tokens, const float* pair, Index pair_stride,
                float* own);

/// sums [count,width]: 0 in row 0, then row by row the gates, of which at least one has data, added
/// up. Returns how many rows come before the first with a sum outside +-kMaxLogDecay or NaN.
Index sum_gates(std::span<const Rows> gates, Index count, Index width, float* sums);

/// Rows a and b, whose products belong together; strides in floats.
struct RowPair {
  Rows a, b;
};

/// For the rows t of `tokens` from the last to the first: carry[x] += plus.a[t][x] plus.b[t][x] -
/// minus.a[t][x] minus.b[t][x]; sums[t * width + x] = carry[x]; and, where given, totals[t] = the
/// sum of carry.
void sum_back(const RowPair& plus, const RowPair& minus, Range tokens, Index width, double* carry,
              float* sums, double* totals);

/// by_row[x] = the sum over y of a[x][y] b[x][y]; by_column[y], where given, the sum over x. Rows
/// of `stride` floats.
void sum_products(const float* a, const float* b, Index stride, Index rows, Index columns,
                  double* by_row, double* by_column);

}  // namespace maskctl::attention
