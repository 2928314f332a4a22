#include "maskctl/inspect/find/regions.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

/// How many rows are read between two checks of the limits.
constexpr Index kBand = 1024;

bool comes_before(Place a, Place b) { return std::tie(a.query, a.key) < std::tie(b.query, b.key); }

void join(Region& region, const Region& other) {
  if (comes_before(other.first, region.first)) region.first = other.first;
  region.queries = {std::min(region.queries.begin, other.queries.begin),
                    std::max(region.queries.end, other.queries.end)};
  region.keys = {std::min(region.keys.begin, other.keys.begin),
                 std::max(region.keys.end, other.keys.end)};
  region.cells += other.cells;
}

/// Takes rows in ascending order, and joins each run with the runs that it touches in the row
/// above.
class Sweep {
 public:
  void add(Range rows, const Keys& keys) {
    if (is_full()) return;
    end_ = rows.end;
    runs_.assign(keys.runs.begin(), keys.runs.end());
    if (keys.is_words()) words_to_runs(keys.words, runs_);
    below_.clear();
    auto from = above_.begin();
    for (const Run& run : runs_) below_.push_back({run, region_of(rows, run, from)});
    above_.swap(below_);
    read_ += std::ssize(runs_);
  }
  /// Passes over rows without an open cell.
  void skip(Range rows) {
    above_.clear();
    end_ = rows.end;
  }

  /// Whether the limits are reached; cells added from then on are left out.
  bool is_full() const { return std::ssize(nodes_) >= kMostRegions || read_ >= kMostRegionRuns; }

  Index queries() const { return end_; }
  std::vector<Region> regions() const {
    std::vector<Region> out;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].parent == i) out.push_back(nodes_[i].region);
    }
    std::ranges::sort(out, comes_before, &Region::first);
    return out;
  }

 private:
  struct Node {
    Region region;
    std::size_t parent;
  };
  struct Piece {
    Run run;
    std::size_t node;
  };
  using Pieces = std::vector<Piece>;

  std::size_t root(std::size_t node) {
    while (nodes_[node].parent != node) {
      nodes_[node].parent = nodes_[nodes_[node].parent].parent;
      node = nodes_[node].parent;
    }
    return node;
  }

  /// The region to which `run` belongs. If it touches runs in the row above, their regions are
  /// joined to one, which it joins; if it touches none, it starts a new region. Moves `from` to the
  /// first run of the row above that may touch this run or one to its right.
  std::size_t region_of(Range rows, Run run, Pieces::iterator& from) {
    const Region piece{{rows.begin, run.begin},
                       rows,
                       {run.begin, run.end},
                       rows.size() * (Index{run.end} - run.begin)};
    while (from != above_.end() && from->run.end < run.begin) ++from;
    std::optional<std::size_t> found;
    for (auto at = from; at != above_.end() && at->run.begin <= run.end; ++at) {
      const std::size_t other = root(at->node);
      if (!found) {
        found = other;
      } else if (*found != other) {
        join(nodes_[*found].region, nodes_[other].region);
        nodes_[other].parent = *found;
      }
    }
    if (found) {
      join(nodes_[*found].region, piece);
      return *found;
    }
    nodes_.push_back({piece, nodes_.size()});
    return nodes_.size() - 1;
  }

  std::vector<Node> nodes_;
  Pieces above_, below_;
  std::vector<Run> runs_;
  Index read_ = 0, end_ = 0;
};

}  // namespace

RegionsFound open_regions(const Plane& plane) {
  Sweep sweep;
  const StopPoll poll;
  const Range keys{0, plane.keys()};
  for (Index q = 0; q < plane.queries() && !sweep.is_full(); q += kBand) {
    poll();
    const Range band{q, std::min(q + kBand, plane.queries())};
    if (plane.classify(band, keys) == Fill::kEmpty) {
      sweep.skip(band);
    } else {
      plane.rows(band, [&](Range rows, const Keys& open) { sweep.add(rows, open); });
    }
  }
  return {sweep.regions(), sweep.queries()};
}

RegionsFound empty_row_regions(const Plane& plane) {
  RegionsFound out;
  out.queries = plane.queries();
  const Range keys{0, plane.keys()};
  plane.row_sizes({0, plane.queries()}, [&](Range rows, const Plane::RowSize& size) {
    if (size.keys > 0 || rows.begin >= out.queries) return;
    const Region found{{rows.begin, 0}, rows, keys, rows.size() * keys.size()};
    if (!out.regions.empty() && out.regions.back().queries.end == rows.begin) {
      join(out.regions.back(), found);
    } else if (std::ssize(out.regions) < kMostRegions) {
      out.regions.push_back(found);
    } else {
      out.queries = rows.begin;
    }
  });
  return out;
}

const Region* next_region(std::span<const Region> regions, Place from, Way way) {
  if (way == Way::kForward) {
    const auto at = std::ranges::upper_bound(regions, from, comes_before, &Region::first);
    return at == regions.end() ? nullptr : &*at;
  }
  const auto at = std::ranges::lower_bound(regions, from, comes_before, &Region::first);
  return at == regions.begin() ? nullptr : &*std::prev(at);
}

}  // namespace maskctl
