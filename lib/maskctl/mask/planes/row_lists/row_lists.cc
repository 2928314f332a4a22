// Tier 1, one of the forms in which planes are stored: each row is a list of runs that rows share,
// clipped to a range.
#include <algorithm>
#include <numeric>

#include "maskctl/base/huge_pages.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/planes/gallop.h"
#include "maskctl/mask/planes/stored_planes.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {

RowLists::RowLists(Index keys, std::shared_ptr<const Lists> lists, std::vector<RowRef> refs)
    : Plane(static_cast<Index>(refs.size()), keys),
      lists_(std::move(lists)),
      refs_(std::move(refs)) {}

namespace {

/// Finds the runs of a list that overlap a clip; the first and last of them may extend past it.
/// Clips of neighbouring rows mostly differ little, so each search starts where the last one in
/// that list ended: a new binary search would miss the cache at every step.
class ListCursor {
 public:
  explicit ListCursor(std::size_t lists) : last_(lists <= kRemembered ? lists : 0) {}

  std::span<const Run> find(std::span<const Run> list, const RowRef& ref) {
    if (ref.begin >= ref.end) return {};  // else a run around an empty clip would be found
    const bool whole =
        list.empty() || (list.front().begin >= ref.begin && list.back().end <= ref.end);
    if (whole) return list;
    Found last = last_.empty() ? Found{} : last_[ref.list];
    if (last.first > 0 && list[last.first - 1].end > ref.begin) last.first = 0;
    const std::size_t first =
        gallop(list, last.first, [&](const Run& run) { return run.end <= ref.begin; });
    if (last.end < first || (last.end > 0 && list[last.end - 1].begin >= ref.end)) last.end = first;
    const std::size_t end =
        gallop(list, last.end, [&](const Run& run) { return run.begin < ref.end; });
    if (!last_.empty()) last_[ref.list] = {first, end};
    return list.subspan(first, end - first);
  }

 private:
  static constexpr std::size_t kRemembered = 1024;
  struct Found {
    std::size_t first = 0, end = 0;
  };

  std::vector<Found> last_;
};

/// Cuts the runs of a list to a clip. Neighbouring rows mostly begin in the same run of the same
/// list; then the copy of the row before is kept except for its ends.
class CutRuns {
 public:
  std::span<const Run> operator()(std::span<const Run> runs, const RowRef& clip) {
    const bool whole =
        runs.empty() || (runs.front().begin >= clip.begin && runs.back().end <= clip.end);
    if (whole) return runs;
    if (runs.data() != first_) {
      first_ = runs.data();
      cut_.clear();
    }
    if (!cut_.empty()) cut_.front() = runs.front();
    cut_.resize(std::min(cut_.size(), runs.size()) - (cut_.empty() ? 0 : 1));
    cut_.insert(cut_.end(), runs.begin() + std::ssize(cut_), runs.end());
    cut_.front().begin = std::max(cut_.front().begin, clip.begin);
    cut_.back().end = std::min(cut_.back().end, clip.end);
    return cut_;
  }

 private:
  const Run* first_ = nullptr;  // the whole run of which cut_[0] is a part
  std::vector<Run> cut_;        // copied runs; the first and the last are cut to the clip
};

}  // namespace

void RowLists::rows(Range q, const RowSink& sink) const {
  CutRuns cut;
  ListCursor cursor(lists_->offsets.size() - 1);
  const StopPoll poll;
  for (Index row = q.begin; row < q.end;) {
    poll();
    const RowRef& ref = refs_[static_cast<std::size_t>(row)];
    Index end = row + 1;
    while (end < q.end && refs_[static_cast<std::size_t>(end)] == ref) ++end;
    sink({row, end}, {cut(cursor.find(lists_->list(ref.list), ref), ref), {}});
    row = end;
  }
}

namespace {

/// The clip of a row, intersected with the keys k.
RowRef cut_to(const RowRef& ref, Range k) {
  return {ref.list, static_cast<std::int32_t>(std::max<Index>(ref.begin, k.begin)),
          static_cast<std::int32_t>(std::min<Index>(ref.end, k.end))};
}

/// The number of open keys in a clip of a list, given the runs that overlap the clip.
Index keys_of(const RowLists::Lists& lists, std::span<const Run> runs, const RowRef& clip) {
  if (runs.empty()) return 0;
  const auto first = static_cast<std::size_t>(runs.data() - lists.runs.data());
  const Index over =
      std::max(0, clip.begin - runs.front().begin) + std::max(0, runs.back().end - clip.end);
  return Index{lists.keys_before(first + runs.size()) - lists.keys_before(first)} - over;
}

}  // namespace

Index RowLists::count(Range q, Range k) const {
  if (q != Range{0, queries()} || k != Range{0, keys()}) return counted(q, k);
  Index open = open_.load(std::memory_order_relaxed);
  if (open < 0) {
    open = counted(q, k);
    open_.store(open, std::memory_order_relaxed);
  }
  return open;
}

Index RowLists::counted(Range q, Range k) const {
  constexpr Index kRows = 1 << 14;
  std::vector<Index> sums(static_cast<std::size_t>(ceil_div(q.size(), kRows)));
  parallel_for(static_cast<Index>(sums.size()), [&](Index task) {
    const Range part{q.begin + task * kRows, std::min(q.begin + (task + 1) * kRows, q.end)};
    Index sum = 0, last = 0;
    const RowRef* previous = nullptr;
    ListCursor cursor(lists_->offsets.size() - 1);
    for (Index row = part.begin; row < part.end; ++row) {
      const RowRef& ref = refs_[static_cast<std::size_t>(row)];
      if (!previous || *previous != ref) {
        const RowRef cut = cut_to(ref, k);
        last = keys_of(*lists_, cursor.find(lists_->list(cut.list), cut), cut);
      }
      sum += last;
      previous = &ref;
    }
    sums[static_cast<std::size_t>(task)] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), Index{0});
}

