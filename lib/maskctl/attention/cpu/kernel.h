// The inner loops of CPU attention, f32: packed matrix products (kernel.cc) and vectors of
// exponentials (vectors.cc).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/index.h"

namespace maskctl::attention {

class PrefetchQueue;

/// Rows of a product come in groups of this many; both operands are padded to it.
inline constexpr Index kRowGroup = 6;
/// Every tile edge is a multiple of this, whatever the instruction set (two vectors of 16 lanes).
inline constexpr Index kColumnGroup = 32;
/// Floats of the longest vector.
inline constexpr Index kVector = 16;
/// The logit of a closed cell, whose weight is exactly 0.
inline constexpr float kClosed = -std::numeric_limits<float>::infinity();

/// Working memory of kernels, zero at first. Vectors that cross cache lines would cost up to a
/// tenth of the speed.
using Buffer = std::vector<float, AlignedAllocator<float>>;
inline Buffer buffer(Index n) { return Buffer(as_size(n)); }

constexpr Index round_up(Index n, Index unit) { return ceil_div(n, unit) * unit; }
/// The whole vectors that hold these columns.
constexpr Range whole_vectors(Range columns) {
  if (columns.empty()) return {};
  return {columns.begin / kVector * kVector, round_up(columns.end, kVector)};
}

/// Columns of one panel: two vectors of the instruction set in use.
Index panel_columns();

/// B = src [rows, columns] in panels: out[p][row][w] = src[row][p * W + w], zero past `columns`.
/// Each panel takes panel_rows * W floats, of which the first rows * W are written.
void pack_rows(const float* src, Index stride, Index rows, Index columns, Index panel_rows,
               float* out);
inline void pack_rows(const float* src, Index stride, Index rows, Index columns, float* out) {
  pack_rows(src, stride, rows, columns, rows, out);
}
/// B = transpose of src: out[p][column][w] = src[p * W + w][column], zero past `rows`.
/// out holds columns * round_up(rows, kColumnGroup) floats.
void pack_columns(const float* src, Index stride, Index rows, Index columns, float* out);

/// out[c * n + r] = x[r * n + c] for r, c < n; n is a multiple of kColumnGroup.
void transpose(const float* x, Index n, float* out);

/// C[rows, columns] = A[rows, depth] * B, or += with `accumulate`. rows is a multiple of kRowGroup,
/// columns of kColumnGroup; B is packed with `depth` rows.
void multiply(const float* a, Index a_stride, Index rows, Index depth, const float* packed_b,
              Index columns, float* c, Index c_stride, bool accumulate);

// Products of which each group of kRowGroup rows needs only a part: spans[g] belongs to rows [g *
// kRowGroup, (g + 1) * kRowGroup) and may be empty. Rows of `prefetches` are fetched meanwhile.

/// C = A * B in the columns of each group's span, whose ends are multiples of kVector. Other
/// columns stay.
void multiply_columns(const float* a, Index a_stride, Index depth, const float* packed_b,
                      std::span<const Range> spans, float* c, Index c_stride,
                      PrefetchQueue* prefetches = nullptr);
/// C += A * B over the rows of B (columns of A) in each group's span, or C = A * B there. B has
/// panels of `depth` rows. Rows of C with an empty span stay.
void multiply_depths(const float* a, Index a_stride, Index depth, const float* packed_b,
                     Index columns, std::span<const Range> spans, float* c, Index c_stride,
                     bool accumulate = true, PrefetchQueue* prefetches = nullptr);

/// multiply_depths of A's transpose: A[row][k] = a[k * a_stride + row]. Columns of A^T past the
/// last row that C needs are read and written too.
void multiply_transposed(const float* a, Index a_stride, Index depth, const float* packed_b,
                         Index columns, std::span<const Range> spans, float* c, Index c_stride,
                         PrefetchQueue* prefetches = nullptr);

float dot(const float* x, const float* y, Index n);
/// Whether none of n floats is NaN or infinite; any n.
bool all_finite(const float* x, Index n);
/// out = factor * x; any n, out may be x.
void scale(const float* x, Index n, float factor, float* out);
/// scale() of `rows` rows, row r by factors[r].
void scale_rows(const float* x, Index stride, Index rows, Index n, const float* factors, float* out,
                Index out_stride);
inline void scale_by(float* x, Index n, float factor) { scale(x, n, factor, x); }

// Functions of vectors of n floats; n is a multiple of kVector, and of kColumnGroup in the first
// two.

float max_of(const float* x, Index n);
/// x = exp(x - shift), exactly 0 for -inf; the sum of the results.
float exp_and_sum(float* x, Index n, float shift);
/// max_of() and exp_and_sum() of each row of a group of kRowGroup rows; x is the first row, the
/// next is `stride` floats further.
void max_of_group(const float* x, Index stride, Index n, float* most);
void exp_and_sum_group(float* x, Index stride, Index n, const float* shift, float* sum);
/// x[i] = exp(x[i] - shift[i]).
void exp_shifted(float* x, const float* shift, Index n);
/// out = log(x), x >= 0: -inf at 0.
void log_all(const float* x, Index n, float* out);
/// x = cap * tanh(x / cap); derivative, when given, gets 1 - (x / cap)^2 of the result.
void soft_cap_all(float* x, Index n, float cap, float* derivative);
/// ds[i] = p[i] * (dp[i] - delta[i]).
void softmax_gradient(const float* p, const float* dp, const float* delta, float* ds, Index n);

/// x[i] = value where bit first + i of `open` is clear, in whole vectors of at least n floats.
/// first is a multiple of kVector.
void fill_closed(const std::uint64_t* open, Index first, Index n, float value, float* x);

/// The instruction set in use, as Highway names it.
const char* cpu_target();

}  // namespace maskctl::attention
