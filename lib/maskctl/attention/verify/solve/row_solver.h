// Decides one row of some heads: which keys are open, and which of them cannot be told; private to
// solve.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/verify/solve/attempts.h"
#include "maskctl/attention/verify/solve/problem.h"
#include "maskctl/attention/verify/solve/search.h"

namespace maskctl::attention::solving {

struct RowAnswer {
  OpenKeys open;             // undecided keys as supposed
  std::vector<Index> light;  // undecided: flipping one changes less than rounding does
  std::vector<Index> alike;  // undecided: another key in its place fits as well
  /// What the likeliest error among the decided keys would add to the cost.
  double margin = 0;
};

class RowSolver {
 public:
  /// `noise`: the variance of an output in units of the expected rounding.
  RowSolver(const SolveCall& call, double noise) : call_(call), noise_(noise) {}

  /// The answer if the row is as supposed, up to what cannot be told; `report` is the row's.
  std::optional<RowAnswer> judge(std::span<const Head> heads, Index row, const OpenKeys& open,
                                 const RowReport& report) const;
  std::optional<RowAnswer> judge(std::span<const Head> heads, Index row,
                                 const OpenKeys& open) const;
  /// Looks for the keys that explain the row: first `starts`, then what differs little from
  /// `supposed`, then any. Absent where nothing does.
  std::optional<RowAnswer> solve(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                 std::span<const OpenKeys> starts);
  /// Whether a head, the n-th of a report, is off by itself.
  bool is_off(Head head, const RowReport& report, std::size_t n) const;

 private:
  struct Search;
  double enough(Index equations) const;
  std::optional<RowAnswer> settled(const Search& search, const State& state, bool any) const;
  std::optional<RowAnswer> by_many_flips(const Search& search, std::span<const State* const> from,
                                         double enough) const;
  State cheapest(const RowProblem& problem, const State& base,
                 std::span<const OpenKeys> starts) const;
  OpenKeys polished(const Search& search, const OpenKeys& open) const;
  void add_alike(const Search& search, RowAnswer& answer) const;
  bool is_evident(const Search& search, const State& state) const;

  const SolveCall& call_;
  double noise_;
  Attempts all_, runs_, sets_, many_;  // how often the slow ways find an answer
};

}  // namespace maskctl::attention::solving
