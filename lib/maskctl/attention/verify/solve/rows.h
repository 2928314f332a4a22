// Computes rows of attention under supposed open keys, and what one key more or less changes;
// private to solve.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "maskctl/attention/verify/solve/call.h"

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
  /// [rows, Tk]: what multiplies the values besides the weights, and the size of its rounded terms;
  /// empty if that is 1.
  std::vector<double> factors, sizes;
  /// [rows]: the mean variance of an element of the output; and the variance that elements of the
  /// row share, summed over the row and divided by that mean.
  std::vector<double> variance, spread;
  /// [rows, dim]: for each row, a vector. One of the errors shifts the whole row by this vector
  /// times a standard normal number. Empty if there is no such error.
  std::vector<double> shifts;

  double factor(std::size_t cell) const { return factors.empty() ? 1 : factors[cell]; }
  double size(std::size_t cell) const { return sizes.empty() ? 1 : sizes[cell]; }
};
/// The rows of a head under the open keys `open`, [rows, Tk].
HeadRows head_rows(const SolveCall& call, Head head, Range rows, const std::uint8_t* open);

/// Compares a row of some heads with what the kernel gave. A cost is a squared error in units of
/// the expected rounding, so that `cost` is about `equations` under the right keys.
struct RowReport {
  double cost = 0;
  Index equations = 0;
  std::vector<double> head_cost;  // [heads]: the cost of each head
  /// [heads]: the least that flipping one key adds to the head's cost
  std::vector<double> head_least;
  std::vector<double> rise;  // [Tk]: what flipping a key adds to the cost
  /// Rounding may have up to 1 + spread times the assumed variance in a single direction. The
  /// assumed variance is equal in all directions.
  double spread = 0;
};
std::vector<RowReport> row_reports(const SolveCall& call, std::span<const Head> heads, Range rows,
                                   const std::uint8_t* open);

/// A report of one row that treats rounding in each direction separately, since the rounding of a
/// large weight shifts the whole output along the value of its key. If the cost of the heads so far
/// exceeds `most`, the report ends with that head, whose rises are left out.
struct ExactReport {
  std::vector<double> head_cost;           // [heads]: the cost of each head
  std::vector<std::vector<double>> rises;  // [heads][cells]: what flipping a key adds to the cost
  double cost() const;
  double rise(std::size_t cell) const;
};
/// When a bound is good enough in place of the exact rise of a cell, if there are many cells: a
/// lower bound if it is at least `sure`; an upper bound if it is below `light` and the rise is
/// known to be above `wrong`.
struct RiseLimits {
  double sure, light, wrong;
};
ExactReport exact_report(const SolveCall& call, std::span<const Head> heads, Index row,
                         const OpenKeys& open, std::span<const Index> cells, double most,
                         const RiseLimits& limits);

/// The logarithm of a sum of no weights; and the sum of weights up to which a row counts as one
/// without keys.
inline constexpr double kLogOfNone = -std::numeric_limits<double>::infinity();
inline constexpr double kNoWeight = 1e-13;

/// The cost of `log_sum` compared with the given lse; 0 if none was given.
double lse_cost(const SolveCall& call, Head head, Index row, double log_sum);
/// The cost of a row of one head if it has no keys. `variance`: that of its output.
double empty_cost(const SolveCall& call, Head head, Index row, double variance);

}  // namespace maskctl::attention::solving
