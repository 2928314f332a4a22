// Some rows of all that share a supposed mask, in the ways that are cheap for many rows first;
// private to solve.
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

/// Solves bands on several threads at once.
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

  /// Tries what row `from` of a unit has on all its rows that are left, at once.
  void spread(Band& band, Index from, std::size_t n);
  /// Keeps the rows of a unit that are left and that `open`, [rows, Tk], explains: how many. Where
  /// `found` is not empty, it has these rows, and no key may be decided that it is uncertain of.
  Index take_rows(Band& band, std::size_t n, const OpenKeys& open,
                  std::span<const std::optional<LeastSquares>> found);
  /// Rows by least squares, all at once: with the heads of all units that are off, then of each.
  void solve_together(Band& band);
  void solve_together(Band& band, std::span<const std::size_t> units);
  std::vector<OpenKeys> starts_of(const Band& band, Index r, std::size_t n) const;
  /// A row of some units as one: with more equations, if they have the same keys.
  void solve_alike(Band& band, Index r, std::span<const std::size_t> units);
  /// A row of one unit; false where it is not solved.
  bool solve_row(Band& band, Index r, std::size_t n);
  /// Remembers a row that differs from what was supposed; whether it does.
  static bool found(Band& band, Index r, std::size_t n, const OpenKeys& open);
  /// A support that was found with other heads.
  std::optional<RowAnswer> taken(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                 const OpenKeys& open) const;
  /// Heads that should share a mask and do not: those that are off together, then those of one key
  /// head, then each by itself.
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
