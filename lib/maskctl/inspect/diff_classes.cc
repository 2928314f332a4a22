#include "maskctl/inspect/diff_classes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <mutex>
#include <unordered_map>

#include "maskctl/base/threads.h"
#include "maskctl/mask/clipped_classes.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

constexpr Index kMostWords = Index{1} << 22;                // of all marks together
constexpr std::size_t kMostNumbers = std::size_t{1} << 20;  // of pairs in a table

/// Which key tiles hold a key that only A, only B or one of them opens to a row of a pair of
/// classes, clips aside.
class TileMarks {
 public:
  enum Kind { kOnlyA, kOnlyB, kEither };

  TileMarks(const ClippedClasses& a, const ClippedClasses& b, Index block)
      : a_(a), b_(b), block_(block), tiles_(ceil_div(std::ssize(a.k), block)) {
    const auto width = static_cast<std::size_t>(b.count) + 1;
    const std::size_t table = (static_cast<std::size_t>(a.count) + 1) * width;
    if (table <= kMostNumbers) numbers_.resize(table, -1);
    pair_.reserve(a.q.size());
    for (std::size_t i = 0; i < a.q.size(); ++i) {
      const std::size_t place =
          static_cast<std::size_t>(a.q[i] + 1) * width + static_cast<std::size_t>(b.q[i] + 1);
      std::int32_t& number =
          numbers_.empty() ? hashed_.try_emplace(place, -1).first->second : numbers_[place];
      if (number < 0) {
        number = static_cast<std::int32_t>(pairs_.size());
        pairs_.push_back({a.q[i], b.q[i]});
      }
      pair_.push_back(number);
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

  /// What was marked last for a pair and a kind, in the tile row that begins at `row`.
  struct Told {
    Index row = -1;
    Range tiles;
  };
  std::size_t told_size() const { return pairs_.size() * 3; }

  /// Marks the tiles of `keys`, none of which the clips of the row cut, that differ for this row.
  void add(Index tile_row, Index row, Range keys, bool in_a, bool in_b, std::span<Told> told,
           std::span<std::uint64_t> seen) const {
    if (keys.empty() || (!in_a && !in_b)) return;
    const Range whole{ceil_div(keys.begin, block_),
                      keys.end == std::ssize(a_.k) ? tiles_ : keys.end / block_};
    if (!whole.empty()) {
      const Kind kind = in_a && in_b ? kEither : in_a ? kOnlyA : kOnlyB;
      const auto pair = static_cast<std::size_t>(pair_[static_cast<std::size_t>(row)]);
      Told& last = told[pair * 3 + kind];
      if (last.row != tile_row || intersect(last.tiles, whole) != whole) {
        or_range(marks(pair, kind), whole, seen);
        last = {tile_row, whole};
      }
    }
    look(row, {keys.begin, std::min(whole.begin * block_, keys.end)}, in_a, in_b, seen);
    look(row, {std::max(whole.end * block_, keys.begin), keys.end}, in_a, in_b, seen);
  }

 private:
  /// Classes of a query in A and in B.
  struct Pair {
    std::int32_t a, b;
  };

  /// Marks where a class has keys, for every pair that it is in.
  void mark_classes(const ClippedClasses& side, std::int32_t Pair::*member, Kind kind) {
    std::vector<std::vector<std::size_t>> pairs_of(static_cast<std::size_t>(side.count));
    for (std::size_t p = 0; p < pairs_.size(); ++p) {
      const std::int32_t id = pairs_[p].*member;
      if (id >= 0) pairs_of[static_cast<std::size_t>(id)].push_back(p);
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
  static bool opens(const ClippedClasses& classes, std::int32_t id, Index key) {
    return id >= 0 && classes.k[static_cast<std::size_t>(key)] == id;
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
  /// Key by key, in part of one tile.
  void look(Index row, Range keys, bool in_a, bool in_b, std::span<std::uint64_t> seen) const {
    if (keys.empty()) return;
    const Index tile = keys.begin / block_;
    std::uint64_t& word = seen[static_cast<std::size_t>(tile / 64)];
    const std::uint64_t bit = std::uint64_t{1} << (tile % 64);
    const std::int32_t id_a = in_a ? a_.q[static_cast<std::size_t>(row)] : -1;
    const std::int32_t id_b = in_b ? b_.q[static_cast<std::size_t>(row)] : -1;
    for (Index key = keys.begin; key < keys.end && !(word & bit); ++key) {
      if (opens(a_, id_a, key) != opens(b_, id_b, key)) word |= bit;
    }
  }

  const ClippedClasses& a_;
  const ClippedClasses& b_;
  Index block_, tiles_;
  std::vector<std::int32_t> numbers_;  // of pairs; empty where a table would be large
  std::unordered_map<std::size_t, std::int32_t> hashed_;
  std::vector<Pair> pairs_;
  std::vector<std::int32_t> pair_;  // of each row
  std::vector<std::uint64_t> marks_;
};

Index blocks_of_rows(const ClippedClasses& a, const ClippedClasses& b, const TileMarks& marks,
                     Range rows, std::span<TileMarks::Told> told) {
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(marks.words()));
  for (Index row = rows.begin; row < rows.end; ++row) {
    const Run in_a = a.clip[static_cast<std::size_t>(row)],
              in_b = b.clip[static_cast<std::size_t>(row)];
    std::array<Index, 4> edges{in_a.begin, in_a.end, in_b.begin, in_b.end};
    std::ranges::sort(edges);
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
      const auto holds = [&](const Run& run) {
        return run.begin <= edges[i] && edges[i] < run.end;
      };
      marks.add(rows.begin, row, {edges[i], edges[i + 1]}, holds(in_a), holds(in_b), told, seen);
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
