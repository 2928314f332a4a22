// Documents are found by dynamic programming, which counts bits of the description: a document
// saves the bits of the open cells that its band covers, and costs the bits of the closed cells in
// the band and of its own length. So a single odd cell costs the bits of a cell but moves no
// border. Regions that the documents found so far do not explain are then left out of the sums,
// because their cells say nothing about documents, and the documents are searched again.
#include "maskctl/inspect/recognise/packed.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <span>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/edges.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/own_runs.h"
#include "maskctl/inspect/recognise/regions.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/chunk.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/region.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostTokens = 512;  // with more tokens, not all borders can be tried
constexpr std::size_t kMostEdges = 6, kMostChains = 4, kMostMissed = 8;
// How many lower and how many upper limits of a band are tried in pairs, "no limit" included.
constexpr std::size_t kPairedLows = 4, kPairedHighs = 5;
constexpr int kRounds = 4;

/// Limits on key - query, both inclusive; nullopt means no limit.
struct Sides {
  std::optional<Index> low, high;
  bool has(Index diagonal) const {
    return (!low || diagonal >= *low) && (!high || diagonal <= *high);
  }
  friend bool operator==(const Sides&, const Sides&) = default;
};

/// The cells of a plane as weights: 1 open, -1 closed, 0 left out.
class Weights {
 public:
  explicit Weights(const Plane& plane) : size_(plane.keys()) {
    cells_.assign(static_cast<std::size_t>(size_ * size_), -1);
    each_band(plane, [&](Range rows, const Band& band) {
      for (Index q = rows.begin; q < rows.end; ++q) {
        std::fill(at(q, band.begin_at(q)), at(q, band.end_at(q)), std::int8_t{1});
      }
    });
  }

  Index size() const { return size_; }
  std::int8_t operator()(Index q, Index k) const {
    return cells_[static_cast<std::size_t>(q * size_ + k)];
  }
  Index open() const { return std::ranges::count(cells_, std::int8_t{1}); }

  void leave_out(const step::Region& rule) {
    const std::vector<Range> all{{0, size_}};
    for (const Range& q : rule.q.empty() ? all : rule.q) {
      for (const Range& k : rule.k.empty() ? all : rule.k) leave_out(q, k);
    }
  }
  void leave_out(Range q, Range k) {
    for (Index row = q.begin; row < q.end; ++row) {
      std::fill(at(row, k.begin), at(row, k.end), std::int8_t{0});
    }
  }

  /// Diagonals (key - query) at which the upper (or lower) side of a band may be: those that have
  /// more open cells next to closed ones than neighbouring diagonals have, the most striking first.
  std::vector<Index> edges(bool upper) const {
    std::vector<Index> times(static_cast<std::size_t>(2 * size_ + 1));
    for (Index q = 0; q < size_; ++q) {
      for (Index k = 1; k < size_; ++k) {
        const Index open = upper ? k - 1 : k, closed = upper ? k : k - 1;
        if ((*this)(q, open) == 1 && (*this)(q, closed) == -1) {
          ++times[static_cast<std::size_t>(open - q + size_)];
        }
      }
    }
    return most_striking(times);
  }

 private:
  std::vector<std::int8_t>::iterator at(Index q, Index k) { return cells_.begin() + q * size_ + k; }
  std::vector<Index> most_striking(const std::vector<Index>& times) const {
    std::vector<std::pair<Index, Index>> found;
    for (std::size_t i = 1; i + 1 < times.size(); ++i) {
      const Index excess = times[i] - std::min(times[i - 1], times[i + 1]);
      if (excess > 0) found.emplace_back(-excess, static_cast<Index>(i) - size_);
    }
    std::ranges::sort(found);
    if (found.size() > kMostEdges) found.resize(kMostEdges);
    std::vector<Index> out;
    for (const auto& [excess, diagonal] : found) out.push_back(diagonal);
    return out;
  }

  Index size_;
  std::vector<std::int8_t> cells_;
};

/// Sums of the weights inside a band, for any square of tokens [begin, end) x [begin, end).
class Squares {
 public:
  Squares(const Weights& weights, const Sides& sides)
      : stride_(weights.size() + 1), sums_(static_cast<std::size_t>(stride_ * stride_)) {
    for (Index q = 0; q < weights.size(); ++q) {
      std::int32_t row = 0;
      for (Index k = 0; k < weights.size(); ++k) {
        if (sides.has(k - q)) row += weights(q, k);
        sums_[index(q + 1, k + 1)] = sums_[index(q, k + 1)] + row;
      }
    }
  }
  Index operator()(Index begin, Index end) const {
    return sums_[index(end, end)] - sums_[index(begin, end)] - sums_[index(end, begin)] +
           sums_[index(begin, begin)];
  }

