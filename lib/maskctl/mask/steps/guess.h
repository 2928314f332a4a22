// Reading numbers of rules off the rows of a plane.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "maskctl/mask/plane.h"

namespace maskctl {

/// Some rows of a plane, as runs: all of a small one; of a large one those at its begin, in its
/// middle and at its end, as many as fit into a bounded number of runs.
class SampledRows {
 public:
  explicit SampledRows(const PlanePtr& plane);

  struct Row {
    Index query = 0;
    std::span<const Run> runs;

    Index keys() const;
    bool sees(Index key) const;
  };
  Index size() const { return std::ssize(queries_); }
  Row operator[](Index i) const;
  /// Whether row i is the one after row i - 1 in the plane.
  bool follows(Index i) const { return i > 0 && (*this)[i].query == (*this)[i - 1].query + 1; }
  /// A row of the plane, sampled or not, valid until the next call.
  Row row(Index query) const;

  /// Whether another plane has at least nine in ten of some of these rows, or all but one.
  bool agree_with(const Plane& other) const;

  const Plane& plane() const { return *plane_; }
  Index queries() const { return plane_->queries(); }
  Index keys() const { return plane_->keys(); }

 private:
  void read(Range rows);

  PlanePtr plane_;
  std::vector<Index> queries_;
  std::vector<std::size_t> ends_;  // end of the runs of each row
  std::vector<Run> runs_;
  mutable std::vector<Run> asked_;
};

/// Counts numbers, and finds the one that has the majority.
class Votes {
 public:
  void add(Index number) {
    ++counts_[number];
    ++all_;
  }
  /// The number with more than half of the votes.
  std::optional<Index> majority() const;
  /// The number with the most votes.
  std::optional<Index> most() const;

 private:
  std::map<Index, Index> counts_;
  Index all_ = 0;
};

}  // namespace maskctl
