// The plane behind bands(); private to the mask layer.
#pragma once

#include <vector>

#include "maskctl/mask/bands.h"

namespace maskctl {

/// The plane as one of the tiers; null when it is another.
template <typename T>
const T* as(const PlanePtr& plane) {
  return dynamic_cast<const T*>(plane.get());
}

/// Canonical: slabs ascend without overlap and are not empty; on every row of its slab each band is
/// inside [0, keys), not empty, and the bands ascend without touching. Equal neighbours are one.
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
  /// True when no row holds more than one run.
  bool single_runs() const;
  /// f(row, keys) for the rows that hold a run, where no row holds more than one.
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
  /// Slabs that meet rows q, with those rows.
  template <typename F>
  void each_slab(Range q, F&& f) const;

  std::vector<Slab> slabs_;
};

/// Appends to a canonical list, joining `slab` to the last one when that is the same mask.
void append_slab(std::vector<Slab>& slabs, Slab slab);
/// Canonical slabs of rows q holding the union of any bands, cut to [0, keys).
void append_union(std::vector<Slab>& slabs, Range q, std::span<const Band> bands, Index keys);
/// What the result of combine_bands() may take before another tier is cheaper.
constexpr Index kBandBudget = Index{1} << 18;
/// a op b of two canonical planes; null when it needs more than `budget_bands`.
PlanePtr combine_bands(Op op, const BandsPlane& a, const BandsPlane& b, Index budget_bands);

}  // namespace maskctl
