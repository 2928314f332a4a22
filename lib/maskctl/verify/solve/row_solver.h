// Finds which keys of one row of some heads are open, and which of them cannot be decided; private
// to solve.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "maskctl/verify/solve/attempts.h"
#include "maskctl/verify/solve/problem.h"
#include "maskctl/verify/solve/search.h"

namespace maskctl::attention::solving {

struct RowAnswer {
  /// The open keys, with undecided ones as in `supposed`. Use these to judge other rows: judge()
  /// does not notice that another key in the place of an undecided one would fit as well.
  OpenKeys decided(const OpenKeys& supposed) const;

  OpenKeys open;  // the open keys; undecided ones are as the search left them
  /// keys that are undecided because flipping one changes less than rounding does
  std::vector<Index> light;
  /// keys that are undecided because another key in their place fits as well
  std::vector<Index> alike;
  /// The least by which the cost would rise if one of the decided keys were wrong.
  double margin = 0;
};

struct LeastSquares;  // least_squares.h

class RowSolver {
 public:
  /// `noise`: the variance of an element of the output, divided by the variance that rounding is
  /// expected to cause.
  RowSolver(const SolveCall& call, double noise) : call_(call), noise_(noise) {}

  /// Returns an answer with the keys `open` if they explain the row; otherwise absent. The answer
  /// lists the keys that cannot be decided. `report`: the report of the row under `open`.
  std::optional<RowAnswer> judge(std::span<const Head> heads, Index row, const OpenKeys& open,
                                 const RowReport& report) const;
  std::optional<RowAnswer> judge(std::span<const Head> heads, Index row,
                                 const OpenKeys& open) const;
  /// Looks for open keys that explain the row: first the sets in `starts`, then sets that differ
  /// little from `supposed`, then any sets. Absent if none is found.
  std::optional<RowAnswer> solve(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                 std::span<const OpenKeys> starts);
  /// Whether the results of `head`, which is number n among the heads of the report, do not fit the
  /// open keys for which the report was made.
  bool is_off(Head head, const RowReport& report, std::size_t n) const;

 private:
  struct Search;
  double enough(Index equations) const;
  /// The answer with the keys of a state, polished; absent where they do not fit, or, unless `any`
  /// keys may be right, may fit by chance.
  std::optional<RowAnswer> settled(const Search& search, const State& state, bool any) const;
  std::optional<RowAnswer> with_uncertain(const Search& search,
                                          const std::optional<LeastSquares>& found) const;
  std::optional<RowAnswer> by_least_squares(const Search& search) const;
  std::optional<RowAnswer> by_runs(const Search& search, const State& best, State& ends,
                                   State& tiles) const;
  std::optional<RowAnswer> by_sets(const Search& search) const;
  std::optional<RowAnswer> by_many_flips(const Search& search,
                                         std::span<const State* const> from) const;
  RowProblem all_open(const RowProblem& problem) const;
  State cheapest(const RowProblem& problem, const State& base,
                 std::span<const OpenKeys> starts) const;
  OpenKeys polished(const Search& search, const OpenKeys& open) const;
  void add_alike(const Search& search, RowAnswer& answer) const;
  bool is_evident(const Search& search, const State& state) const;

  const SolveCall& call_;
  double noise_;
  Attempts all_, runs_, sets_, many_;  // how often the slow methods find an answer
};

}  // namespace maskctl::attention::solving
