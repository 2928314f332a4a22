// The classes of planes that store their rows, as clips of shared run lists or as bits; private to
// the mask layer.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "maskctl/mask/planes/word_buffer.h"
#include "maskctl/mask/rows.h"

namespace maskctl {

class BandsPlane;
class ListTiles;

/// Tier 1: lists of runs that rows share, and for each row its list and the range to which it is
/// clipped.
class RowLists final : public Plane {
 public:
  struct Lists {
    std::vector<Run> runs;
    std::vector<Index> offsets;  // list i begins at runs[offsets[i]]; the last entry is the end
    /// The number of open keys of all runs before run i * kRunsPerSum, over all lists, modulo 2^32.
    std::vector<std::uint32_t> key_sums;
    static constexpr std::size_t kRunsPerSum = 16;

    /// The number of open keys of all runs before a run, over all lists, modulo 2^32. Only
    /// differences within a list are meaningful.
    std::uint32_t keys_before(std::size_t run) const {
      std::uint32_t sum = key_sums[run / kRunsPerSum];
      for (std::size_t i = run / kRunsPerSum * kRunsPerSum; i < run; ++i) {
        sum += static_cast<std::uint32_t>(runs[i].end - runs[i].begin);
      }
      return sum;
    }
    std::span<const Run> list(std::uint32_t number) const {
      return std::span(runs).subspan(
          static_cast<std::size_t>(offsets[number]),
          static_cast<std::size_t>(offsets[number + 1] - offsets[number]));
    }
    /// The number of open keys of a list below `key`, modulo 2^32. `run` is the index of the list's
    /// first run that ends after `key`.
    std::uint32_t keys_below(std::uint32_t number, std::size_t run, Index key) const;
    /// The number of open keys of a list in [begin, end).
    Index keys_in(std::uint32_t number, Index begin, Index end) const;
    /// The tiles of the lists, computed at the first call with this tile size and cached.
    std::shared_ptr<const ListTiles> tiles(Index keys, Index key_tile) const;
    /// For each key, the list that contains it, or -1; computed at the first call and cached. Null
    /// when some key is in two lists.
    const std::vector<std::int32_t>* list_of_keys(Index keys) const;

    Index kept_bytes() const { return kept_bytes_; }

   private:
    mutable std::mutex mutex_;
    mutable std::atomic<Index> kept_bytes_{0};  // memory of what is cached
    mutable std::shared_ptr<const ListTiles> tiles_;
    mutable std::once_flag keys_made_;
    mutable std::optional<std::vector<std::int32_t>> list_of_keys_;
  };
  RowLists(Index keys, std::shared_ptr<const Lists> lists, std::vector<RowRef> refs);

  void rows(Range q, const RowSink& sink) const override;
  Index count(Range q, Range k) const override;
  void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const override;
  void counts(Range q, std::span<const Index> edges, std::span<Index> out) const override;
  void row_sizes(Range q, const SizeSink& sink) const override;
  void mark_seen(Range q, std::span<std::uint64_t> words) const override;
  bool has_row_index() const override { return true; }
  PlanePtr sliced(Range q, Range k) const override;
  Index bytes() const override;

  const Lists& lists() const { return *lists_; }
  std::span<const RowRef> refs() const { return refs_; }

  /// This plane with row q intersected with row q of `limits`, whose rows have at most one run
  /// each.
  PlanePtr clipped(const BandsPlane& limits) const;
  /// A plane with the same lists and other rows.
  PlanePtr with_rows(std::vector<RowRef> refs) const;
  /// True when the lists of both planes have equal runs.
  bool shares_lists(const RowLists& other) const;
  /// True when lists and rows are equal. Then the cells are equal too, but planes with equal cells
  /// can have different lists.
  bool same_representation(const RowLists& other) const;

 private:
  Index counted(Range q, Range k) const;

  std::shared_ptr<const Lists> lists_;
  std::vector<RowRef> refs_;
  mutable std::atomic<Index> open_{-1};  // number of open cells; -1 until first needed
};

/// Tier 2: one bit per cell.
class BitRows final : public Plane {
 public:
  BitRows(Index queries, Index keys, WordBuffer words);

  void rows(Range q, const RowSink& sink) const override;
  PlanePtr transposed() const override;
  Index bytes() const override;

  Index words_per_row() const { return stride_; }
  std::span<const std::uint64_t> words() const { return words_.words(); }

 private:
  std::span<const std::uint64_t> row(Index q) const;
  Index stride_;
  WordBuffer words_;
};

/// Planes stacked vertically. All but the last have `part_rows` rows.
class Stack final : public Plane {
 public:
  Stack(Index part_rows, std::vector<PlanePtr> parts);

  void rows(Range q, const RowSink& sink) const override;
  Index count(Range q, Range k) const override;
  void tiles(Range q, Index key_tile, std::vector<TileRun>& out) const override;
  void counts(Range q, std::span<const Index> edges, std::span<Index> out) const override;
  PlanePtr transposed() const override;
  PlanePtr sliced(Range q, Range k) const override;
  bool computed() const override;
  Index bytes() const override;

  Index part_rows() const { return part_rows_; }
  std::span<const PlanePtr> parts() const { return parts_; }
  Range rows_of(std::size_t part) const;

 private:
  template <typename F>
  void each_part(Range q, F&& f) const;
  Index part_rows_;
  std::vector<PlanePtr> parts_;
};

/// The stack of these parts; a single part is returned unchanged.
PlanePtr stacked(Index part_rows, std::vector<PlanePtr> parts);

/// The number of rows to process or store at a time: about 4 MiB as bits, a multiple of 128.
Index chunk_rows(Index queries, Index keys);

}  // namespace maskctl
