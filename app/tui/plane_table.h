// Facts of every batch and head of a scene, a row each, which become known one after another.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "app/tui/plane_finds.h"
#include "maskctl/render/figure/density.h"
#include "maskctl/render/figure/figure.h"

namespace maskctl::app::tui {

struct PlaneRow {
  Index batch = 0, head = 0;
  /// The first row with the same cells, leaks and differences; its own number if none is before.
  Index like = 0;
  Index open = 0;
  PlaneFinds finds;
  std::shared_ptr<const DensityGrid> picture = nullptr;  // of 4 x 8 units at most
};

class Scene;

/// The rows in the order of batches, then heads. One thread fills them while others read those
/// that are known.
class PlaneTable {
 public:
  explicit PlaneTable(Index rows) : rows_(as_size(rows)) {}

  Index size() const { return std::ssize(rows_); }
  /// So many first rows are known.
  Index known() const { return known_.load(std::memory_order_acquire); }
  bool complete() const { return known() == size(); }
  /// A known row.
  const PlaneRow& operator[](Index row) const { return rows_[as_size(row)]; }
  /// True if it is unlike all before it.
  bool is_first(Index row) const { return rows_[as_size(row)].like == row; }

  /// Makes all rows known. Goes on where it was stopped; several threads may call it.
  void fill(const Scene& scene);

 private:
  /// What a row depends on, where planes are shared: both planes, the row of ids.
  using Sources = std::tuple<const Plane*, const Plane*, Index>;
  /// Equal for rows that are alike.
  using Likeness = std::tuple<Index, Index, Index, Index, std::size_t>;

  void fill_row(const Scene& scene, Index row);
  Index first_like(const Scene& scene, const Panel& panel, Index row);

  std::mutex filling_;  // of one row
  std::vector<PlaneRow> rows_;
  std::atomic<Index> known_ = 0;
  std::map<Sources, Index> by_sources_;
  std::multimap<Likeness, Index> by_likeness_;
};

}  // namespace maskctl::app::tui