 private:
  std::size_t index(Index q, Index k) const { return static_cast<std::size_t>(q * stride_ + k); }
  Index stride_;
  std::vector<std::int32_t> sums_;
};

using Side = std::optional<Index>;

struct Packed {
  Sides sides;
  std::vector<Index> lengths;
  Index length = -1;  // bits of the description, including the cells that it leaves wrong
};

class BorderSearch {
 public:
  explicit BorderSearch(const PlanePtr& plane)
      : plane_(plane),
        extent_{plane->queries(), plane->keys()},
        description_(extent_),
        cells_(*plane) {}

  std::vector<Chain> run() {
    for (const Weights& start : starts()) from(start);
    std::ranges::stable_sort(found_, {}, &Found::length);
    std::vector<Chain> out;
    for (Found& one : found_) {
      if (out.size() < kMostChains) out.push_back(std::move(one.chain));
    }
    return out;
  }

 private:
  struct Found {
    Chain chain, regions;
    Index residue = 0, length = 0;
  };

  /// The weights of cells to start from: those of all cells; and those without the rows (or
  /// columns) that are entirely open or closed, since these may be exceptions.
  std::vector<Weights> starts() const {
    std::vector<Weights> out{cells_};
    for (const bool rows : {true, false}) {
      Weights without = cells_;
      bool any = false;
      for (Index i = 0; i < cells_.size(); ++i) {
        if (!is_uniform(i, rows)) continue;
        any = true;
        const Range line{i, i + 1}, all{0, cells_.size()};
        without.leave_out(rows ? line : all, rows ? all : line);
      }
      if (any) out.push_back(std::move(without));
    }
    return out;
  }
  bool is_uniform(Index line, bool row) const {
    const auto cell = [&](Index i) { return row ? cells_(line, i) : cells_(i, line); };
    for (Index i = 1; i < cells_.size(); ++i) {
      if (cell(i) != cell(0)) return false;
    }
    return true;
  }

  /// Finds documents in rounds. The cells that remain unexplained form regions; the next round
  /// leaves out all regions, or one of them. Stops when the description gets no shorter.
  void from(const Weights& start) {
    std::vector<Weights> tried{start};
    Index best = -1;
    for (int round = 0; round < kRounds && !tried.empty(); ++round) {
      std::optional<Found> shortest;
      for (const Weights& weights : tried) {
        Found found = explained(weights);
        if (!shortest || found.length < shortest->length) shortest = std::move(found);
      }
      tried.clear();
      if (best >= 0 && shortest->length >= best) return;
      best = shortest->length;
      if (shortest->regions.size() > 1 || shortest->residue > 0) tried = without(shortest->regions);
    }
  }
  std::vector<Weights> without(const Chain& regions) const {
    constexpr std::size_t kMostSingly = 4;
    std::vector<Weights> out;
    if (regions.empty()) return out;
    Weights all = cells_;
    for (const Step& step : regions) all.leave_out(step.as<step::Region>());
    out.push_back(std::move(all));
    if (regions.size() == 1 || regions.size() > kMostSingly) return out;
    for (const Step& step : regions) {
      out.push_back(cells_);
      out.back().leave_out(step.as<step::Region>());
    }
    return out;
  }

  Found explained(const Weights& weights) {
    const Packed packed = searched(weights);
    if (packed.lengths.size() != 2) return measured(chain_of(packed));
    // The first of two documents may only be padding on the left: the shorter description is kept.
    Chain padded = band_of(packed.sides);
    padded.insert(padded.begin(), pad(packed.lengths.back(), true, false));
    Found left = measured(padded), best = measured(chain_of(packed));
    return left.length <= best.length ? left : best;
  }

  Found measured(Chain chain) {
    Found out{std::move(chain), {}, 0, 0};
    const Regions regions = regions_between(plane_of(out.chain, extent_), plane_);
    out.regions = regions.chain;
    out.residue = regions.residue;
    out.length = description_.of(out.chain) + regions.bits + regions.residue * description_.cell();
    const bool seen =
        std::ranges::any_of(found_, [&](const Found& other) { return other.chain == out.chain; });
    if (!seen) found_.push_back(out);
    return out;
  }

