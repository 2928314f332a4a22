// Solves bands, some rows of all units that share a supposed mask, by the ways that are cheap for
// many rows first; private to solve.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/attention/verify/solve/answers.h"
#include "maskctl/attention/verify/solve/continuation.h"
#include "maskctl/attention/verify/solve/least_squares.h"
#include "maskctl/attention/verify/solve/row_solver.h"

namespace maskctl::attention::solving {

/// Several threads may call solve() at once.
class BandSolver {
 public:
  BandSolver(const SolveCall& call, const Mask& supposed, std::span<const Alternative> alternatives,
             double noise)
      : call_(call),
        supposed_(supposed),
        alternatives_(alternatives),
        noise_(noise),
        rows_(call, noise),
        answers_(call.dims()) {}

  void solve(const Group& group, Range rows);
  Answers& answers() { return answers_; }

 private:
  struct Band;

  /// Tries to continue row `from` of unit n to all rows of the unit that are left, at once.
  void spread(Band& band, Index from, std::size_t n);
  /// Answers the rows of unit n that are left and that `open`, [rows, Tk], explains; returns how
  /// many. `found`, unless empty, has an entry for each row, whose uncertain keys must not be
  /// decided.
  Index take_rows(Band& band, std::size_t n, const OpenKeys& open,
                  std::span<const std::optional<LeastSquares>> found);
  /// Solves rows by least squares, all at once: with the heads of all units that are off, then unit
  /// by unit.
  void solve_together(Band& band);
  void solve_together(Band& band, std::span<const std::size_t> units);
  std::vector<OpenKeys> starts_of(const Band& band, Index r, std::size_t n) const;
  /// Solves row r of several units as one, with more equations, if their keys are the same.
  void solve_alike(Band& band, Index r, std::span<const std::size_t> units);
  /// Solves row r of unit n; false where that fails.
  bool solve_row(Band& band, Index r, std::size_t n);
  /// Remembers row r of unit n if its keys differ from the supposed ones; returns whether they do.
  static bool found(Band& band, Index r, std::size_t n, const OpenKeys& open);
  /// The answer of a row if `open`, which was found with other heads, explains it.
  std::optional<RowAnswer> taken(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                 const OpenKeys& open) const;
  /// Solves a row of heads that should share a mask and do not: those that are off together, then
  /// those of one key head, then each by itself.
  void solve_apart(Band& band, Index r, std::size_t n);
  void solve_each(const Unit& unit, Index row, const OpenKeys& supposed,
                  const std::vector<OpenKeys>& starts);
  std::optional<RowAnswer> either(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                  const std::vector<OpenKeys>& starts);

  const SolveCall& call_;
  const Mask& supposed_;
  std::span<const Alternative> alternatives_;
  double noise_;
  RowSolver rows_;
  Answers answers_;
  Attempts together_, alike_;  // rows of a band; units of a row
  std::array<Attempts, kWays> ways_;
};

}  // namespace maskctl::attention::solving
