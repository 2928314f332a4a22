// Computes rows of attention under supposed open keys, and what one key more or less changes;
// private to solve.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "maskctl/verify/solve/call.h"

namespace maskctl::attention::solving {

/// The keys of a row: 1 if open, 0 if closed.
using OpenKeys = std::vector<std::uint8_t>;

/// The cost of an impossible row, such as NaN where a number is expected.
inline constexpr double kImpossible = 1e30;

/// Rows of one head, computed under supposed open keys.
struct HeadRows {
  /// [rows, Tk]: the weight of each key, open or not, relative to the sum over open keys and sinks.
  /// If a row has neither, the weights are relative to the sum over all keys.
  std::vector<double> weights;
  std::vector<double> log_sums;     // [rows]: ln of the sum that weights are relative to
  std::vector<double> sinks;        // [rows]: the weight of the sinks
  std::vector<std::uint8_t> empty;  // [rows]: whether a row has neither open keys nor sinks
  /// [rows, Tk]: only for gradients. `factors` multiply the values besides the weights, for example
  /// by scale (d . v - d . o) with a cotangent d (see GradientFactors). `sizes` are the sizes of
  /// their terms, to which the rounding is proportional. Both are empty for outputs, whose factors
  /// are all 1.
  std::vector<double> factors, sizes;
  /// [rows]: the variance of an element of the output, averaged over the row; and the part of it
  /// that elements share, summed over the row and divided by that average.
  std::vector<double> variance, spread;
  /// [rows, dim]: for each row of a gradient, the vector by which the row shifts if d . o is off by
  /// one standard deviation (see GradientFactors). Empty for outputs, which have no such error.
  std::vector<double> shifts;

  double factor(std::size_t cell) const { return factors.empty() ? 1 : factors[cell]; }
  double size(std::size_t cell) const { return sizes.empty() ? 1 : sizes[cell]; }
};
/// Computes rows of a head as if the keys `open`, [rows, Tk], were open.
HeadRows head_rows(const SolveCall& call, Head head, Range rows, const std::uint8_t* open);

/// How far a row of some heads, under supposed open keys, is from the kernel's results. A cost is a
/// squared error divided by the variance that rounding causes. So `cost` is about `equations`, the
/// number of elements compared, if the keys are right.
struct RowReport {
  double cost = 0;
  Index equations = 0;
  std::vector<double> head_cost;  // [heads]: the cost of each head
  /// [heads]: the least that flipping one key adds to the head's cost; below 0 if another set fits
  /// better
  std::vector<double> head_least;
  std::vector<double> rise;  // [Tk]: what flipping a key adds to the cost
  /// `cost` takes the variance of rounding to be equal in all directions of the output. In a single
  /// direction it may be up to 1 + spread times as much.
  double spread = 0;
};
std::vector<RowReport> row_reports(const SolveCall& call, std::span<const Head> heads, Range rows,
                                   const std::uint8_t* open);

/// The costs of one row, with the rounding of each direction of the output counted separately,
/// since the rounding of a large weight shifts the whole output along the value of its key. If the
/// cost of the heads so far exceeds `most`, the report ends with that head and has no rises for it.
struct ExactReport {
  std::vector<double> head_cost;           // [heads]: the cost of each head
  std::vector<std::vector<double>> rises;  // [heads][cells]: what flipping a key adds to the cost
  double cost() const;
  double rise(std::size_t cell) const;
};
/// Limits that say when a bound of a cell's rise may replace the exact rise (of the cost, if the
/// cell is flipped), if there are many cells: a lower bound, if it is at least `sure`; an upper
/// bound, if it is below `light` and the rise is known to be above `wrong`.
struct RiseLimits {
  double sure, light, wrong;
};
ExactReport exact_report(const SolveCall& call, std::span<const Head> heads, Index row,
                         const OpenKeys& open, std::span<const Index> cells, double most,
                         const RiseLimits& limits);

/// kLogOfNone is the logarithm of a sum without weights. A row whose weights sum to at most
/// kNoWeight counts as a row without keys.
inline constexpr double kLogOfNone = -std::numeric_limits<double>::infinity();
inline constexpr double kNoWeight = 1e-13;

/// The squared error of `log_sum` against the kernel's lse, in units of rounding; 0 if no lse was
/// given.
double lse_cost(const SolveCall& call, Head head, Index row, double log_sum);
/// The cost of a row of one head if none of its keys is open. `variance`: the variance of an
/// element of its output.
double empty_cost(const SolveCall& call, Head head, Index row, double variance);

}  // namespace maskctl::attention::solving
