// The pass over rows behind stats: lengths of rows and marks of seen keys.
#include "maskctl/inspect/row_stats.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "maskctl/base/threads.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

constexpr Index kColumnLimit = Index{1} << 22;
constexpr Index kShortRun = 64;

/// Which keys any row saw. Short runs set bits, which stay in the cache when rows hold many of
/// them; long ones mark their two ends.
class SeenKeys {
 public:
  explicit SeenKeys(Index keys)
      : keys_(keys),
        bits_(static_cast<std::size_t>(words_for(keys))),
        ends_(static_cast<std::size_t>(keys) + 1) {}

  void add(const Keys& row) {
    if (row.is_words()) {
      combine_words(Op::kOr, bits_, row.words, bits_);
      return;
    }
    for (const Run& run : row.runs) add(run);
  }

  void join(const SeenKeys& other) {
    combine_words(Op::kOr, bits_, other.bits_, bits_);
    for (std::size_t i = 0; i < ends_.size(); ++i) ends_[i] += other.ends_[i];
  }

  Index unseen() {
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
  void add(const Run& run) {
    const Index length = run.end - run.begin;
    const auto first = static_cast<std::size_t>(run.begin / 64);
    if (first == static_cast<std::size_t>((run.end - 1) / 64)) {
      bits_[first] |= (~std::uint64_t{0} >> (64 - length)) << (run.begin % 64);
    } else if (length <= kShortRun) {
      set_bits(bits_, {run.begin, run.end});
    } else {
      ++ends_[static_cast<std::size_t>(run.begin)];
      --ends_[static_cast<std::size_t>(run.end)];
    }
  }

  Index keys_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int32_t> ends_;
};

/// At most one SeenKeys for each thread that works, handed out to tasks.
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

/// By a histogram where that is small against the rows, else by sorting.
std::vector<RowGroup> grouped(std::vector<std::int32_t>& lengths, Index keys) {
  std::vector<RowGroup> groups;
  if (keys / 4 > static_cast<Index>(lengths.size())) {
    std::sort(lengths.begin(), lengths.end());
    for (const std::int32_t length : lengths) {
      if (groups.empty() || groups.back().keys != length) groups.push_back({length, 0});
      ++groups.back().rows;
    }
    return groups;
  }
  std::vector<Index> histogram(static_cast<std::size_t>(keys) + 1);
  for (const std::int32_t length : lengths) ++histogram[static_cast<std::size_t>(length)];
  for (Index k = 0; k <= keys; ++k) {
    const Index rows = histogram[static_cast<std::size_t>(k)];
    if (rows > 0) groups.push_back({k, rows});
  }
  return groups;
}

}  // namespace

RowFigures row_figures(const Plane& plane) {
  const Index queries = plane.queries();
  const bool columns = plane.keys() <= kColumnLimit;
  std::vector<std::int32_t> lengths(static_cast<std::size_t>(queries));
  SeenPool pool(plane.keys());
  const Index tasks = std::min<Index>(queries, Index{threads()} * 8);
  const Index step = tasks > 0 ? ceil_div(queries, tasks) : 1;
  parallel_for(ceil_div(queries, step), [&](Index task) {
    const Range range = intersect({task * step, (task + 1) * step}, {0, queries});
    auto seen = columns ? pool.take() : nullptr;
    plane.rows(range, [&](Range equal, const Keys& row) {
      std::fill(lengths.begin() + equal.begin, lengths.begin() + equal.end,
                static_cast<std::int32_t>(keys_of(row)));
      if (seen) seen->add(row);
    });
    if (seen) pool.give(std::move(seen));
  });
  RowFigures out{grouped(lengths, plane.keys()), std::nullopt};
  if (columns) out.empty_columns = pool.unseen();
  return out;
}

std::vector<RowGroup> merge_groups(const std::vector<RowGroup>& a, const std::vector<RowGroup>& b,
                                   Index times) {
  std::vector<RowGroup> out;
  out.reserve(a.size() + b.size());
  auto left = a.begin();
  for (const RowGroup& group : b) {
    while (left != a.end() && left->keys < group.keys) out.push_back(*left++);
    out.push_back({group.keys, group.rows * times});
    if (left != a.end() && left->keys == group.keys) out.back().rows += (left++)->rows;
  }
  out.insert(out.end(), left, a.end());
  return out;
}

double median(const std::vector<RowGroup>& groups) {
  Index rows = 0;
  for (const RowGroup& group : groups) rows += group.rows;
  if (rows == 0) return 0;
  const auto keys_at = [&groups](Index row) {
    auto group = groups.begin();
    for (; row >= group->rows; ++group) row -= group->rows;
    return static_cast<double>(group->keys);
  };
  return (keys_at((rows - 1) / 2) + keys_at(rows / 2)) / 2;
}

}  // namespace maskctl
