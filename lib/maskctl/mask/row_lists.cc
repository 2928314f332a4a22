// Tier 1: rows as clips of shared run lists.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/stored_planes.h"
#include "maskctl/mask/words.h"

namespace maskctl {

RowLists::RowLists(Index keys, std::shared_ptr<const Lists> lists, std::vector<RowRef> refs)
    : Plane(static_cast<Index>(refs.size()), keys),
      lists_(std::move(lists)),
      refs_(std::move(refs)) {}

/// The runs of the list that meet the clip; the outer ones may reach over it.
std::span<const Run> RowLists::runs_in(const RowRef& ref) const {
  if (ref.begin >= ref.end) return {};
  const auto list = std::span(lists_->runs)
                        .subspan(static_cast<std::size_t>(lists_->offsets[ref.list]),
                                 static_cast<std::size_t>(lists_->offsets[ref.list + 1] -
                                                          lists_->offsets[ref.list]));
  const auto first = std::partition_point(list.begin(), list.end(),
                                          [&](const Run& run) { return run.end <= ref.begin; });
  const auto last =
      std::partition_point(first, list.end(), [&](const Run& run) { return run.begin < ref.end; });
  return {first, last};
}

void RowLists::rows(Range q, const RowSink& sink) const {
  std::vector<Run> cut;
  for (Index row = q.begin; row < q.end;) {
    const RowRef& ref = refs_[static_cast<std::size_t>(row)];
    Index end = row + 1;
    while (end < q.end && refs_[static_cast<std::size_t>(end)] == ref) ++end;
    std::span<const Run> runs = runs_in(ref);
    if (!runs.empty() && (runs.front().begin < ref.begin || runs.back().end > ref.end)) {
      cut.assign(runs.begin(), runs.end());
      cut.front().begin = std::max(cut.front().begin, ref.begin);
      cut.back().end = std::min(cut.back().end, ref.end);
      runs = cut;
    }
    sink({row, end}, {runs, {}});
    row = end;
  }
}

Index RowLists::count_row(const RowRef& ref, Range k) const {
  const RowRef cut{ref.list, static_cast<std::int32_t>(std::max<Index>(ref.begin, k.begin)),
                   static_cast<std::int32_t>(std::min<Index>(ref.end, k.end))};
  if (cut.begin >= cut.end) return 0;
  const std::span<const Run> runs = runs_in(cut);
  if (runs.empty()) return 0;
  const auto& before = lists_->keys_before;
  const auto first = static_cast<std::size_t>(runs.data() - lists_->runs.data());
  const Index over =
      std::max(0, cut.begin - runs.front().begin) + std::max(0, runs.back().end - cut.end);
  return before[first + runs.size()] - before[first] - over;
}

Index RowLists::count(Range q, Range k) const {
  constexpr Index kRows = 1 << 14;
  std::vector<Index> sums(static_cast<std::size_t>(ceil_div(q.size(), kRows)));
  parallel_for(static_cast<Index>(sums.size()), [&](Index task) {
    const Range part{q.begin + task * kRows, std::min(q.begin + (task + 1) * kRows, q.end)};
    Index sum = 0, last = 0;
    const RowRef* previous = nullptr;
    for (Index row = part.begin; row < part.end; ++row) {
      const RowRef& ref = refs_[static_cast<std::size_t>(row)];
      if (!previous || *previous != ref) last = count_row(ref, k);
      sum += last;
      previous = &ref;
    }
    sums[static_cast<std::size_t>(task)] = sum;
  });
  Index total = 0;
  for (const Index sum : sums) total += sum;
  return total;
}

PlanePtr RowLists::sliced(Range q, Range k) const {
  if (k != Range{0, keys()}) return Plane::sliced(q, k);
  std::vector<RowRef> refs(refs_.begin() + q.begin, refs_.begin() + q.end);
  return std::make_shared<RowLists>(keys(), lists_, std::move(refs));
}

PlanePtr RowLists::clipped(const std::function<void(Range, const RowSink&)>& single_runs) const {
  std::vector<RowRef> refs = refs_;
  single_runs({0, queries()}, [&](Range rows, const Keys& keys) {
    const Run clip = keys.runs.empty() ? Run{0, 0} : keys.runs.front();
    for (Index row = rows.begin; row < rows.end; ++row) {
      RowRef& ref = refs[static_cast<std::size_t>(row)];
      ref.begin = std::max(ref.begin, clip.begin);
      ref.end = std::max(ref.begin, std::min(ref.end, clip.end));
    }
  });
  return std::make_shared<RowLists>(keys(), lists_, std::move(refs));
}

Index RowLists::bytes() const {
  return static_cast<Index>(lists_->runs.size() * (sizeof(Run) + sizeof(Index)) +
                            lists_->offsets.size() * sizeof(Index) + refs_.size() * sizeof(RowRef));
}

PlanePtr row_lists(Index keys, std::vector<Run> runs, std::vector<Index> list_offsets,
                   std::vector<RowRef> refs) {
  auto lists = std::make_shared<RowLists::Lists>();
  lists->keys_before.reserve(runs.size() + 1);
  Index sum = 0;
  for (const Run& run : runs) {
    lists->keys_before.push_back(sum);
    sum += run.end - run.begin;
  }
  lists->keys_before.push_back(sum);
  lists->runs = std::move(runs);
  lists->offsets = std::move(list_offsets);
  return std::make_shared<RowLists>(keys, std::move(lists), std::move(refs));
}

}  // namespace maskctl
