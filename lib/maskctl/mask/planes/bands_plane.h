// The class of planes that bands() makes; private to the mask layer.
#pragma once

#include <vector>

#include "maskctl/mask/planes/bands.h"

namespace maskctl {

/// Casts a plane to one of the classes that store planes, such as BandsPlane; null when it is of
/// another class.
template <typename T>
const T* as(const PlanePtr& plane) {
  return dynamic_cast<const T*>(plane.get());
}

/// Stores slabs (ranges of rows with the same bands) in canonical form: they ascend without overlap
/// and are not empty; on every row of a slab each band is inside [0, keys) and not empty, and the
/// bands ascend without touching; neighbouring slabs with equal bands are merged.
class BandsPlane final : public Plane {
 public:
  BandsPlane(Index queries, Index keys, std::vector<Slab> canonical);

  void rows(Range q, const RowSink& sink) const override;
  Index count(Range q, Range k) const override;
  void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const override;
  void counts(Range q, std::span<const Index> edges, std::span<Index> out) const override;
  PlanePtr transposed() const override;
  PlanePtr sliced(Range q, Range k) const override;
  Index bytes() const override;

  const std::vector<Slab>& slabs() const { return slabs_; }
  /// True when every row has at most one run.
  bool single_runs() const;
  /// Calls f(row, keys) for each row that has an open key; single_runs() must be true.
  template <typename F>
  void each_interval(F&& f) const {
    for (const Slab& slab : slabs_) {
      if (slab.bands.empty()) continue;
      const Band band = slab.bands.front();
      for (Index row = slab.q.begin; row < slab.q.end; ++row) {
        f(row, Run{static_cast<std::int32_t>(band.begin_at(row)),
                   static_cast<std::int32_t>(band.end_at(row))});
      }
    }
  }

 private:
  /// Calls f(slab, rows) for each slab (a range of rows with the same bands) that overlaps rows q;
  /// `rows` is the overlap.
  template <typename F>
  void each_slab(Range q, F&& f) const;

  std::vector<Slab> slabs_;
};

/// Appends a slab (a range of rows with the same bands) to a canonical list. If the last slab of
/// the list has the same bands and ends where the new one begins, extends it instead.
void append_slab(std::vector<Slab>& slabs, Range q, std::span<const Band> bands);
/// Appends canonical slabs (ranges of rows with the same bands) in which each row of q sees the
/// union of `bands`, clipped to [0, keys). The bands may overlap and be empty on some rows.
void append_union(std::vector<Slab>& slabs, Range q, std::span<const Band> bands, Index keys);
/// The most bands that combine_bands() may make; with more, run lists or bits are cheaper.
constexpr Index kBandBudget = Index{1} << 18;
/// a op b of two canonical planes; null when the result needs more than `budget_bands` bands.
PlanePtr combine_bands(Op op, const BandsPlane& a, const BandsPlane& b, Index budget_bands);

}  // namespace maskctl
