// The answers of all rows as they come from all threads; private to solve.
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

  /// The answer of some heads of a unit, of all where `heads` is empty; absent: not solved.
  void keep(const Unit& unit, Index row, std::vector<Head> heads, const OpenKeys& supposed,
            const std::optional<RowAnswer>& answer);

  /// Rows that were searched for, and others that one of them has answered.
  void count(bool solved) { ++(solved ? solved_ : failed_); }
  void count_solved(Index rows) { solved_ += rows; }
  /// Where hardly a row is explained, or rows that are not have cost some ten minutes.
  bool given_up() const;
  bool hopeless() const;

  std::vector<RowPart>& parts() { return parts_; }
  double margin() const { return margin_; }

 private:
  double row_work_;  // products that a row costs which is not explained
  std::atomic<Index> solved_ = 0, failed_ = 0;
  std::mutex mutex_;
  std::vector<RowPart> parts_;
  double margin_ = kImpossible;
};

}  // namespace maskctl::attention::solving
