#include "maskctl/mask/planes/diagonal_planes.h"

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// Planes placed along a diagonal, one per document; all other cells are closed.
class DiagonalPlane final : public Plane {
 public:
  DiagonalPlane(Index queries, Index keys, std::vector<PlacedPart> parts)
      : Plane(queries, keys), parts_(std::move(parts)) {}

  void rows(Range q, const RowSink& sink) const override {
    Index row = q.begin;
    for (const PlacedPart& part : parts_) {
      const Range mine = intersect(part.q, q);
      if (mine.empty()) continue;
      if (row < mine.begin) sink({row, mine.begin}, {});
      part_rows(part, mine, sink);
      row = mine.end;
    }
    if (row < q.end) sink({row, q.end}, {});
  }
  bool computed() const override { return true; }
  Index bytes() const override {
    Index total = static_cast<Index>(parts_.size() * sizeof(PlacedPart));
    for (const PlacedPart& part : parts_) total += part.plane->bytes();
    return total;
  }

 private:
  static void part_rows(const PlacedPart& part, Range q, const RowSink& sink) {
    const Index first = part.q.begin;
    std::vector<Run> runs;
    part.plane->rows({q.begin - first, q.end - first}, [&](Range r, const Keys& keys) {
      runs.assign(keys.runs.begin(), keys.runs.end());
      if (keys.is_words()) {
        runs.clear();
        words_to_runs(keys.words, runs);
      }
      for (Run& run : runs) {
        run.begin += static_cast<std::int32_t>(part.k.begin);
        run.end += static_cast<std::int32_t>(part.k.begin);
      }
      sink({r.begin + first, r.end + first}, {runs, {}});
    });
  }

  std::vector<PlacedPart> parts_;
};

}  // namespace

PlanePtr diagonal_planes(Index queries, Index keys, std::vector<PlacedPart> parts) {
  std::vector<Slab> slabs;
  for (const PlacedPart& part : parts) {
    const std::vector<Slab>* own = slabs_of(*part.plane);
    if (!own) return std::make_shared<DiagonalPlane>(queries, keys, std::move(parts));
    for (Slab slab : *own) {
      slab.q = {slab.q.begin + part.q.begin, slab.q.end + part.q.begin};
      for (Band& band : slab.bands) {
        band.begin += part.k.begin - (band.begin_slope ? part.q.begin : 0);
        band.end += part.k.begin - (band.end_slope ? part.q.begin : 0);
      }
      slabs.push_back(std::move(slab));
    }
  }
  return bands(queries, keys, slabs);
}

}  // namespace maskctl
