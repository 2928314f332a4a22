// The inner loops of CPU attention in f32: packed matrix products (kernel.cc), and exponentials and
// other functions of vectors (vectors.cc).
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "maskctl/base/buffer_pool.h"
#include "maskctl/base/index.h"

namespace maskctl::attention {

class PrefetchQueue;

/// Matrix products process rows in groups of this many; the left factor and the result have room
/// for whole groups.
inline constexpr Index kRowGroup = 6;
/// Tile edges are multiples of this for every instruction set (two vectors of 16 lanes).
inline constexpr Index kColumnGroup = 32;
/// Floats in the longest vector of any instruction set.
inline constexpr Index kVector = 16;
/// The logit of a closed cell: its weight exp(-inf) is exactly 0.
inline constexpr float kClosed = -std::numeric_limits<float>::infinity();

/// Working memory of kernels, initially 0. It is aligned, because vectors that cross cache lines
/// cost up to a tenth of the speed.
using Buffer = std::vector<float, AlignedAllocator<float>>;
inline Buffer buffer(Index n) { return Buffer(as_size(n)); }

constexpr Index round_up(Index n, Index unit) { return ceil_div(n, unit) * unit; }
/// The range of columns, extended to whole vectors on both sides.
constexpr Range whole_vectors(Range columns) {
  if (columns.empty()) return {};
  return {columns.begin / kVector * kVector, round_up(columns.end, kVector)};
}

/// The number of columns of a panel: two vectors of the instruction set in use.
Index panel_columns();

/// Packs src [rows, columns] as the right factor B of a product. B consists of panels of W =
/// panel_columns() columns: out[p][row][w] = src[row][p * W + w], and 0 past `columns`. A panel
/// takes panel_rows * W floats, of which the first rows * W are written.
void pack_rows(const float* src, Index stride, Index rows, Index columns, Index panel_rows,
               float* out);
inline void pack_rows(const float* src, Index stride, Index rows, Index columns, float* out) {
  pack_rows(src, stride, rows, columns, rows, out);
}
/// Packs the transpose of src as B: out[p][column][w] = src[p * W + w][column], and 0 past `rows`.
/// out has room for columns * round_up(rows, kColumnGroup) floats.
void pack_columns(const float* src, Index stride, Index rows, Index columns, float* out);

/// out[c * n + r] = x[r * n + c] for r, c < n; n must be a multiple of kColumnGroup.
void transpose(const float* x, Index n, float* out);

/// C[rows, columns] = A[rows, depth] * B, or += with `accumulate`. rows must be a multiple of
/// kRowGroup and columns of kColumnGroup; B is packed with `depth` rows.
void multiply(const float* a, Index a_stride, Index rows, Index depth, const float* packed_b,
              Index columns, float* c, Index c_stride, bool accumulate);

// Products that compute only what is needed: spans[g] says which columns (or which part of the sum)
// the rows [g * kRowGroup, (g + 1) * kRowGroup) of C need; it may be empty. The rows of memory that
// are queued in `prefetches` are prefetched during the product.

/// C = A * B, restricted to the columns in each group's span, whose ends are multiples of kVector.
/// Other columns of C do not change.
void multiply_columns(const float* a, Index a_stride, Index depth, const float* packed_b,
                      std::span<const Range> spans, float* c, Index c_stride,
                      PrefetchQueue* prefetches = nullptr);
/// C += A * B (= without `accumulate`), where the sum runs only over the rows of B in each group's
/// span. B has panels of `depth` rows. Rows of C with an empty span do not change.
void multiply_depths(const float* a, Index a_stride, Index depth, const float* packed_b,
                     Index columns, std::span<const Range> spans, float* c, Index c_stride,
                     bool accumulate = true, PrefetchQueue* prefetches = nullptr);

/// Like multiply_depths(), but A is given transposed: A[row][k] = a[k * a_stride + row]. Up to the
/// end of the last row group, it also reads columns of `a` and writes rows of C that are not
/// needed.
void multiply_transposed(const float* a, Index a_stride, Index depth, const float* packed_b,
                         Index columns, std::span<const Range> spans, float* c, Index c_stride,
                         PrefetchQueue* prefetches = nullptr);

float dot(const float* x, const float* y, Index n);
/// Whether none of the n floats is NaN or infinite; n may be any number.
bool all_finite(const float* x, Index n);
/// out = factor * x; n may be any number, and out may be x.
void scale(const float* x, Index n, float factor, float* out);
/// scale() of `rows` rows; row r is multiplied by factors[r].
void scale_rows(const float* x, Index stride, Index rows, Index n, const float* factors, float* out,
                Index out_stride);
inline void scale_by(float* x, Index n, float factor) { scale(x, n, factor, x); }

// Functions of vectors of n floats. n must be a multiple of kColumnGroup for max_of() and
// exp_and_sum(), and of kVector for the other functions.

float max_of(const float* x, Index n);
/// x = exp(x - shift), which is exactly 0 for x = -inf. Returns the sum of the results.
float exp_and_sum(float* x, Index n, float shift);
/// max_of() and exp_and_sum() of each row of a group of kRowGroup rows. x points to the first row,
/// and rows are `stride` floats apart.
void max_of_group(const float* x, Index stride, Index n, float* most);
void exp_and_sum_group(float* x, Index stride, Index n, const float* shift, float* sum);
/// x[i] = exp(x[i] - shift[i]).
void exp_shifted(float* x, const float* shift, Index n);
/// out = log(x) for x >= 0; -inf for x = 0.
void log_all(const float* x, Index n, float* out);
/// x = cap * tanh(x / cap). derivative, if not null, receives 1 - (result / cap)^2.
void soft_cap_all(float* x, Index n, float cap, float* derivative);
/// ds[i] = p[i] * (dp[i] - delta[i]).
void softmax_gradient(const float* p, const float* dp, const float* delta, float* ds, Index n);

/// x[i] = value wherever bit first + i of `open` is 0. Processes whole vectors, at least n floats;
/// `first` must be a multiple of kVector.
void fill_closed(const std::uint64_t* open, Index first, Index n, float value, float* x);

/// The name that Highway gives the instruction set in use.
const char* cpu_target();

}  // namespace maskctl::attention
