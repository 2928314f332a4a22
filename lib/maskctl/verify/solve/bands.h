// Finds the open keys of a range of rows, in all heads with the same supposed mask. Methods that
// are cheap for many rows are tried first; private to solve.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "maskctl/verify/solve/answers.h"
#include "maskctl/verify/solve/continuation.h"
#include "maskctl/verify/solve/least_squares.h"
#include "maskctl/verify/solve/row_solver.h"

namespace maskctl::attention::solving {

/// Finds the open keys of bands, which are ranges of rows, and keeps the answers. Several threads
/// may call solve() at the same time.
class BandSolver {
 public:
  BandSolver(const SolveCall& call, const Mask& supposed, std::span<const Neighbour> alternatives,
             double noise, const SolveOptions& options)
      : call_(call),
        supposed_(supposed),
        alternatives_(alternatives),
        noise_(noise),
        rows_(call, noise),
        off_(options.off),
        answers_(call.dims(), options.most_work) {}

  void solve(const Group& group, Range rows);
  Answers& answers() { return answers_; }

 private:
  struct Band;

  /// Whether a row of a unit is to be solved: one of its heads may not be as supposed.
  bool may_be_off(const Unit& unit, Index row) const;
  /// Guesses the open keys of the other rows of unit n (heads that share a mask) from those that
  /// were found for row `from`, in every Way (continuation.h). Keeps the guesses that explain their
  /// rows as answers.
  void spread(Band& band, Index from, std::size_t n);
  /// Keeps the keys `open`, [rows, Tk], as answers for the rows of unit n that have no answer yet
  /// and that these keys explain. Returns the number of such rows. If `found` is not empty, it has
  /// the least-squares result of each row: rows without a result are skipped, and all uncertain
  /// keys of a result must be `light` in the answer.
  Index take_rows(Band& band, std::size_t n, const OpenKeys& open,
                  std::span<const std::optional<LeastSquares>> found);
  /// Solves all rows of the band at once by least squares: first with the heads of all units that
  /// have rows without an answer, then with the heads of one unit at a time.
  void solve_together(Band& band);
  void solve_together(Band& band, std::span<const std::size_t> units);
  std::vector<OpenKeys> starts_of(const Band& band, Index r, std::size_t n) const;
  /// Supposes that row r has the same open keys in several units (each has heads that share a
  /// mask), and solves it once with the equations of all their heads.
  void solve_alike(Band& band, Index r, std::span<const std::size_t> units);
  /// Solves row r of unit n, with the equations of all heads of the unit, and keeps the answer.
  /// Returns false if no answer is found.
  bool solve_row(Band& band, Index r, std::size_t n);
  /// If the answer for row r of unit n differs from the supposed keys, stores its open keys in
  /// Band::last and Band::latest, and returns true. Undecided keys are stored as in the supposed
  /// mask.
  static bool found(Band& band, Index r, std::size_t n, const RowAnswer& answer);
  /// Solves a row for which no keys explain all heads of the unit, although they should share a
  /// mask. First solves together all heads that do not fit the supposed keys; if this fails, solves
  /// the query heads of each key head together; where this fails too, solves each head alone.
  void solve_apart(Band& band, Index r, std::size_t n);
  void solve_each(const Unit& unit, Index row, const OpenKeys& supposed,
                  const std::vector<OpenKeys>& starts);
  std::optional<RowAnswer> either(std::span<const Head> heads, Index row, const OpenKeys& supposed,
                                  const std::vector<OpenKeys>& starts);

  const SolveCall& call_;
  const Mask& supposed_;
  std::span<const Neighbour> alternatives_;
  double noise_;
  RowSolver rows_;
  const std::set<QueryRow>* off_;
  Answers answers_;
  /// how often solve_together() (per row) and solve_alike() (per call) succeed
  Attempts together_, alike_;
  std::array<Attempts, kWays> ways_;
};

}  // namespace maskctl::attention::solving
