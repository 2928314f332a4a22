// One row of some heads that have the same open keys, as equations in these keys; private to solve.
#pragma once

#include <vector>

#include "maskctl/attention/verify/solve/rows.h"

namespace maskctl::attention::solving {

/// With e_j = exp(s_j) and the output o of a head,
///   sum_j x_j e_j (v_j - o) = 0,  x_j = 1 for open keys and 0 for others,
/// are Dv equations in x for each head, up to the rounding of o; an lse gives one more, and the
/// gradient of the query D, with keys times factors as values.
class RowProblem {
 public:
  /// Weights are relative to those under `base`, a first guess of the open keys.
  RowProblem(const SolveCall& call, std::vector<Head> heads, Index row, OpenKeys base);

  /// A guess of the open keys, and how far it misses the equations.
  struct State {
    OpenKeys open;
    std::vector<double> errors;  // [equations] without those of lse, in units of rounding
    std::vector<double> sums;    // [heads]: sums of weights
    double cost = 0;             // as in RowReport
  };
  State at(const OpenKeys& open) const;
  void flip(State& state, Index key) const;
  /// The cost of each state after each single flip: [states, Tk].
  std::vector<double> costs_of_flips(std::span<const State> states) const;

  const SolveCall& call() const { return call_; }
  std::span<const Head> heads() const { return heads_; }
  Index row() const { return row_; }
  Index keys() const { return call_.dims().keys; }
  Index equations() const { return equations_; }
  const OpenKeys& base() const { return base_; }

  struct HeadTerms {
    std::vector<double> weights;  // [Tk]: w_j
    /// [Tk]: values v_j are those of the head times its factor; w_j times that, v_j . o, v_j . v_j.
    std::vector<double> factors, moved, with_out, squares;
    double sink = 0, log_sum = 0, variance = 1, out_square = 0, empty_cost = 0;
    Index first = 0;  // of its errors
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
