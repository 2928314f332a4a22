// Operations of linear attention on rows, besides matrix products: scaling rows and summing gates.
// In f32, compiled for several instruction sets.
#pragma once

#include <span>

#include "maskctl/attention/cpu/kernel.h"
#include "maskctl/kernels/cpu/linear/heads.h"

namespace maskctl::attention {

/// A chunk of tokens is split into segments, so that a sum of log decays inside a segment never
/// leaves [-kMaxLogDecay, kMaxLogDecay]: neither the product of the decays nor its inverse
/// overflows.
inline constexpr float kMaxLogDecay = 30;

/// The factor of element x in row t: factor * by_row[t] * by_column[x] * cells[t * width + x]; with
/// `divides`, the first three are divided by the cell. A null pointer stands for 1.
struct Scaling {
  float factor = 1;
  const float* by_row = nullptr;
  const float* by_column = nullptr;
  const float* cells = nullptr;
  bool divides = false;  // divides by `cells` instead of multiplying

  bool is_one() const { return factor == 1 && !by_row && !by_column && !cells; }
};

/// Rows 0 .. count - 1: to = scaled `from`, or += with `adds`. `from` may be equal to `to`.
void scale_rows(const Rows& from, Index count, Index width, const Scaling& by,
                const RowsOf<float>& to, bool adds = false);

/// For each row t in `tokens`: multiplies scores[t][s] by pair[t * pair_stride + s] for s < t
/// (unless pair is null), and zeroes the kRowGroup columns after t, up to the stride. If `own` is
/// not null, moves scores[t][t] to own[t] and leaves 0.
void mask_later(const RowsOf<float>& scores, Range tokens, const float* pair, Index pair_stride,
                float* own);

/// Cumulative sums of the gates, [count,width]: row 0 is 0, and row t is the sum of the gates of
/// rows 1 .. t. At least one gate must have data. Returns the number of rows before the first that
/// contains NaN or leaves +-kMaxLogDecay.
Index sum_gates(std::span<const Rows> gates, Index count, Index width, float* sums);

/// Two arrays of rows that are multiplied element by element; strides in floats.
struct RowPair {
  Rows a, b;
};

/// For each row t in `tokens`, from the last to the first: carry[x] += plus.a[t][x] * plus.b[t][x]
/// - minus.a[t][x] * minus.b[t][x], then sums[t * width + x] = carry[x] and, if totals is not null,
/// totals[t] = the sum of carry.
void sum_back(const RowPair& plus, const RowPair& minus, Range tokens, Index width, double* carry,
              float* sums, double* totals);

/// by_row[x] = the sum over y of a[x][y] * b[x][y]; by_column[y], if not null, = the sum over x.
/// Rows are `stride` floats apart.
void sum_products(const float* a, const float* b, Index stride, Index rows, Index columns,
                  double* by_row, double* by_column);

}  // namespace maskctl::attention
