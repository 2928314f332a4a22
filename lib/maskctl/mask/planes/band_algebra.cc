// Union and combination of bands. Between two crossings of their lines the order of all lines stays
// the same, so that one row represents the whole interval of rows.
#include <algorithm>
#include <limits>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/steps/apply_op.h"

namespace maskctl {
namespace {

/// The begin (delta +1) or end (delta -1) of a band of operand 0 or 1.
struct Boundary {
  Index offset;
  std::uint8_t slope;
  std::uint8_t operand;
  std::int8_t delta;
  Index at(Index q) const { return offset + (slope ? q : 0); }
};

/// The rows at which the order of two lines changes: where a line of slope 1 crosses one of slope
/// 0.
class Crossings {
 public:
  void find(Range q, std::span<const Band> a, std::span<const Band> b, Index keys) {
    rows_.assign({q.begin, q.end});
    flat_.assign({0, keys});
    slanted_.clear();
    for (const auto& bands : {a, b}) {
      for (const Band& band : bands) {
        (band.begin_slope ? slanted_ : flat_).push_back(band.begin);
        (band.end_slope ? slanted_ : flat_).push_back(band.end);
      }
    }
    unique(slanted_);
    for (const Index offset : slanted_) {
      for (const Index value : flat_) {
        add(value - offset, q);
        add(value - offset + 1, q);
      }
    }
    unique(rows_);
  }
  /// The rows at which the order of two lines changes, ascending, between q.begin as the first
  /// entry and q.end as the last.
  const std::vector<Index>& rows() const { return rows_; }

 private:
  void add(Index row, Range q) {
    if (row > q.begin && row < q.end) rows_.push_back(row);
  }
  static void unique(std::vector<Index>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
  }
  std::vector<Index> rows_, flat_, slanted_;
};

/// The line clipped to [0, keys], on an interval of rows that contains row q. The line must not
/// cross 0 or `keys` inside that interval.
Boundary clamped(Boundary line, Index q, Index keys) {
  if (line.at(q) < 0) return {0, 0, line.operand, line.delta};
  if (line.at(q) > keys) return {keys, 0, line.operand, line.delta};
  return line;
}

/// Sets `bands` to those of the result on rows where the lines have the same order as on row q.
/// `lines` must be sorted in that order.
void sweep(Op op, std::span<const Boundary> lines, Index q, Index keys, std::vector<Band>& bands) {
  bands.clear();
  int depth[2] = {0, 0};
  bool was_open = false;
  for (std::size_t i = 0; i < lines.size();) {
    const Boundary line = clamped(lines[i], q, keys);
    const Index value = line.at(q);
    while (i < lines.size() && clamped(lines[i], q, keys).at(q) == value) {
      depth[lines[i].operand] += lines[i].delta;
      ++i;
    }
    const bool is_open = value < keys && apply_op(op, depth[0] > 0, depth[1] > 0);
    if (is_open == was_open) continue;
    if (is_open) {
      bands.push_back({line.offset, 0, line.slope, 0});
    } else {
      bands.back().end = line.offset;
      bands.back().end_slope = line.slope;
    }
    was_open = is_open;
  }
}

/// Sorts the boundaries of two operands by the key at which they cross a row.
class Boundaries {
 public:
  /// Both boundaries of each band that has keys in row q, those of `a` first at the same key.
  std::span<const Boundary> at(Index q, std::span<const Band> a, std::span<const Band> b) {
    sort(a, 0, q, a_);
    if (b.empty()) return a_;
    sort(b, 1, q, b_);
    both_.resize(a_.size() + b_.size());
    std::ranges::merge(a_, b_, both_.begin(), {}, Key{q}, Key{q});
    return both_;
  }

 private:
  struct Key {
    Index q;
    Index operator()(const Boundary& line) const { return line.at(q); }
  };
  /// The boundaries of one operand are mostly sorted already.
  static void sort(std::span<const Band> bands, std::uint8_t operand, Index q,
                   std::vector<Boundary>& lines) {
    lines.clear();
    for (const Band& band : bands) {
      if (band.begin_at(q) >= band.end_at(q)) continue;
      lines.push_back({band.begin, band.begin_slope, operand, +1});
      lines.push_back({band.end, band.end_slope, operand, -1});
    }
    if (!std::ranges::is_sorted(lines, {}, Key{q})) std::ranges::sort(lines, {}, Key{q});
  }
  std::vector<Boundary> a_, b_, both_;
};

bool same_row(std::span<const Band> a, std::span<const Band> b, Index q) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [q](const Band& x, const Band& y) {
    return x.begin_at(q) == y.begin_at(q) && x.end_at(q) == y.end_at(q);
  });
}

