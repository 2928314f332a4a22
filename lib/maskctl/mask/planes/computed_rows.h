// Planes that compute each row as runs when it is read.
#pragma once

#include <vector>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Appends a run that begins at or after the end of the last one, and joins runs that touch; leaves
/// out empty ones.
inline void append_run(Run run, std::vector<Run>& runs) {
  if (run.begin == run.end) return;
  if (!runs.empty() && runs.back().end == run.begin) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

/// A subclass computes the runs of one row.
class ComputedRows : public Plane {
 public:
  using Plane::Plane;
  void rows(Range rows, const RowSink& sink) const final {
    std::vector<Run> runs;
    const StopPoll poll;
    for (Index q = rows.begin; q < rows.end; ++q) {
      poll();
      runs.clear();
      row(q, runs);
      sink({q, q + 1}, {runs, {}});
    }
  }
  bool computed() const final { return true; }

 private:
  /// Appends the runs of row q, as Keys has them, to `runs`, which is empty.
  virtual void row(Index q, std::vector<Run>& runs) const = 0;
};

}  // namespace maskctl
