// One relation between queries and keys, materialised only if its representation is dense.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl {

/// Keys [begin, end), never empty.
struct Run {
  std::int32_t begin = 0;
  std::int32_t end = 0;
  friend bool operator==(const Run&, const Run&) = default;
};

/// The keys that one query may see: either ascending runs that neither overlap nor touch, or the
/// whole row as 64-bit words (`words` not empty), key k at bit k % 64 of word k / 64, bits past the
/// last key zero. A row without keys is empty runs.
struct Keys {
  std::span<const Run> runs;
  std::span<const std::uint64_t> words;
  bool is_words() const { return !words.empty(); }
};

/// What a rectangle holds. A rectangle without cells is kEmpty.
enum class Fill : std::uint8_t { kEmpty, kPartial, kFull };

/// `count` neighbouring tiles of one tile row, from tile `first`, of equal fill.
struct TileRun {
  std::int32_t first = 0;
  std::int32_t count = 0;
  Fill fill = Fill::kEmpty;
  friend bool operator==(const TileRun&, const TileRun&) = default;
};

enum class Op : std::uint8_t { kAnd, kOr, kXor, kSub };  // kSub: in a and not in b

class Plane;
using PlanePtr = std::shared_ptr<const Plane>;

/// A relation [queries, keys] -> bool, true = may attend. Immutable and safe to share between
/// threads. A leaf must implement `rows`; everything else has a default based on it, which closed
/// forms override. Ranges must lie inside the plane: none of these functions clips them. Extents
/// are at most 2^31 - 1.
class Plane : public std::enable_shared_from_this<Plane> {
 public:
  Plane(Index queries, Index keys);  // throws Error(kShape) for extents out of range
  virtual ~Plane() = default;
  Plane(const Plane&) = delete;
  Plane& operator=(const Plane&) = delete;

  Index queries() const { return queries_; }
  Index keys() const { return keys_; }

  /// Receives ranges of rows in ascending order that together cover exactly the requested range;
  /// equal neighbours may come in one call. The Keys are valid only during the call.
  using RowSink = std::function<void(Range equal_rows, const Keys&)>;
  virtual void rows(Range q, const RowSink& sink) const = 0;

  /// Number of open cells in the rectangle.
  virtual Index count(Range q, Range k) const;
  Index count() const { return count({0, queries_}, {0, keys_}); }

  virtual Fill classify(Range q, Range k) const;

  /// Appends the non-empty tiles of the rows `q` (one tile row), ascending; tile t covers keys
  /// [t * key_tile, min((t + 1) * key_tile, keys)). Equal neighbours are merged.
  virtual void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const;

  /// out[i] += open cells of rows q in keys [edges[i], edges[i + 1]); edges ascend.
  virtual void counts(Range q, std::span<const Index> edges, std::span<Index> out) const;

  /// How many keys the rows see, and in how many runs; ranges ascend and together cover `q`.
  struct RowSize {
    Index keys = 0, runs = 0;
  };
  using SizeSink = std::function<void(Range equal_rows, const RowSize&)>;
  virtual void row_sizes(Range q, const SizeSink& sink) const;
  /// Sets the bit of every key that any of the rows sees.
  virtual void mark_seen(Range q, std::span<std::uint64_t> words) const;
  /// True when an index of its runs lets row_sizes() and mark_seen() skip the single runs of a row.
  virtual bool has_row_index() const { return false; }

  virtual PlanePtr transposed() const;
  /// The rectangle as a plane of its own, indices re-based to 0.
  virtual PlanePtr sliced(Range q, Range k) const;

  /// True when rows are computed each time they are read, instead of loaded from storage.
  virtual bool computed() const { return false; }
  /// Bytes this plane holds (shared parts counted in each holder).
  virtual Index bytes() const = 0;

 private:
  Index queries_;
  Index keys_;
};

/// Both planes must have equal extents. The result stays in the lowest tier that can hold it; a
/// result of more than `budget_runs` runs becomes a lazy node that computes its rows when they are
/// read. Throws Error(kShape) for unequal extents.
PlanePtr combine(Op op, const PlanePtr& a, const PlanePtr& b, Index budget_runs = Index{1} << 24);
PlanePtr complement(const PlanePtr& plane);
/// How many cells differ. Throws Error(kShape) for unequal extents.
Index differing_cells(const PlanePtr& a, const PlanePtr& b);

}  // namespace maskctl
