// Finds the open keys of a range of rows, in all heads with the same supposed mask. Methods that
// are cheap for many rows are tried first; private to solve.
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

/// Finds the open keys of bands, and keeps the answers. Several threads may call solve() at the
/// same time.
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

  /// Continues the keys that were found for row `from` of unit n to the unit's other rows (see
  /// Way), and keeps them as answers for the rows that they explain.
  void spread(Band& band, Index from, std::size_t n);
  /// `open`, [rows, Tk]: keys for all rows of the band. Keeps them as answers for those rows of
  /// unit n that are not answered yet and that they explain; returns the number of these rows.
  /// `found`, if not empty, has the least-squares result of each row: rows without a result are
  /// skipped, and the uncertain keys of a result must be `light` in the answer.
  Index take_rows(Band& band, std::size_t n, const OpenKeys& open,
                  std::span<const std::optional<LeastSquares>> found);
  /// Solves all rows of the band at once by least squares: first with the heads of all units
  /// together that have unanswered rows, then with the heads of one unit at a time.
  void solve_together(Band& band);
  void solve_together(Band& band, std::span<const std::size_t> units);
  std::vector<OpenKeys> starts_of(const Band& band, Index r, std::size_t n) const;
  /// Supposes that row r has the same open keys in several units, and solves it once with the
  /// equations of all their heads.
  void solve_alike(Band& band, Index r, std::span<const std::size_t> units);
  /// Solves row r of unit n and keeps the answer. Returns false if no answer is found.
  bool solve_row(Band& band, Index r, std::size_t n);
  /// Takes the open keys of an answer for row r of unit n, with undecided keys as in the supposed
  /// mask. If they differ from the supposed keys, stores them in Band::last and Band::latest and
  /// returns true.
  static bool found(Band& band, Index r, std::size_t n, const RowAnswer& answer);
  /// Solves a row for which no keys explain all heads of the unit, although they should share a
  /// mask. First solves the heads together that do not fit the supposed keys; if this fails, solves
  /// the heads of each key head together, and where this fails each head alone.
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
  /// how often solve_together() (per row) and solve_alike() (per call) succeed
  Attempts together_, alike_;
  std::array<Attempts, kWays> ways_;
};

}  // namespace maskctl::attention::solving
