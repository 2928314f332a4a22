#include "maskctl/mask/equal/row_groups.h"

#include <algorithm>
#include <mutex>

#include "maskctl/base/threads.h"
#include "maskctl/mask/equal/equal_lines.h"
#include "maskctl/mask/planes/bit_tiles.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

// All tasks but the last have a multiple of kRowStep rows. That is a multiple of 64, so that no
// tile of 64 rows is split.
constexpr Index kRowStep = 128;
constexpr Index kCellsPerScan = Index{1} << 20;  // fewer cells are not worth a task

/// Hashes a row to the same value whether it is given as runs or as words.
class RowHash {
 public:
  explicit RowHash(std::span<const std::uint64_t> random)
      : random_(random), few_(std::ssize(random) / 4), words_(random.size()) {}

  RowGroup operator()(Range rows, const Keys& keys) {
    const Index runs = keys.is_words() ? runs_up_to_few(keys.words) : std::ssize(keys.runs);
    return {rows, runs <= few_ ? hash_runs(as_runs(keys)) : hash_words(as_words(keys), random_),
            runs > 0};
  }

 private:
  /// The number of runs in the words if that is at most few_, else any number above few_.
  Index runs_up_to_few(std::span<const std::uint64_t> words) const {
    constexpr std::size_t kPart = 32;
    Index most = 0;  // an upper bound: a run may be counted in two parts
    for (std::size_t at = 0; at + kPart < words.size(); at += kPart) {
      most += count_runs(words.subspan(at, kPart)) - 1;
      if (most > few_) return most;
    }
    return count_runs(words);
  }
  std::span<const Run> as_runs(const Keys& keys) {
    if (!keys.is_words()) return keys.runs;
    runs_.clear();
    words_to_runs(keys.words, runs_);
    return runs_;
  }
  std::span<const std::uint64_t> as_words(const Keys& keys) {
    if (keys.is_words()) return keys.words;
    runs_to_words(keys.runs, words_);
    return words_;
  }
  std::span<const std::uint64_t> random_;
  Index few_;
  std::vector<Run> runs_;
  std::vector<std::uint64_t> words_;
};

std::vector<std::uint64_t> random_words(Index count) {
  std::vector<std::uint64_t> random(as_size(count));
  for (std::size_t i = 0; i < random.size(); ++i) random[i] = scrambled(~std::uint64_t{i});
  return random;
}

bool same_keys(const Keys& a, const Keys& b) {
  if (a.is_words() && b.is_words()) return std::ranges::equal(a.words, b.words);
  if (!a.is_words() && !b.is_words()) return std::ranges::equal(a.runs, b.runs);
  std::vector<Run> runs;
  words_to_runs(a.is_words() ? a.words : b.words, runs);
  return std::ranges::equal(runs, a.is_words() ? b.runs : a.runs);
}

bool same_rows(const Plane& plane, Index a, Index b) {
  bool same = false;
  plane.rows({a, a + 1}, [&](Range, const Keys& left) {
    plane.rows({b, b + 1}, [&](Range, const Keys& right) { same = same_keys(left, right); });
  });
  return same;
}

}  // namespace

RowScan scan_rows(const Plane& plane, bool with_columns) {
  const auto random = random_words(words_for(plane.keys()));
  const Index width = with_columns ? plane.keys() : 0;
  const Index least = std::max(kRowStep, kCellsPerScan / std::max<Index>(1, plane.keys()));
  const Index tasks = std::clamp<Index>(plane.queries() / least, 1, 2 * threads());
  const Index step = ceil_div(ceil_div(plane.queries(), tasks), kRowStep) * kRowStep;
  std::vector<std::vector<RowGroup>> groups(as_size(tasks));
  ColumnSums total(width);
  std::mutex mutex;
  parallel_for(tasks, [&](Index task) {
    const Range rows = intersect({task * step, (task + 1) * step}, {0, plane.queries()});
    if (rows.empty()) return;
    RowHash hash(random);
    ColumnSums sums(width);
    plane.rows(rows, [&](Range equal, const Keys& keys) {
      groups[as_size(task)].push_back(hash(equal, keys));
      if (with_columns) sums.add(equal, keys);
    });
    const std::lock_guard lock(mutex);
    total.add(sums);
  });
  RowScan scan;
  for (const auto& part : groups) {
    scan.groups.insert(scan.groups.end(), part.begin(), part.end());
  }
  scan.any_words = total.any_words();
  scan.columns = total.columns();
  return scan;
}

std::vector<std::uint32_t> first_groups(const Plane& plane, std::span<const RowGroup> groups) {
  std::vector<std::uint64_t> hashes(groups.size());
  std::ranges::transform(groups, hashes.begin(), &RowGroup::hash);
  return first_equal(hashes, plane.keys(), [&](std::size_t i, std::size_t j) {
    return same_rows(plane, groups[i].rows.begin, groups[j].rows.begin);
  });
}

}  // namespace maskctl
