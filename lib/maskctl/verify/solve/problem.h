// The equations that determine the open keys of one row, which some heads have in common; private
// to solve.
#pragma once

#include <vector>

#include "maskctl/verify/solve/rows.h"

namespace maskctl::attention::solving {

/// Let s_j be the logits of the row and e_j = exp(s_j), let o be the output of a head, and let x_j
/// be 1 for open keys and 0 for others. Then
///   sum_j x_j e_j (v_j - o) = 0
/// are Dv equations in x for each head, up to the rounding of o. An lse gives one more equation.
/// The gradient of the query gives D more equations, in which keys times factors stand for the
/// values.
class RowProblem {
 public:
  /// `base`: a first guess of the open keys. Weights are relative to the sum of weights under this
  /// guess.
  RowProblem(const SolveCall& call, std::vector<Head> heads, Index row, OpenKeys base);

  /// A guess of the open keys, and how far it is from meeting the equations.
  struct State {
    OpenKeys open;
    std::vector<double> errors;  // [equations], without those of lse, in units of rounding
    /// [heads]: for each head, the sum of the weights of open keys and sinks
    std::vector<double> sums;
    double cost = 0;  // squared error in units of rounding, as in RowReport
  };
  State at(const OpenKeys& open) const;
  void flip(State& state, Index key) const;
  /// The cost of each state after flipping one key, for each key: [states, Tk].
  std::vector<double> costs_of_flips(std::span<const State> states) const;

  const SolveCall& call() const { return call_; }
  std::span<const Head> heads() const { return heads_; }
  Index row() const { return row_; }
  Index keys() const { return call_.dims().keys; }
  Index equations() const { return equations_; }
  const OpenKeys& base() const { return base_; }

  struct HeadTerms {
    std::vector<double> weights;  // [Tk]: weights w_j
    /// [Tk] each, with the factor f_j of value v_j and the output o: `factors` has f_j, `moved` has
    /// w_j f_j, `with_out` has f_j (v_j . o), and `squares` has f_j^2 (v_j . v_j).
    std::vector<double> factors, moved, with_out, squares;
    double sink = 0, log_sum = 0, variance = 1, out_square = 0, empty_cost = 0;
    Index first = 0;  // index of the head's first error in State::errors
  };
  const HeadTerms& terms(std::size_t head) const { return terms_[head]; }
  Index dim(std::size_t head) const { return call_.dim(heads_[head]); }

 private:
  double head_cost(std::size_t head, double square, double sum) const;
  void add_head(Head head);

  const SolveCall& call_;
  std::vector<Head> heads_;
  Index row_, equations_ = 0, errors_ = 0;
  OpenKeys base_;
  std::vector<HeadTerms> terms_;
};

}  // namespace maskctl::attention::solving
