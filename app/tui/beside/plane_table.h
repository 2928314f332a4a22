// A table with a row of facts for each batch and head of a scene. Rows are filled one by one.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "app/tui/beside/plane_finds.h"
#include "maskctl/render/figure/density.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

struct PlaneRow {
  Index batch = 0, head = 0;
  /// The index of the first row with the same cells, leaks and differences; its own index if there
  /// is no earlier one.
  Index like = 0;
  Index open = 0;
  PlaneFinds finds;
  std::shared_ptr<const DensityGrid> picture = nullptr;  // a drawing of at most 4 x 8 units
};

class Scene;

/// Rows in order of batch, then head. One thread fills them while others read the rows that are
/// known.
class PlaneTable {
 public:
  explicit PlaneTable(Index rows) : rows_(as_size(rows)) {}

  Index size() const { return std::ssize(rows_); }
  /// The number of known rows; these are rows 0 to known() - 1.
  Index known() const { return known_.load(std::memory_order_acquire); }
  bool complete() const { return known() == size(); }
  /// A row, which must be known.
  const PlaneRow& operator[](Index row) const { return rows_[as_size(row)]; }
  /// True if no earlier row is equal to this one.
  bool is_first(Index row) const { return rows_[as_size(row)].like == row; }

  /// Fills all rows that are not known yet. Can be stopped and called again; several threads may
  /// call it.
  void fill(const Scene& scene);

 private:
  /// The inputs of a row: the plane of the mask, that of the other SOURCE, and the batch of the
  /// ids. Rows with the same inputs are copied.
  using Sources = std::tuple<const Plane*, const Plane*, Index>;
  /// Counts and a hash that are the same for equal rows.
  using Likeness = std::tuple<Index, Index, Index, Index, std::size_t>;

  void fill_row(const Scene& scene, Index row);
  Index first_like(const Scene& scene, const Panel& panel, Index row);

  std::mutex filling_;  // held while one row is filled
  std::vector<PlaneRow> rows_;
  std::atomic<Index> known_ = 0;
  std::map<Sources, Index> by_sources_;
  std::multimap<Likeness, Index> by_likeness_;
};

}  // namespace maskctl::app::tui
