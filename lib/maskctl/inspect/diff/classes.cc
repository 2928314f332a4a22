#include "maskctl/inspect/diff/classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kMostWords = Index{1} << 22;  // limit for the words of all marks
// limit for a table with one entry per pair of classes
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;

/// Marks the tiles of keys in which rows of A and B differ. Each row of a mask sees one of a few
/// shared lists of keys (its class) within a range (its clip). For each pair of a class in A and
/// one in B that some row has, there are marks for keys in A's clip only (kOnlyA: tiles with a key
/// of A's class), in B's only (kOnlyB), and in both (kEither: tiles in which the keys of the
/// classes differ).
class TileMarks {
 public:
  enum Kind { kOnlyA, kOnlyB, kEither };

  TileMarks(const ClippedRows& a, const ClippedRows& b, Index block)
      : a_(a), b_(b), block_(block), tiles_(ceil_div(std::ssize(a.k), block)) {
    const std::size_t table = as_size(a.count) * as_size(b.count);
    if (table <= kMostNumbers) numbers_.resize(table, -1);
    for (std::size_t row = 0; row < a.rows.size(); ++row) {
      const Pair pair = pair_of(row);
      std::int32_t& number = numbers_.empty() ? hashed_.try_emplace(index(pair), -1).first->second
                                              : numbers_[index(pair)];
      if (number >= 0) continue;
      number = static_cast<std::int32_t>(pairs_.size());
      pairs_.push_back(pair);
    }
  }

  bool fits() const { return std::ssize(pairs_) * 3 * words() <= kMostWords; }
  Index words() const { return words_for(tiles_); }
  Index tiles() const { return tiles_; }
  Index block() const { return block_; }

