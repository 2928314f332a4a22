#include "maskctl/mask/planes/bands.h"

#include <algorithm>
#include <array>
#include <utility>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/planes/tile_sums.h"

namespace maskctl {
namespace {

/// The sum of clamp(offset + slope * q, low, high) over the rows q.
Index sum_clamped(Index offset, bool slope, Range q, Index low, Index high) {
  if (!slope) return std::clamp(offset, low, high) * q.size();
  const Index first = std::clamp(low - offset, q.begin, q.end);  // earlier terms are clamped to low
  const Index last =
      std::clamp(high - offset, first, q.end);  // terms from here on are clamped to high
  const Index middle = last - first;
  const Index series = middle * offset + (first + last - 1) * middle / 2;
  return (first - q.begin) * low + series + (q.end - last) * high;
}

/// The number of open cells of a band in a rectangle. The band must not be empty on any of the
/// rows.
Index cells(const Band& band, Range q, Range k) {
  return sum_clamped(band.end, band.end_slope, q, k.begin, k.end) -
         sum_clamped(band.begin, band.begin_slope, q, k.begin, k.end);
}

/// any_keys: from the first to the last key that is open in some row of q. all_keys: the keys that
/// are open in all rows of q.
Range any_keys(const Band& band, Range q) {
  return {band.begin_at(q.begin), band.end_at(q.end - 1)};
}
Range all_keys(const Band& band, Range q) {
  return {band.begin_at(q.end - 1), band.end_at(q.begin)};
}

/// Appends the tiles of rows q, which all see `band` and no other. The keys of neighbouring rows of
/// a band overlap or touch, so no tile between the first and the last is empty.
void append_tiles_of_band(const Band& band, Range q, Index keys, Index key_tile,
                          std::vector<TileRun>& out) {
  const Range any = any_keys(band, q), all = all_keys(band, q);
  const Index first = any.begin / key_tile, end = ceil_div(any.end, key_tile);
  Range whole{ceil_div(all.begin, key_tile),
              all.end == keys ? ceil_div(keys, key_tile) : all.end / key_tile};
  if (whole.empty()) whole = {end, end};
  const auto add = [&out](Index begin, Index behind, Fill fill) {
    if (begin < behind) {
      out.push_back(
          {static_cast<std::int32_t>(begin), static_cast<std::int32_t>(behind - begin), fill});
    }
  };
  add(first, whole.begin, Fill::kPartial);
  add(whole.begin, whole.end, Fill::kFull);
  add(whole.end, end, Fill::kPartial);
}

/// Counts the open cells of each tile in a tile row, but stores only the tiles at which the count
/// changes: O(bands), not O(tiles).
class SparseTiles {
 public:
  SparseTiles(Index rows, Index keys, Index key_tile)
      : rows_(rows), keys_(keys), key_tile_(key_tile) {}

  void add(const Band& band, Range q) {
    const Range any = any_keys(band, q);
    const Range all = all_keys(band, q);
    const Index first = any.begin / key_tile_;
    const Index last = (any.end - 1) / key_tile_;
    Index whole_begin = ceil_div(all.begin, key_tile_);  // first tile with all keys inside `all`
    Index whole_end = all.end / key_tile_;
    if (whole_begin >= whole_end) whole_begin = whole_end = last + 1;
    for (Index tile = first; tile < whole_begin; ++tile) add_cells(tile, band, q);
    if (whole_begin < whole_end) {
      changes_.push_back({whole_begin, 0, q.size()});
      changes_.push_back({whole_end, 0, -q.size()});
    }
    for (Index tile = whole_end; tile <= last; ++tile) add_cells(tile, band, q);
  }

  void finish(std::vector<TileRun>& out) {
    std::sort(changes_.begin(), changes_.end(),
              [](const Change& a, const Change& b) { return a.tile < b.tile; });
    const std::size_t row_start = out.size();
    Index covering = 0;
    for (std::size_t i = 0; i < changes_.size();) {
      const Index tile = changes_[i].tile;
      Index open = 0;
      for (; i < changes_.size() && changes_[i].tile == tile; ++i) {
        open += changes_[i].cells;
        covering += changes_[i].covering;
      }
      const Index next = i < changes_.size() ? changes_[i].tile : tile + 1;
      append(out, row_start, tile, 1, open + covering * width(tile));
      if (covering > 0) append(out, row_start, tile + 1, next - tile - 1, covering * key_tile_);
    }
  }

