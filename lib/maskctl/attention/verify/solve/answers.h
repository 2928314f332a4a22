// Collects the answers for rows from all threads; private to solve.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <vector>

#include "maskctl/attention/verify/solve/parts.h"
#include "maskctl/attention/verify/solve/units.h"

namespace maskctl::attention::solving {

class Answers {
 public:
  explicit Answers(const Dims& d);

  /// Keeps the answer for a row in some heads of a unit, or in all of its heads if `heads` is
  /// empty. Without an answer, the row counts as not solved.
  void keep(const Unit& unit, Index row, std::vector<Head> heads, const OpenKeys& supposed,
            const std::optional<RowAnswer>& answer);

  /// count() counts a row for which keys were searched, as solved or failed. count_solved() adds
  /// rows that were solved without a search, by the answer of another row.
  void count(bool solved) { ++(solved ? solved_ : failed_); }
  void count_solved(Index rows) { solved_ += rows; }
  /// Whether to stop: hardly any row was explained, or unexplained rows have cost about ten
  /// minutes.
  bool given_up() const;
  bool hopeless() const;

  std::vector<RowPart>& parts() { return parts_; }
  double margin() const { return margin_; }

 private:
  double row_work_;  // multiplications that an unexplained row costs
  std::atomic<Index> solved_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<RowPart> parts_;
  double margin_ = kImpossible;
};

}  // namespace maskctl::attention::solving
