// The mask of one batch and head: a relation between queries and keys, stored or computed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// A range of open keys [begin, end), never empty.
struct Run {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// The open keys of one query, in one of two forms. Runs: ascending, neither overlapping nor
/// touching. Words (`words` is not empty): the whole row as bits, key k at bit k % 64 of word k /
/// 64, bits after the last key zero. A row without open keys is empty runs.
struct Keys {
  std::span<const Run> runs;
  std::span<const std::uint64_t> words;
  bool is_words() const { return !words.empty(); }
};

/// Whether the cells of a rectangle are all closed, mixed or all open. A rectangle without cells is
/// kEmpty.
enum class Fill : std::uint8_t { kEmpty, kPartial, kFull };

/// A run of neighbouring tiles of one tile row with the same fill: `count` tiles from tile `first`.
struct TileRun {
  std::int32_t first = 0;
  std::int32_t count = 0;
  Fill fill = Fill::kEmpty;
  friend bool operator==(const TileRun&, const TileRun&) = default;
};

enum class Op : std::uint8_t { kAnd, kOr, kXor, kSub };  // kSub: in a and not in b

class Plane;
using PlanePtr = std::shared_ptr<const Plane>;

/// A relation [queries, keys] -> bool, true = may attend. Immutable and thread-safe. A subclass
/// must implement rows(); the other functions have defaults based on it, which closed forms
/// override. Ranges are not clipped: they must be inside the plane. Extents are at most 2^31 - 1.
class Plane : public std::enable_shared_from_this<Plane> {
 public:
  Plane(Index queries, Index keys);  // throws Error(kShape) for extents out of range
  virtual ~Plane() = default;
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;

  Index queries() const { return queries_; }
  Index keys() const { return keys_; }

  /// Receives the keys of rows in ascending order. The ranges together are exactly the rows asked
  /// for; neighbouring equal rows may come in one call. The Keys are valid only during the call.
  using RowSink = std::function<void(Range equal_rows, const Keys&)>;
  virtual void rows(Range q, const RowSink& sink) const = 0;

  /// count: the number of open cells in the rectangle. classify: its Fill.
  virtual Index count(Range q, Range k) const;
  Index count() const { return count({0, queries_}, {0, keys_}); }

  virtual Fill classify(Range q, Range k) const;

  /// Appends the non-empty tiles of one tile row, the rows `q`, in ascending order. Tile t has the
  /// keys [t * key_tile, min((t + 1) * key_tile, keys)). Neighbours with the same fill are merged.
  virtual void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const;

  /// out[i] += number of open cells of rows q with keys in [edges[i], edges[i + 1]); edges ascend.
  virtual void counts(Range q, std::span<const Index> edges, std::span<Index> out) const;

  /// How many keys a row sees, and in how many runs. row_sizes() calls its sink for ascending
  /// ranges of rows that together are `q`.
  struct RowSize {
    Index keys = 0, runs = 0;
  };
  using SizeSink = std::function<void(Range equal_rows, const RowSize&)>;
  virtual void row_sizes(Range q, const SizeSink& sink) const;
  /// Sets the bit of every key that any of the rows q sees.
  virtual void mark_seen(Range q, std::span<std::uint64_t> words) const;
  /// True when row_sizes() and mark_seen() use an index instead of visiting every run of a row.
  virtual bool has_row_index() const { return false; }

  virtual PlanePtr transposed() const;
  /// The rectangle as a plane; its indices count from 0 again.
  virtual PlanePtr sliced(Range q, Range k) const;

  /// True when rows are computed each time they are read, false when they are loaded from storage.
  virtual bool computed() const { return false; }
  /// The memory that this plane uses, including parts that it shares with other planes.
  virtual Index bytes() const = 0;

 private:
  Index queries_;
  Index keys_;
};

/// Combines two planes of equal extents. The result is stored in the cheapest form that can hold
/// it; if it has more than `budget_runs` runs, its rows are computed each time they are read.
/// Throws Error(kShape) for unequal extents.
PlanePtr combine(Op op, const PlanePtr& a, const PlanePtr& b, Index budget_runs = Index{1} << 24);
PlanePtr complement(const PlanePtr& plane);
/// The number of cells that differ. Throws Error(kShape) for unequal extents.
Index differing_cells(const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
