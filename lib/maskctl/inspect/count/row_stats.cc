// The pass over the rows for mask_stats(): lengths of rows, and which keys are seen.
#include "maskctl/inspect/count/row_stats.h"

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>

#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr Index kColumnLimit = Index{1} << 22;
constexpr Index kShortRun = 64;

/// Collects which keys are seen by any of the rows that are added. The first two runs of a row
/// mostly touch those of the row before, so they only extend the two intervals in grown_. Of the
/// other runs, a short one sets bits_; one of more than kShortRun keys counts its two ends in
/// ends_.
class SeenKeys {
 public:
  explicit SeenKeys(Index keys) : keys_(keys), bits_(static_cast<std::size_t>(words_for(keys))) {}

  void add(const Keys& row) {
    if (row.is_words()) {
      combine_words(Op::kOr, bits_, row.words, bits_);
      return;
    }
    const std::size_t grown = std::min(row.runs.size(), grown_.size());
    for (std::size_t i = 0; i < grown; ++i) grow(grown_[i], row.runs[i]);
    for (const Run& run : row.runs.subspan(grown)) add(run);
  }

  /// One bit per key, for the caller to set.
  std::span<std::uint64_t> bits() { return bits_; }

  void join(SeenKeys& other) {
    other.finish();
    combine_words(Op::kOr, bits_, other.bits_, bits_);
    if (other.ends_.empty()) return;
    allocate_ends();
    for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] += other.ends_[i];
  }

  Index unseen() {
    finish();
    if (ends_.empty()) return keys_ - popcount(bits_);
    Index depth = 0;
    Index begin = 0;
    for (Index k = 0; k <= keys_; ++k) {
      const Index before = depth;
      depth += ends_[static_cast<std::size_t>(k)];
      if (before == 0 && depth > 0) begin = k;
      if (before > 0 && depth == 0) set_bits(bits_, {begin, k});
    }
    return keys_ - popcount(bits_);
  }

 private:
  void grow(Run& interval, const Run& run) {
    if (run.begin <= interval.end && run.end >= interval.begin) {
      if (run.begin < interval.begin) interval.begin = run.begin;
      if (run.end > interval.end) interval.end = run.end;
      return;
    }
    if (interval.end > interval.begin) add(interval);
    interval = run;
  }
  void finish() {
    for (Run& interval : grown_) {
      if (interval.end > interval.begin) set_bits(bits_, {interval.begin, interval.end});
      interval = {};
    }
  }
  void allocate_ends() {
    if (ends_.empty()) ends_.resize(static_cast<std::size_t>(keys_) + 1);
  }
  void add(const Run& run) {
    const Index length = run.end - run.begin;
    const auto first = static_cast<std::size_t>(run.begin / 64);
    if (first == static_cast<std::size_t>((run.end - 1) / 64)) {
      bits_[first] |= (~std::uint64_t{0} >> (64 - length)) << (run.begin % 64);
    } else if (length <= kShortRun) {
      set_bits(bits_, {run.begin, run.end});
    } else {
      allocate_ends();
      ++ends_[static_cast<std::size_t>(run.begin)];
      --ends_[static_cast<std::size_t>(run.end)];
    }
  }

  Index keys_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int32_t> ends_;  // empty until the first long run
  std::array<Run, 2> grown_{};      // the keys of the first two runs, such as sinks and window
};

/// Hands out SeenKeys to tasks: at most one per working thread.
class SeenPool {
 public:
  explicit SeenPool(Index keys) : keys_(keys) {}
  std::unique_ptr<SeenKeys> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<SeenKeys>(keys_);
    auto out = std::move(free_.back());
    free_.pop_back();
    return out;
  }
  void give(std::unique_ptr<SeenKeys> seen) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(seen));
  }
  Index unseen() {
    if (free_.empty()) return keys_;
    for (std::size_t i = 1; i < free_.size(); ++i) free_[0]->join(*free_[i]);
    return free_[0]->unseen();
  }

 private:
  Index keys_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SeenKeys>> free_;
};

Index keys_of(const Keys& row) {
  if (row.is_words()) return popcount(row.words);
  Index keys = 0;
  for (const Run& run : row.runs) keys += run.end - run.begin;
  return keys;
}

}  // namespace

RowFigures row_figures(const Plane& plane) {
  const Index queries = plane.queries();
  const bool columns = plane.keys() <= kColumnLimit;
  LengthCounts lengths(queries, plane.keys());
  SeenPool pool(plane.keys());
  const Index tasks = std::min<Index>(queries, Index{threads()} * 8);
  const Index step = tasks > 0 ? ceil_div(queries, tasks) : 1;
  const Index parts = ceil_div(queries, step);
  // If the plane can tell the sizes of rows and the seen keys from an index, one task marks the
  // keys of all rows at once, and no row is read.
  const bool by_lists = plane.has_row_index();
  parallel_for(by_lists && columns && parts > 0 ? parts + 1 : parts, [&](Index task) {
    auto seen = columns ? pool.take() : nullptr;
    LengthBatch batch(lengths);
    const Range range = intersect({task * step, (task + 1) * step}, {0, queries});
    if (by_lists && task == parts) {
      plane.mark_seen({0, queries}, seen->bits());
    } else if (by_lists) {
      plane.row_sizes(range, [&](Range equal, const Plane::RowSize& size) {
        batch.add(size.keys, equal.size());
      });
    } else {
      plane.rows(range, [&](Range equal, const Keys& row) {
        batch.add(keys_of(row), equal.size());
        if (seen) seen->add(row);
      });
    }
    batch.flush();
    if (seen) pool.give(std::move(seen));
  });
  RowFigures out{lengths.groups(), std::nullopt};
  if (columns) out.empty_columns = pool.unseen();
  return out;
}

}  // namespace maskctl