 private:
  struct Change {
    Index tile, cells, covering;
  };
  Range keys_of(Index tile) const {
    return {tile * key_tile_, std::min((tile + 1) * key_tile_, keys_)};
  }
  Index width(Index tile) const { return keys_of(tile).size(); }
  void add_cells(Index tile, const Band& band, Range q) {
    changes_.push_back({tile, cells(band, q, keys_of(tile)), 0});
  }
  void append(std::vector<TileRun>& out, std::size_t row_start, Index tile, Index count,
              Index open) const {
    if (open == 0 || count <= 0) return;
    const bool full = open == rows_ * width(tile);
    append_tile(out, row_start, tile, count, full ? Fill::kFull : Fill::kPartial);
  }

  Index rows_, keys_, key_tile_;
  std::vector<Change> changes_;
};

/// A piece of a transposed plane: its rows k (keys of the original) see the band q of queries.
struct Piece {
  Range k;
  Band q;
};

/// Appends the transpose of a band on rows q, as at most three pieces (see Piece).
void mirror(const Band& band, Range q, std::vector<Piece>& out) {
  const Range keys = any_keys(band, q);
  // Key k is seen by rows [max(q.begin, k - end + 1), min(q.end, k - begin + 1)) if both edges have
  // slope 1; an edge of slope 0 sets no bound.
  std::array<Index, 4> cuts{keys.begin, keys.end, keys.begin, keys.end};
  if (band.end_slope) cuts[2] = std::clamp(q.begin + band.end, keys.begin, keys.end);
  if (band.begin_slope) cuts[3] = std::clamp(q.end - 1 + band.begin, keys.begin, keys.end);
  std::sort(cuts.begin(), cuts.end());
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    const Range k{cuts[i], cuts[i + 1]};
    if (k.empty()) continue;
    Band rows{q.begin, q.end, 0, 0};
    if (band.end_slope && k.begin >= q.begin + band.end) {
      rows.begin = 1 - band.end;
      rows.begin_slope = 1;
    }
    if (band.begin_slope && k.begin < q.end - 1 + band.begin) {
      rows.end = 1 - band.begin;
      rows.end_slope = 1;
    }
    out.push_back({k, rows});
  }
}

/// Returns the union of pieces of a transposed plane, which may overlap, as slabs (ranges of rows
/// with the same bands).
std::vector<Slab> layered(std::vector<Piece> pieces, Index keys_of_result) {
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.k.begin < b.k.begin; });
  std::vector<Index> cuts;
  for (const Piece& piece : pieces) cuts.insert(cuts.end(), {piece.k.begin, piece.k.end});
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Slab> slabs;
  std::vector<Piece> active;
  std::size_t next = 0;
  for (std::size_t i = 0; i + 1 < cuts.size(); ++i) {
    std::erase_if(active, [&](const Piece& piece) { return piece.k.end <= cuts[i]; });
    for (; next < pieces.size() && pieces[next].k.begin == cuts[i]; ++next) {
      active.push_back(pieces[next]);
    }
    std::vector<Band> bands;
    bands.reserve(active.size());
    for (const Piece& piece : active) bands.push_back(piece.q);
    append_union(slabs, {cuts[i], cuts[i + 1]}, bands, keys_of_result);
  }
  return slabs;
}

}  // namespace

BandsPlane::BandsPlane(Index queries, Index keys, std::vector<Slab> canonical)
    : Plane(queries, keys), slabs_(std::move(canonical)) {}

template <typename F>
void BandsPlane::each_slab(Range q, F&& f) const {
  auto slab = std::partition_point(slabs_.begin(), slabs_.end(),
                                   [&](const Slab& s) { return s.q.end <= q.begin; });
  for (; slab != slabs_.end() && slab->q.begin < q.end; ++slab) f(*slab, intersect(slab->q, q));
}

void BandsPlane::rows(Range q, const RowSink& sink) const {
  Index row = q.begin;
  std::vector<Run> runs;
  const StopPoll poll;
  each_slab(q, [&](const Slab& slab, Range part) {
    if (row < part.begin) sink({row, part.begin}, {});
    row = part.end;
    const bool slanted = std::any_of(slab.bands.begin(), slab.bands.end(), [](const Band& band) {
      return band.begin_slope || band.end_slope;
    });
    const Index step = slanted ? 1 : part.size();
    runs.resize(slab.bands.size());
    for (Index r = part.begin; r < part.end; r += step) {
      poll();
      std::ranges::transform(slab.bands, runs.begin(), [r](const Band& band) {
        return Run{static_cast<std::int32_t>(band.begin_at(r)),
                   static_cast<std::int32_t>(band.end_at(r))};
      });
      sink({r, r + step}, {runs, {}});
    }
  });
  if (row < q.end) sink({row, q.end}, {});
}

