#include "maskctl/inspect/count/cost_rows.h"

#include <algorithm>
#include <functional>
#include <mutex>

#include "maskctl/base/threads.h"

namespace maskctl {
namespace {

/// Sums the runs and the open cells of rows, as RowCost has them. Ranges of rows must be added in
/// ascending order.
class Sums {
 public:
  Sums(Index queries, Index ranks)
      : queries_(queries),
        ranks_(ranks),
        cost_{{}, 0, std::vector<Index>(as_size(2 * ranks)), std::vector<Index>(as_size(ranks))} {}

  void add(Range rows, const Plane::RowSize& size) {
    cost_.runs += size.runs * rows.size();
    if (size.keys == 0) return;
    add_striped(rows, size.keys);
    add_parts(rows, size.keys);
  }
  void add_to(RowCost& total) const {
    total.runs += cost_.runs;
    std::ranges::transform(total.parts, cost_.parts, total.parts.begin(), std::plus{});
    std::ranges::transform(total.striped, cost_.striped, total.striped.begin(), std::plus{});
  }

 private:
  void add_striped(Range rows, Index keys) {
    const Index rounds = rows.size() / ranks_;
    if (rounds > 0) {
      for (Index& sum : cost_.striped) sum += rounds * keys;
    }
    Index rank = rows.begin % ranks_;
    for (Index i = rounds * ranks_; i < rows.size(); ++i) {
      cost_.striped[as_size(rank)] += keys;
      if (++rank == ranks_) rank = 0;
    }
  }
  void add_parts(Range rows, Index keys) {
    for (Index q = rows.begin; q < rows.end;) {
      while (q >= part_end_) part_end_ = (++part_ + 1) * queries_ / (2 * ranks_);
      const Index end = std::min(rows.end, part_end_);
      cost_.parts[as_size(part_)] += (end - q) * keys;
      q = end;
    }
  }

  Index queries_, ranks_;
  // The index of the element of RowCost::parts that has the row added last, and the row at which
  // that part ends.
  Index part_ = -1, part_end_ = 0;
  RowCost cost_;
};

}  // namespace

RowCost row_cost(const Plane& plane, Index ranks) {
  const Index queries = plane.queries();
  RowCost total{{}, 0, std::vector<Index>(as_size(2 * ranks)), std::vector<Index>(as_size(ranks))};
  LengthCounts lengths(queries, plane.keys());
  std::mutex mutex;
  const Index tasks = std::min<Index>(queries, Index{threads()} * 8);
  const Index step = tasks > 0 ? ceil_div(queries, tasks) : 1;
  parallel_for(ceil_div(queries, step), [&](Index task) {
    const Range range = intersect({task * step, (task + 1) * step}, {0, queries});
    Sums sums(queries, ranks);
    LengthBatch batch(lengths);
    plane.row_sizes(range, [&](Range equal, const Plane::RowSize& size) {
      sums.add(equal, size);
      batch.add(size.keys, equal.size());
    });
    batch.flush();
    const std::lock_guard lock(mutex);
    sums.add_to(total);
  });
  total.lengths = lengths.groups();
  return total;
}

}  // namespace maskctl