void RowLists::row_sizes(Range q, const SizeSink& sink) const {
  ListCursor cursor(lists_->offsets.size() - 1);
  for (Index row = q.begin; row < q.end;) {
    const RowRef& ref = refs_[static_cast<std::size_t>(row)];
    Index end = row + 1;
    while (end < q.end && refs_[static_cast<std::size_t>(end)] == ref) ++end;
    const std::span<const Run> runs = cursor.find(lists_->list(ref.list), ref);
    sink({row, end}, {keys_of(*lists_, runs, ref), std::ssize(runs)});
    row = end;
  }
}

void RowLists::mark_seen(Range q, std::span<std::uint64_t> words) const {
  // Rows that hardly share lists, as those of index lists, are read faster one after another.
  if (q.size() < 2 * std::ssize(lists_->offsets)) return Plane::mark_seen(q, words);
  // steps[i]: how many more rows see the whole of run i than the whole of run i - 1. Neighbouring
  // rows that are equal count as one.
  std::vector<std::int32_t> steps(lists_->runs.size() + 1);
  ListCursor cursor(lists_->offsets.size() - 1);
  const RowRef* previous = nullptr;
  for (const RowRef& ref :
       refs().subspan(static_cast<std::size_t>(q.begin), static_cast<std::size_t>(q.size()))) {
    if (previous && *previous == ref) continue;
    previous = &ref;
    std::span<const Run> runs = cursor.find(lists_->list(ref.list), ref);
    const auto cut = [&](const Run& run) {
      if (run.begin >= ref.begin && run.end <= ref.end) return false;
      set_bits(words, {std::max(run.begin, ref.begin), std::min(run.end, ref.end)});
      return true;
    };
    if (!runs.empty() && cut(runs.front())) runs = runs.subspan(1);
    if (!runs.empty() && cut(runs.back())) runs = runs.first(runs.size() - 1);
    if (runs.empty()) continue;
    const auto first = static_cast<std::size_t>(runs.data() - lists_->runs.data());
    ++steps[first];
    --steps[first + runs.size()];
  }
  std::int32_t rows = 0;
  for (std::size_t i = 0; i < lists_->runs.size(); ++i) {
    rows += steps[i];
    if (rows > 0) set_bits(words, {lists_->runs[i].begin, lists_->runs[i].end});
  }
}

PlanePtr RowLists::sliced(Range q, Range k) const {
  if (k != Range{0, keys()}) return Plane::sliced(q, k);
  std::vector<RowRef> refs(refs_.begin() + q.begin, refs_.begin() + q.end);
  return with_rows(std::move(refs));
}

PlanePtr RowLists::clipped(const BandsPlane& limits) const {
  std::vector<RowRef> refs;
  reserve_huge(refs, refs_.size());
  refs = refs_;
  Index done = 0;
  const auto close_until = [&](Index row) {
    for (; done < row; ++done) refs[as_size(done)] = {refs[as_size(done)].list, 0, 0};
  };
  limits.each_interval([&](Index row, Run clip) {
    close_until(row);
    RowRef& ref = refs[as_size(done++)];
    ref.begin = std::max(ref.begin, clip.begin);
    ref.end = std::max(ref.begin, std::min(ref.end, clip.end));
  });
  close_until(queries());
  return with_rows(std::move(refs));
}

bool RowLists::shares_lists(const RowLists& other) const {
  return lists_ == other.lists_ ||
         (lists_->offsets == other.lists_->offsets && lists_->runs == other.lists_->runs);
}

bool RowLists::same_representation(const RowLists& other) const {
  return keys() == other.keys() && std::ranges::equal(refs_, other.refs_) && shares_lists(other);
}

PlanePtr RowLists::with_rows(std::vector<RowRef> refs) const {
  return std::make_shared<RowLists>(keys(), lists_, std::move(refs));
}

Index RowLists::bytes() const {
  return static_cast<Index>(
             lists_->runs.size() * sizeof(Run) + lists_->key_sums.size() * sizeof(std::uint32_t) +
             lists_->offsets.size() * sizeof(Index) + refs_.size() * sizeof(RowRef)) +
         lists_->kept_bytes();
}

PlanePtr row_lists(Index keys, std::vector<Run> runs, std::vector<Index> list_offsets,
                   std::vector<RowRef> refs) {
  auto lists = std::make_shared<RowLists::Lists>();
  constexpr std::size_t kPart = RowLists::Lists::kRunsPerSum;
  reserve_huge(lists->key_sums, runs.size() / kPart + 1);
  std::uint32_t sum = 0;
  for (std::size_t first = 0; first <= runs.size(); first += kPart) {
    lists->key_sums.push_back(sum);
    for (const Run& run : std::span(runs).subspan(first, std::min(kPart, runs.size() - first))) {
      sum += static_cast<std::uint32_t>(run.end - run.begin);
    }
  }
  lists->runs = std::move(runs);
  lists->offsets = std::move(list_offsets);
  return std::make_shared<RowLists>(keys, std::move(lists), std::move(refs));
}

}  // namespace maskctl
