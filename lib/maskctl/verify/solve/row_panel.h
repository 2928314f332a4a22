// Multiplies by the matrices of the normal equations of many rows of the same heads, without making
// these matrices; private to solve.
#pragma once

#include <span>
#include <vector>

#include "maskctl/verify/solve/rows.h"

namespace maskctl::attention::solving {

/// The normal equations gram x = right of some rows, solved without ever making the matrices gram.
class RowPanel {
 public:
  /// `open`: [rows, Tk], the supposed keys.
  RowPanel(const SolveCall& call, std::span<const Head> heads, Range rows,
           const std::uint8_t* open);

  Index count() const { return rows_.size(); }
  Index keys() const { return keys_; }
  std::size_t cells() const { return as_size(rows_.size() * keys_); }
  std::size_t at(Index row) const { return as_size(row * keys_); }
  const std::vector<double>& right() const { return right_; }
  const std::vector<double>& diagonal() const { return diagonal_; }
  /// Whether sinks or an lse determine the scale of the solution x. If not, any multiple of a
  /// solution is a solution too, and callers add the equation scale . x = 1.
  bool fixed_scale() const { return fixed_scale_; }
  const std::vector<double>& scale() const { return scale_; }
  /// The weight of each key, averaged over the heads.
  const std::vector<double>& weights() const { return weights_; }

  /// Sets `out` to gram x, for each row.
  void apply(const std::vector<double>& x, std::vector<double>& out) const;

 private:
  struct HeadTerms {
    Head head;
    /// [rows, Tk]: weights divided by the standard deviation of the output
    std::vector<double> units;
    std::vector<double> factors;  // [rows, Tk]: factors of the values; empty if they are 1
    /// [rows]: how much the equation of an lse counts, which is one for the sum of the weights of
    /// open keys; empty without an lse
    std::vector<double> lse;

    double factor(std::size_t cell) const { return factors.empty() ? 1 : factors[cell]; }
  };

  /// The kernel's results for these rows, [rows, dim].
  const double* out(Head head) const { return call_.out(head, rows_.begin).data(); }
  void add(Head head, const std::uint8_t* open);
  void add_row(const HeadRows& weighed, Index r, HeadTerms& terms);
  void add_lse(const HeadRows& weighed, Index r, double lse, double deviation, HeadTerms& terms);
  void level(Index r);
  void apply(const HeadTerms& terms, const std::vector<double>& x, std::vector<double>& sum) const;

  const SolveCall& call_;
  Range rows_;
  Index keys_;
  std::vector<HeadTerms> heads_;
  std::vector<double> right_, diagonal_, weights_, scale_;
  bool fixed_scale_ = false;
  mutable std::vector<double> products_, vectors_;  // temporary memory of apply()
};

}  // namespace maskctl::attention::solving