Index BandsPlane::count(Range q, Range k) const {
  Index open = 0;
  each_slab(q, [&](const Slab& slab, Range part) {
    for (const Band& band : slab.bands) open += cells(band, part, k);
  });
  return open;
}

void BandsPlane::tiles(Range q, Index key_tile, std::vector<TileRun>& out) const {
  const auto first =
      std::ranges::partition_point(slabs_, [&](const Slab& s) { return s.q.end <= q.begin; });
  const bool is_alone = first != slabs_.end() && first->q.begin <= q.begin &&
                        q.end <= first->q.end && first->bands.size() == 1 && !q.empty();
  if (is_alone) return append_tiles_of_band(first->bands.front(), q, keys(), key_tile, out);
  SparseTiles sparse(q.size(), keys(), key_tile);
  each_slab(q, [&](const Slab& slab, Range part) {
    for (const Band& band : slab.bands) sparse.add(band, part);
  });
  sparse.finish(out);
}

void BandsPlane::counts(Range q, std::span<const Index> edges, std::span<Index> out) const {
  each_slab(q, [&](const Slab& slab, Range part) {
    for (const Band& band : slab.bands) {
      const Range any = any_keys(band, part);
      const auto edge = std::upper_bound(edges.begin(), edges.end(), any.begin);
      std::size_t i =
          edge == edges.begin() ? 0 : static_cast<std::size_t>(edge - edges.begin()) - 1;
      for (; i < out.size() && edges[i] < any.end; ++i) {
        out[i] += cells(band, part, {edges[i], edges[i + 1]});
      }
    }
  });
}

PlanePtr BandsPlane::transposed() const {
  std::vector<Piece> pieces;
  for (const Slab& slab : slabs_) {
    for (const Band& band : slab.bands) mirror(band, slab.q, pieces);
  }
  return std::make_shared<BandsPlane>(keys(), queries(), layered(std::move(pieces), queries()));
}

PlanePtr BandsPlane::sliced(Range q, Range k) const {
  std::vector<Slab> slabs;
  each_slab(q, [&](const Slab& slab, Range part) {
    std::vector<Band> shifted = slab.bands;
    for (Band& band : shifted) {
      band.begin += (band.begin_slope ? q.begin : 0) - k.begin;
      band.end += (band.end_slope ? q.begin : 0) - k.begin;
    }
    append_union(slabs, {part.begin - q.begin, part.end - q.begin}, shifted, k.size());
  });
  return std::make_shared<BandsPlane>(q.size(), k.size(), std::move(slabs));
}

Index BandsPlane::bytes() const {
  Index total = 0;
  for (const Slab& slab : slabs_) {
    total += static_cast<Index>(sizeof(Slab) + slab.bands.capacity() * sizeof(Band));
  }
  return total;
}

bool BandsPlane::single_runs() const {
  return std::all_of(slabs_.begin(), slabs_.end(),
                     [](const Slab& slab) { return slab.bands.size() == 1; });
}

const std::vector<Slab>* slabs_of(const Plane& plane) {
  const auto* held = dynamic_cast<const BandsPlane*>(&plane);
  return held ? &held->slabs() : nullptr;
}

PlanePtr empty_plane(Index queries, Index keys) {
  return std::make_shared<BandsPlane>(queries, keys, std::vector<Slab>{});
}

PlanePtr full_plane(Index queries, Index keys) {
  return rectangle(queries, keys, {0, queries}, {0, keys});
}

PlanePtr diagonal_band(Index queries, Index keys, Index low, Index high) {
  const Index reach = std::max(queries, keys);
  const Band band{std::clamp(low, -reach, reach), std::clamp(high, -reach, reach) + 1, 1, 1};
  return bands(queries, keys, {{{0, queries}, {band}}});
}

Index count_on_diagonals(const PlanePtr& plane, Index low, Index high) {
  return combine(Op::kAnd, plane, diagonal_band(plane->queries(), plane->keys(), low, high))
      ->count();
}

PlanePtr rectangle(Index queries, Index keys, Range q, Range k) {
  return bands(queries, keys, {{q, {{k.begin, k.end, 0, 0}}}});
}

}  // namespace maskctl
