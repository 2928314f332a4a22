#include "maskctl/inspect/recognise/lone_cells.h"

#include <algorithm>
#include <array>
#include <bit>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostCells = Index{1} << 28;  // larger planes are examined only if stored as bands
// of larger planes of bands, only some rows are read
constexpr Index kReadFromBands = Index{1} << 22;
constexpr std::size_t kMostLone = 48;

struct Position {
  Index q, k;
  friend bool operator==(const Position&, const Position&) = default;
};

/// Sets of the lines row (1), column (2) and diagonal (4): all seven, the strictest first.
constexpr std::array<unsigned, 7> kLines = {7, 3, 5, 6, 4, 2, 1};
constexpr unsigned kRow = 1, kColumn = 2, kDiagonal = 4;

using Words = std::vector<std::uint64_t>;

std::size_t words_of(Index keys) { return static_cast<std::size_t>(ceil_div(keys, 64)); }

void set_bits(Words& words, Index begin, Index end) {
  for (Index k = begin; k < end;) {
    const Index word = k / 64, past = std::min(end, (word + 1) * 64);
    const Index size = past - k;
    const std::uint64_t ones = size == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << size) - 1;
    words[static_cast<std::size_t>(word)] |= ones << (k % 64);
    k = past;
  }
}

/// Reads the rows of a plane as bits, three at a time.
class Rows {
 public:
  explicit Rows(const Plane& plane) : plane_(plane), words_(words_of(plane.keys())) {}

  /// Calls f(q, row above, row, row below) for each row; rows outside the plane are empty.
  template <typename F>
  void each(F&& f) {
    Words above, row, below;
    Index q = -1;
    const auto push = [&](Words next) {
      above = std::move(row);
      row = std::move(below);
      below = std::move(next);
      if (q >= 0) f(q, above, row, below);
      ++q;
    };
    plane_.rows({0, plane_.queries()}, [&](Range rows, const Keys& keys) {
      for (Index i = rows.begin; i < rows.end; ++i) push(bits(keys));
    });
    push({});
  }

  Words read(Index q) const {
    Words out(words_);
    plane_.rows({q, q + 1}, [&](Range, const Keys& keys) { out = bits(keys); });
    return out;
  }

 private:
  Words bits(const Keys& keys) const {
    if (keys.is_words()) return {keys.words.begin(), keys.words.end()};
    Words out(words_);
    for (const Run& run : keys.runs) set_bits(out, run.begin, run.end);
    return out;
  }
  const Plane& plane_;
  std::size_t words_;
};

/// Collects lone cells, which differ from both neighbours along a line (row, column or diagonal),
/// for each set of such lines, up to a few per set.
class Lone {
 public:
  explicit Lone(Index keys) : keys_(keys) {}

  /// Notes the lone cells of row q. `above` and `below` are empty if there is no such row. A
  /// neighbour outside the plane counts as different.
  void look(Index q, const Words& above, const Words& row, const Words& below) {
    const bool at_top = above.empty(), at_bottom = below.empty();
    for (std::size_t w = 0; w < row.size(); ++w) {
      constexpr std::uint64_t kAll = ~std::uint64_t{0};
      const std::uint64_t c = row[w];
      std::uint64_t by_row = (c ^ left(row, w, ~c)) & (c ^ right(row, w, ~c));
      std::uint64_t by_column = (at_top ? kAll : c ^ above[w]) & (at_bottom ? kAll : c ^ below[w]);
      std::uint64_t by_diagonal =
          (at_top ? kAll : c ^ left(above, w, ~c)) & (at_bottom ? kAll : c ^ right(below, w, ~c));
      // A cell without neighbours on a line is not lone along it.
      if (keys_ == 1) by_row = 0;
      if (at_top && at_bottom) by_column = 0;
      if (at_top && w + 1 == row.size()) by_diagonal &= ~(std::uint64_t{1} << ((keys_ - 1) % 64));
      if (at_bottom && w == 0) by_diagonal &= ~std::uint64_t{1};
      std::uint64_t any = by_row | by_column | by_diagonal;
      while (any != 0) {
        const int bit = std::countr_zero(any);
        any &= any - 1;
        const auto is = [bit](std::uint64_t word) {
          return static_cast<unsigned>(word >> bit & 1);
        };
        const Index k = static_cast<Index>(w) * 64 + bit;
        if (k >= keys_) break;
        note({q, k}, is(by_row) * kRow + is(by_column) * kColumn + is(by_diagonal) * kDiagonal);
      }
    }
  }