  /// Tries pairs of a lower and an upper side of the band, at the most striking diagonals; then
  /// changes one side at a time as long as the result gets better.
  Packed searched(const Weights& weights) const {
    std::vector<Side> lows{std::nullopt}, highs{std::nullopt, Side(0)};
    for (const Index diagonal : weights.edges(false)) lows.emplace_back(diagonal);
    for (const Index diagonal : weights.edges(true)) highs.emplace_back(diagonal);
    const Index open = weights.open();
    Packed best = placed(weights, {}, open);
    const auto consider = [&](const Side& low, const Side& high) {
      if (low && high && *low > *high) return false;
      Packed next = placed(weights, {low, high}, open);
      const bool better = next.length < best.length;
      if (better) best = std::move(next);
      return better;
    };
    for (const Side& low : std::span(lows).first(std::min(lows.size(), kPairedLows))) {
      for (const Side& high : std::span(highs).first(std::min(highs.size(), kPairedHighs))) {
        consider(low, high);
      }
    }
    for (bool better = true; better;) {
      add_missed(weights, best, lows, highs);
      better = false;
      for (const Side& low : lows)
        better = (low != best.sides.low && consider(low, best.sides.high)) || better;
      for (const Side& high : highs)
        better = (high != best.sides.high && consider(best.sides.low, high)) || better;
      // A window that reaches equally far to both sides is tried as a whole: moving one of its
      // sides alone may gain nothing.
      for (const Side& high : highs) better = (high && consider(-*high, high)) || better;
    }
    return best;
  }

  /// Adds sides of the band (diagonals at which it begins or ends) that would make single cells
  /// right that the packed documents get wrong.
  void add_missed(const Weights& weights, const Packed& packed, std::vector<Side>& lows,
                  std::vector<Side>& highs) const {
    std::size_t missed = 0;
    const auto add = [](std::vector<Side>& sides, Index diagonal) {
      if (std::ranges::find(sides, Side(diagonal)) == sides.end()) sides.emplace_back(diagonal);
    };
    Index begin = 0;
    for (const Index length : packed.lengths) {
      for (Index q = begin; q < begin + length; ++q) {
        for (Index k = begin; k < begin + length; ++k) {
          const bool open = packed.sides.has(k - q);
          if (weights(q, k) == (open ? 1 : -1) || weights(q, k) == 0) continue;
          if (++missed > kMostMissed) return;
          add(lows, k - q + (open ? 1 : 0));
          add(highs, k - q - (open ? 1 : 0));
        }
      }
      begin += length;
    }
  }

  /// The best documents for a band. `open` is the number of open cells.
  Packed placed(const Weights& weights, const Sides& sides, Index open) const {
    const Squares squares(weights, sides);
    const Index size = weights.size(), number = description_.number(), cell = description_.cell();
    std::vector<Index> best(static_cast<std::size_t>(size + 1)), from(best.size());
    for (Index end = 1; end <= size; ++end) {
      Index& its = best[static_cast<std::size_t>(end)];
      its = -size * size * cell;
      for (Index begin = 0; begin < end; ++begin) {
        const Index gain =
            best[static_cast<std::size_t>(begin)] + squares(begin, end) * cell - number;
        if (gain <= its) continue;
        its = gain;
        from[static_cast<std::size_t>(end)] = begin;
      }
    }
    // The last document may end early: tokens past it are closed, which costs nothing.
    Index end = size;
    for (Index last = size - 1; last > 0; --last) {
      if (best[static_cast<std::size_t>(last)] > best[static_cast<std::size_t>(end)]) end = last;
    }
    Packed out{sides, {}, 0};
    out.length = open * cell - best[static_cast<std::size_t>(end)];
    for (; end > 0; end = from[static_cast<std::size_t>(end)]) {
      out.lengths.insert(out.lengths.begin(), end - from[static_cast<std::size_t>(end)]);
    }
    for (const Step& step : band_of(sides)) out.length += description_.of(step);
    return out;
  }

  /// The documents as steps: documents of one length as chunks; a single document as padding, or as
  /// no step if it has all tokens.
  Chain documents_of(const std::vector<Index>& lengths) const {
    const Index size = extent_.keys, first = lengths.front();
    if (lengths.size() == 1) return first == size ? Chain{} : Chain{pad(first, false, true)};
    const bool equal = std::ranges::all_of(lengths, [&](const Index& length) {
      return length == first || &length == &lengths.back();
    });
    const Index all = std::accumulate(lengths.begin(), lengths.end(), Index{0});
    if (equal && lengths.back() <= first && all == size) return {{step::Chunk{first, 0}}};
    return {{step::DocumentLengths{lengths}}};
  }

  Chain band_of(const Sides& sides) const {
    if (sides.low) return {window(extent_, sides.low, sides.high)};
    if (sides.high) return {causal(extent_, *sides.high)};
    return {};
  }
  Chain chain_of(const Packed& packed) const {
    Chain out = documents_of(packed.lengths);
    for (Step& step : band_of(packed.sides)) out.push_back(std::move(step));
    return out;
  }

  PlanePtr plane_;
  Extent extent_;
  Description description_;
  Weights cells_;
  std::vector<Found> found_;
};

}  // namespace

std::vector<Chain> packed_chains(const PlanePtr& plane) {
  if (plane->queries() != plane->keys() || plane->keys() == 0) return {};
  return plane->keys() <= kMostTokens ? BorderSearch(plane).run() : chains_by_own_runs(*plane);
}

}  // namespace maskctl::recognition