/// Iterates over the maximal intervals of rows on which each of two planes stays in one slab (a
/// range of rows with the same bands) or in none.
class SlabPairs {
 public:
  SlabPairs(const BandsPlane& a, const BandsPlane& b) : a_(a.slabs()), b_(b.slabs()) {}

  /// Gives the next interval of rows and the bands of both planes on it. Returns false after the
  /// last.
  bool next(Index queries, Range& q, std::span<const Band>& a, std::span<const Band>& b) {
    if (row_ >= queries) return false;
    Index end = queries;
    a = at(a_, i_, end);
    b = at(b_, j_, end);
    q = {row_, end};
    row_ = end;
    return true;
  }

 private:
  std::span<const Band> at(std::span<const Slab> slabs, std::size_t& i, Index& end) const {
    while (i < slabs.size() && slabs[i].q.end <= row_) ++i;
    if (i == slabs.size()) return {};
    if (slabs[i].q.begin > row_) {
      end = std::min(end, slabs[i].q.begin);
      return {};
    }
    end = std::min(end, slabs[i].q.end);
    return slabs[i].bands;
  }
  std::span<const Slab> a_, b_;
  std::size_t i_ = 0, j_ = 0;
  Index row_ = 0;
};

/// Builds the slabs (ranges of rows with the same bands) of a op b, one interval of rows after
/// another, in buffers that are reused.
class Intervals {
 public:
  Intervals(Op op, Index keys, Index budget_bands)
      : op_(op), keys_(keys), budget_bands_(budget_bands) {}

  /// Appends the slabs of the result on rows q, on which the operands have the bands `a` and `b`.
  /// Returns false and stops when all slabs have more bands than the budget: a diagonal over n
  /// bands can cut them into O(n^2).
  bool append(Range q, std::span<const Band> a, std::span<const Band> b, std::vector<Slab>& slabs) {
    if (q.empty() || (a.empty() && b.empty())) return true;
    crossings_.find(q, a, b, keys_);
    const auto& rows = crossings_.rows();
    for (std::size_t i = 0; i + 1 < rows.size(); ++i) {
      poll_();
      sweep(op_, boundaries_.at(rows[i], a, b), rows[i], keys_, bands_);
      const std::size_t before = slabs.size();
      append_slab(slabs, {rows[i], rows[i + 1]}, bands_);
      if (slabs.size() > before) budget_bands_ -= std::ssize(slabs.back().bands);
      if (budget_bands_ < 0) return false;
    }
    return true;
  }

 private:
  Op op_;
  Index keys_, budget_bands_;
  Crossings crossings_;
  Boundaries boundaries_;
  std::vector<Band> bands_;
  const StopPoll poll_;
};

constexpr Index kAnyNumberOfBands = std::numeric_limits<Index>::max();

}  // namespace

void append_slab(std::vector<Slab>& slabs, Range q, std::span<const Band> bands) {
  if (bands.empty() || q.empty()) return;
  if (!slabs.empty() && slabs.back().q.end == q.begin) {
    Slab& last = slabs.back();
    const bool join = std::ranges::equal(last.bands, bands) ||
                      (q.size() == 1 && same_row(last.bands, bands, q.begin));
    if (join) {
      last.q.end = q.end;
      return;
    }
    if (last.q.size() == 1 && same_row(last.bands, bands, last.q.begin)) {
      last.q.end = q.end;
      last.bands.assign(bands.begin(), bands.end());
      return;
    }
  }
  slabs.push_back({q, {bands.begin(), bands.end()}});
}

void append_union(std::vector<Slab>& slabs, Range q, std::span<const Band> bands, Index keys) {
  Intervals(Op::kOr, keys, kAnyNumberOfBands).append(q, bands, {}, slabs);
}

PlanePtr bands(Index queries, Index keys, const std::vector<Slab>& slabs) {
  std::vector<Slab> canonical;
  Intervals unions(Op::kOr, keys, kAnyNumberOfBands);
  for (const Slab& slab : slabs) {
    unions.append(intersect(slab.q, {0, queries}), slab.bands, {}, canonical);
  }
  return std::make_shared<BandsPlane>(queries, keys, std::move(canonical));
}

PlanePtr combine_bands(Op op, const BandsPlane& a, const BandsPlane& b, Index budget_bands) {
  std::vector<Slab> slabs;
  SlabPairs pairs(a, b);
  Intervals intervals(op, a.keys(), budget_bands);
  Range q;
  std::span<const Band> in_a, in_b;
  while (pairs.next(a.queries(), q, in_a, in_b)) {
    if (!intervals.append(q, in_a, in_b, slabs)) return nullptr;
  }
  return std::make_shared<BandsPlane>(a.queries(), a.keys(), std::move(slabs));
}

}  // namespace maskctl
