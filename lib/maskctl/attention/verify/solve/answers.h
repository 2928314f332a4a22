// Collects the answers of rows from all threads; private to solve.
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

  /// Keeps the answer of a row for some heads of a unit, for all where `heads` is empty; absent:
  /// the row is not solved.
  void keep(const Unit& unit, Index row, std::vector<Head> heads, const OpenKeys& supposed,
            const std::optional<RowAnswer>& answer);

  /// Count rows that were searched, and rows that the answer of such a row explained too.
  void count(bool solved) { ++(solved ? solved_ : failed_); }
  void count_solved(Index rows) { solved_ += rows; }
  /// True when hardly any row was explained, or when unexplained rows have cost some ten minutes.
  bool given_up() const;
  bool hopeless() const;

  std::vector<RowPart>& parts() { return parts_; }
  double margin() const { return margin_; }

 private:
  double row_work_;  // products that an unexplained row costs
  std::atomic<Index> solved_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<RowPart> parts_;
  double margin_ = kImpossible;
};

}  // namespace maskctl::attention::solving
