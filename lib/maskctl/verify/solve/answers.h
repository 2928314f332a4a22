// Collects the answers for rows from all threads; private to solve.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "maskctl/verify/solve/parts.h"
#include "maskctl/verify/solve/units.h"

namespace maskctl::attention::solving {

class Answers {
 public:
  Answers(const Dims& d, double most_work);

  /// Stores the answer for a row: for the given heads of a unit (heads that share a mask), or for
  /// all heads of the unit if `heads` is empty. Without an answer, the row counts as not solved.
  void keep(const Unit& unit, Index row, std::vector<Head> heads, const OpenKeys& supposed,
            const std::optional<RowAnswer>& answer);

  /// Counts one row whose keys were searched for, as solved or as failed. count_solved() counts
  /// rows that the answer of another row solved, without a search.
  void count(bool solved) { ++(solved ? solved_ : failed_); }
  void count_solved(Index rows) { solved_ += rows; }
  /// Counts a row that had failed as solved, because its heads were solved separately.
  void count_solved_apart() { --failed_, ++solved_; }
  /// Whether to stop solving rows: hardly any row was explained, or the rows that were not
  /// explained have cost `most_work` multiplications.
  bool given_up() const;
  bool hopeless() const;

  std::vector<RowPart>& parts() { return parts_; }
  double margin() const { return margin_; }

 private:
  double row_work_;  // multiplications that an unexplained row costs
  double most_work_;
  std::atomic<Index> solved_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<RowPart> parts_;
  double margin_ = kImpossible;
};

}  // namespace maskctl::attention::solving