  std::vector<std::vector<Position>> sets() const {
    std::vector<std::vector<Position>> out;
    for (const unsigned lines : kLines) {
      const auto& lone = lone_[lines];
      if (lone.empty() || lone.size() > kMostLone) continue;
      if (std::ranges::find(out, lone) == out.end()) out.push_back(lone);
    }
    return out;
  }

 private:
  /// The bits of the left (right) neighbours of the keys in word w. Beyond the ends of the row,
  /// bits of `outside` are used.
  static std::uint64_t left(const Words& row, std::size_t w, std::uint64_t outside) {
    const std::uint64_t carry = w > 0 ? row[w - 1] >> 63 : outside & 1;
    return row[w] << 1 | carry;
  }
  std::uint64_t right(const Words& row, std::size_t w, std::uint64_t outside) const {
    const bool last = w + 1 == row.size();
    std::uint64_t out = row[w] >> 1 | (last ? 0 : row[w + 1] << 63);
    if (last) {
      const std::uint64_t end = std::uint64_t{1} << ((keys_ - 1) % 64);
      out = (out & ~end) | (outside & end);
    }
    return out;
  }
  void note(const Position& cell, unsigned lines) {
    for (unsigned set = 1; set < lone_.size(); ++set) {
      if ((lines & set) == set && lone_[set].size() <= kMostLone) lone_[set].push_back(cell);
    }
  }

  Index keys_;
  std::array<std::vector<Position>, 8> lone_;
};

/// Looks for lone cells (which differ from their neighbours) in a plane stored as slabs, which are
/// rows whose runs of keys begin and end on straight lines. A lone cell interrupts such lines, so
/// only slabs of at most two rows are examined. False if the plane is not stored as slabs or has
/// many such rows.
bool look_at_slabs(const Plane& plane, Lone& lone) {
  constexpr std::size_t kMostRows = 256;
  const auto* slabs = slabs_of(plane);
  if (!slabs) return false;
  std::vector<Index> rows;
  for (const Slab& slab : *slabs) {
    // A row with a lone cell is a slab of its own; two neighbouring ones may form a single slab.
    if (slab.q.size() <= 2) {
      for (Index q = slab.q.begin; q < slab.q.end; ++q) rows.push_back(q);
    }
  }
  if (rows.size() > kMostRows) return false;
  const Rows reader(plane);
  for (const Index q : rows) {
    lone.look(q, q > 0 ? reader.read(q - 1) : Words(), reader.read(q),
              q + 1 < plane.queries() ? reader.read(q + 1) : Words());
  }
  return true;
}

/// The plane with these cells flipped.
PlanePtr flipped(const PlanePtr& plane, const std::vector<Position>& lone) {
  std::vector<Slab> slabs;
  for (const Position& cell : lone) {
    if (slabs.empty() || slabs.back().q.begin != cell.q) {
      slabs.push_back({{cell.q, cell.q + 1}, {}});
    }
    slabs.back().bands.push_back({cell.k, cell.k + 1, 0, 0});
  }
  const PlanePtr cells = bands(plane->queries(), plane->keys(), slabs);
  return compacted(combine(Op::kXor, plane, cells), plane->queries() * plane->keys());
}

}  // namespace

std::vector<PlanePtr> without_lone_cells(const PlanePtr& plane) {
  const Index cells = plane->queries() * plane->keys();
  if (cells == 0) return {};
  Lone lone(plane->keys());
  if (cells <= kReadFromBands || (!slabs_of(*plane) && cells <= kMostCells)) {
    Rows(*plane).each([&](Index q, const Words& above, const Words& row, const Words& below) {
      lone.look(q, above, row, below);
    });
  } else if (!look_at_slabs(*plane, lone)) {
    return {};
  }
  std::vector<PlanePtr> out;
  for (const auto& set : lone.sets()) out.push_back(flipped(plane, set));
  return out;
}

}  // namespace maskctl::recognition
