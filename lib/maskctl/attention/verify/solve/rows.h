// What rows of attention would be under supposed open keys, and what one key more or less changes;
// private to solve.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "maskctl/attention/verify/solve/call.h"

namespace maskctl::attention::solving {

/// Open keys of a row, 0 or 1 each.
using OpenKeys = std::vector<std::uint8_t>;

/// The cost of an impossible row: NaN where a number is expected.
inline constexpr double kImpossible = 1e30;

/// Rows of one head under supposed open keys.
struct HeadRows {
  /// [rows, Tk]: the weight of each key, open or not, relative to the sum over open keys and sinks;
  /// in a row without these, to the sum over all keys.
  std::vector<double> weights;
  std::vector<double> log_sums;     // [rows]: ln of that sum
  std::vector<double> sinks;        // [rows]: the weight of the sinks
  std::vector<std::uint8_t> empty;  // [rows]: without open keys and sinks
  /// What values are multiplied by beside the weights, [rows, Tk]; empty where that is 1.
  std::vector<double> factors, sizes;
  /// The mean variance of an element of the output, and the part of it that is not its own, [rows].
  std::vector<double> variance, spread;
  /// The standard deviations of the error that moves a row as a whole, [rows, dim]; or empty.
  std::vector<double> shifts;

  double factor(std::size_t cell) const { return factors.empty() ? 1 : factors[cell]; }
  double size(std::size_t cell) const { return sizes.empty() ? 1 : sizes[cell]; }
};
/// The rows of a head under the open keys `open`, [rows, Tk].
HeadRows head_rows(const SolveCall& call, Head head, Range rows, const std::uint8_t* open);

/// A row of some heads against what the kernel gave. A cost is a squared error in units of the
/// rounding that is expected; so `cost` is about `equations` under the right keys.
struct RowReport {
  double cost = 0;
  Index equations = 0;
  std::vector<double> head_cost;   // [heads]
  std::vector<double> head_least;  // [heads]: the least that flipping one key adds to its cost
  std::vector<double> rise;        // [Tk]: what flipping a key adds to the cost
  /// How much larger rounding may be in one direction than it is taken for, as a variance.
  double spread = 0;
};
std::vector<RowReport> row_reports(const SolveCall& call, std::span<const Head> heads, Range rows,
                                   const std::uint8_t* open);

/// The report of one row with the rounding in each direction: that of one large weight moves the
/// whole row along the value of its key.
struct ExactReport {
  std::vector<double> head_cost;           // [heads]
  std::vector<std::vector<double>> rises;  // [heads][cells]
  double cost() const;
  double rise(std::size_t cell) const;
};
ExactReport exact_report(const SolveCall& call, std::span<const Head> heads, Index row,
                         const OpenKeys& open, std::span<const Index> cells);

/// The logarithm of a sum of no weights, and a sum up to which a row counts as one without keys.
inline constexpr double kLogOfNone = -std::numeric_limits<double>::infinity();
inline constexpr double kNoWeight = 1e-13;

/// The cost of `log_sum` against the lse that was given; 0 without one.
double lse_cost(const SolveCall& call, Head head, Index row, double log_sum);
/// The cost of a row without keys in one head, for this variance of its output.
double empty_cost(const SolveCall& call, Head head, Index row, double variance);

}  // namespace maskctl::attention::solving