  void make() {
    marks_.assign(static_cast<std::size_t>(std::ssize(pairs_) * 3 * words()), 0);
    mark_classes(a_, &Pair::a, kOnlyA);
    mark_classes(b_, &Pair::b, kOnlyB);
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const auto in_a = marks(p, kOnlyA), in_b = marks(p, kOnlyB), either = marks(p, kEither);
      combine_words(Op::kXor, in_a, in_b, either);
      for (std::size_t i = 0; i < in_a.size(); ++i) {
        for (std::uint64_t both = in_a[i] & in_b[i]; both != 0; both &= both - 1) {
          const Index tile = static_cast<Index>(i) * 64 + std::countr_zero(both);
          if (differs(pairs_[p], tile)) set_bits(either, {tile, tile + 1});
        }
      }
    }
  }

  /// The index of the pair of classes (one shared list of keys of A, one of B) that a row has.
  std::size_t pair_number(Index row) const {
    const std::size_t at = index(pair_of(as_size(row)));
    return as_size(numbers_.empty() ? hashed_.find(at)->second : numbers_[at]);
  }

  /// For a pair of classes and a kind of marks: the tiles of keys whose marks were last copied, and
  /// the tile row for which they were copied.
  struct Told {
    Index row = -1;
    Range tiles;
  };
  std::size_t told_size() const { return pairs_.size() * 3; }

  /// Sets in `seen` the tiles of `keys` in which A and B differ for a row with this pair of
  /// classes. `in_a` and `in_b` say whether `keys` are in the range of keys to which A and B cut
  /// the row; neither range may contain only a part of `keys`.
  void add(Index tile_row, std::size_t pair, Range keys, bool in_a, bool in_b, std::span<Told> told,
           std::span<std::uint64_t> seen) const {
    if (keys.empty() || (!in_a && !in_b)) return;
    const Range whole{ceil_div(keys.begin, block_),
                      keys.end == std::ssize(a_.k) ? tiles_ : keys.end / block_};
    if (!whole.empty()) {
      const Kind kind = in_a && in_b ? kEither : in_a ? kOnlyA : kOnlyB;
      Told& last = told[pair * 3 + kind];
      if (last.row != tile_row || intersect(last.tiles, whole) != whole) {
        or_range(marks(pair, kind), whole, seen);
        last = {tile_row, whole};
      }
    }
    look(pair, {keys.begin, std::min(whole.begin * block_, keys.end)}, in_a, in_b, seen);
    look(pair, {std::max(whole.end * block_, keys.begin), keys.end}, in_a, in_b, seen);
  }

 private:
  /// The classes of a query: the shared list of keys that it sees in A, and the one in B.
  struct Pair {
    std::uint32_t a, b;
  };
  Pair pair_of(std::size_t row) const { return {a_.rows[row].list, b_.rows[row].list}; }
  std::size_t index(const Pair& pair) const { return pair.a * as_size(b_.count) + pair.b; }

  /// For each class (shared list of keys) of A, or of B, marks the tiles in which it has keys, for
  /// every pair with this class.
  void mark_classes(const ClippedRows& side, std::uint32_t Pair::*member, Kind kind) {
    std::vector<std::vector<std::size_t>> pairs_of(static_cast<std::size_t>(side.count));
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      pairs_of[pairs_[p].*member].push_back(p);
    }
    std::vector<Index> last(pairs_of.size(), -1);
    for (Index key = 0; key < std::ssize(side.k); ++key) {
      const std::int32_t id = side.k[static_cast<std::size_t>(key)];
      const Index tile = key / block_;
      if (id < 0 || last[static_cast<std::size_t>(id)] == tile) continue;
      last[static_cast<std::size_t>(id)] = tile;
      for (const std::size_t p : pairs_of[static_cast<std::size_t>(id)]) {
        set_bits(marks(p, kind), {tile, tile + 1});
      }
    }
  }
  bool differs(const Pair& pair, Index tile) const {
    const Index end = std::min((tile + 1) * block_, std::ssize(a_.k));
    for (Index key = tile * block_; key < end; ++key) {
      if (opens(a_, pair.a, key) != opens(b_, pair.b, key)) return true;
    }
    return false;
  }
  static bool opens(const ClippedRows& side, std::uint32_t list, Index key) {
    return side.k[as_size(key)] == static_cast<std::int32_t>(list);
  }
  std::span<std::uint64_t> marks(std::size_t pair, Kind kind) {
    const auto size = static_cast<std::size_t>(words());
    return std::span(marks_).subspan((pair * 3 + kind) * size, size);
  }
  std::span<const std::uint64_t> marks(std::size_t pair, Kind kind) const {
    const auto size = static_cast<std::size_t>(words());
    return std::span(marks_).subspan((pair * 3 + kind) * size, size);
  }
  static void or_range(std::span<const std::uint64_t> from, Range bits,
                       std::span<std::uint64_t> to) {
    const auto first = static_cast<std::size_t>(bits.begin / 64);
    const auto last = static_cast<std::size_t>((bits.end - 1) / 64);
    for (std::size_t i = first; i <= last; ++i) {
      std::uint64_t word = from[i];
      if (i == first) word &= ~std::uint64_t{0} << (bits.begin % 64);
      if (i == last) word &= ~std::uint64_t{0} >> (63 - (bits.end - 1) % 64);
      to[i] |= word;
    }
  }
  /// Compares A and B in keys of a single tile, one by one, and sets the tile in `seen` if one of
  /// them differs.
  void look(std::size_t pair, Range keys, bool in_a, bool in_b,
            std::span<std::uint64_t> seen) const {
    if (keys.empty()) return;
    const Index tile = keys.begin / block_;
    std::uint64_t& word = seen[static_cast<std::size_t>(tile / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (tile % 64);
    const auto [list_a, list_b] = pairs_[pair];
    for (Index key = keys.begin; key < keys.end && !(word & bit); ++key) {
      if ((in_a && opens(a_, list_a, key)) != (in_b && opens(b_, list_b, key))) word |= bit;
    }
  }

  const ClippedRows& a_;
  const ClippedRows& b_;
  Index block_, tiles_;
  // index of each pair of classes; empty if the table would be too large: then `hashed_` has it
  std::vector<std::int32_t> numbers_;
  std::unordered_map<std::size_t, std::int32_t> hashed_;
  std::vector<Pair> pairs_;
  std::vector<std::uint64_t> marks_;
};

/// The begins and ends of the ranges of keys to which A and B cut a row, in ascending order.
std::array<Index, 4> sorted_edges(const Range& a, const Range& b) {
  const auto [first, second] = std::minmax(a.begin, b.begin);
  const auto [third, fourth] = std::minmax(a.end, b.end);
  return {first, std::min(second, third), std::max(second, third), fourth};
}

Range clip_of(const RowRef& row) { return {row.begin, std::max(row.begin, row.end)}; }

Index blocks_of_rows(const ClippedRows& a, const ClippedRows& b, const TileMarks& marks, Range rows,
                     std::span<TileMarks::Told> told) {
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(marks.words()));
  for (Index row = rows.begin; row < rows.end; ++row) {
    const Range in_a = clip_of(a.rows[as_size(row)]), in_b = clip_of(b.rows[as_size(row)]);
    const std::size_t pair = marks.pair_number(row);
    const std::array<Index, 4> edges = sorted_edges(in_a, in_b);
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      marks.add(rows.begin, pair, {edges[i], edges[i + 1]}, in_a.contains(edges[i]),
                in_b.contains(edges[i]), told, seen);
    }
  }
  return popcount(seen);
}

}  // namespace

std::optional<Index> differing_blocks(const Plane& a, const Plane& b, Index block) {
  const auto classes_a = clipped_rows(a), classes_b = clipped_rows(b);
  if (!classes_a || !classes_b) return std::nullopt;
  TileMarks marks(*classes_a, *classes_b, block);
  if (!marks.fits()) return std::nullopt;
  marks.make();
  const Index tile_rows = ceil_div(a.queries(), block);
  const Index tasks = std::clamp<Index>(tile_rows, 1, Index{threads()} * 8);
  Index blocks = 0;
  std::mutex mutex;
  parallel_for(tasks, [&](Index task) {
    Index sum = 0;
    std::vector<TileMarks::Told> told(marks.told_size());
    for (Index i = task * tile_rows / tasks; i < (task + 1) * tile_rows / tasks; ++i) {
      sum += blocks_of_rows(*classes_a, *classes_b, marks,
                            {i * block, std::min((i + 1) * block, a.queries())}, told);
    }
    const std::lock_guard lock(mutex);
    blocks += sum;
  });
  return blocks;
}

}  // namespace maskctl
