#include "maskctl/mask/planes/key_lists.h"

#include <algorithm>
#include <numeric>

#include "maskctl/base/checked.h"
#include "maskctl/base/huge_pages.h"
#include "maskctl/base/threads.h"
#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/bands_plane.h"

namespace maskctl {

ListOutline outline_of(std::span<const std::int32_t> ascending) {
  if (ascending.empty()) return {};
  std::int32_t runs = 1;
  for (std::size_t i = 1; i < ascending.size(); ++i) {
    runs += ascending[i] != ascending[i - 1] + 1;
  }
  return {static_cast<std::int32_t>(ascending.size()), runs, ascending.front(), ascending.back()};
}

void append_runs(std::span<const std::int32_t> list, Index block, Index keys,
                 std::vector<Run>& runs) {
  std::size_t next = runs.size();
  runs.resize(next + list.size());
  std::int32_t last = -2;
  for (const std::int32_t entry : list) {
    const auto end = static_cast<std::int32_t>(std::min((entry + Index{1}) * block, keys));
    if (entry == last + 1) {
      runs[next - 1].end = end;
    } else {
      runs[next++] = {static_cast<std::int32_t>(entry * block), end};
    }
    last = entry;
  }
  runs.resize(next);
}

KeyLists::KeyLists(Index queries, Index keys, std::shared_ptr<const ListedKeys> lists,
                   Index first_list, std::vector<Run> clips)
    : Plane(queries, keys),
      lists_(std::move(lists)),
      first_list_(first_list),
      clips_(std::move(clips)) {}

Run KeyLists::clip(Index row) const {
  return clips_.empty() ? Run{0, static_cast<std::int32_t>(keys())} : clips_[as_size(row)];
}

inline Fill KeyLists::overlap(Range keys, const ListOutline& list) const {
  const Index size = lists_->block.k;
  const Index begin = list.first * size, end = (list.last + Index{1}) * size;
  if (list.size == 0 || keys.begin >= keys.end || begin >= keys.end || end <= keys.begin) {
    return Fill::kEmpty;
  }
  const bool whole = begin >= keys.begin && std::min(end, this->keys()) <= keys.end;
  return whole ? Fill::kFull : Fill::kPartial;
}

std::span<const std::int32_t> KeyLists::part(Index list, Range keys) const {
  const Fill fill = overlap(keys, lists_->outlines[as_size(list)]);
  if (fill == Fill::kEmpty) return {};
  const auto all = lists_->list(list);
  if (fill == Fill::kFull) return all;
  const Index size = lists_->block.k;
  return {std::ranges::lower_bound(all, keys.begin / size),
          std::ranges::lower_bound(all, ceil_div(keys.end, size))};
}

Index KeyLists::keys_in(Index row, Range k) const {
  const Run all = clip(row);
  const Range wanted = intersect(k, {all.begin, all.end});
  const Index list = number(row), size = lists_->block.k;
  const ListOutline& outline = lists_->outlines[as_size(list)];
  const Fill fill = overlap(wanted, outline);
  if (fill == Fill::kEmpty) return 0;
  if (fill == Fill::kFull) {
    return outline.size * size - std::max<Index>(0, (outline.last + Index{1}) * size - keys());
  }
  const auto listed = part(list, wanted);
  if (listed.empty()) return 0;
  const Index over = std::max<Index>(0, wanted.begin - listed.front() * size) +
                     std::max<Index>(0, (listed.back() + Index{1}) * size - wanted.end);
  return std::ssize(listed) * size - over;
}

Index KeyLists::equal_end(Index row, Index end) const {
  const Index list = number(row);
  const Run range = clip(row);
  Index next = row + 1;
  while (next < end && clip(next) == range &&
         (number(next) == list ||
          std::ranges::equal(lists_->list(number(next)), lists_->list(list)))) {
    ++next;
  }
  return next;
}

void KeyLists::rows(Range q, const RowSink& sink) const {
  const StopPoll poll;
  std::vector<Run> runs;
  for (Index row = q.begin; row < q.end;) {
    poll();
    const Index end = equal_end(row, q.end);
    const Run range = clip(row);
    runs.clear();
    append_runs(part(number(row), {range.begin, range.end}), lists_->block.k, keys(), runs);
    if (!runs.empty()) {
      runs.front().begin = std::max(runs.front().begin, range.begin);
      runs.back().end = std::min(runs.back().end, range.end);
    }
    sink({row, end}, {runs, {}});
    row = end;
  }
}

Index KeyLists::count(Range q, Range k) const {
  constexpr Index kRows = 1 << 14;
  std::vector<Index> sums(as_size(ceil_div(q.size(), kRows)));
  parallel_for(std::ssize(sums), [&](Index task) {
    const Range rows{q.begin + task * kRows, std::min(q.begin + (task + 1) * kRows, q.end)};
    Index sum = 0;
    for (Index row = rows.begin; row < rows.end; ++row) sum += keys_in(row, k);
    sums[as_size(task)] = sum;
  });
  return std::accumulate(sums.begin(), sums.end(), Index{0});
}

void KeyLists::row_sizes(Range q, const SizeSink& sink) const {
  for (Index row = q.begin; row < q.end;) {
    const Index end = equal_end(row, q.end), list = number(row);
    const ListOutline& outline = lists_->outlines[as_size(list)];
    const Range range{clip(row).begin, clip(row).end};
    const bool whole = overlap(range, outline) == Fill::kFull;
    sink({row, end},
         {keys_in(row, {0, keys()}), whole ? outline.runs : outline_of(part(list, range)).runs});
    row = end;
  }
}

void KeyLists::mark_seen(Range q, std::span<std::uint64_t> words) const {
  if (lists_->block.k > 1) return Plane::mark_seen(q, words);
  const StopPoll poll;
  for (Index row = q.begin; row < q.end; ++row) {
    poll();
    for (const std::int32_t key : part(number(row), {clip(row).begin, clip(row).end})) {
      words[static_cast<std::uint32_t>(key) / 64] |= std::uint64_t{1} << (key % 64);
    }
  }
}

PlanePtr KeyLists::sliced(Range q, Range k) const {
  if (k != Range{0, keys()} || q.begin % lists_->block.q != 0) return Plane::sliced(q, k);
  std::vector<Run> clips;
  if (!clips_.empty()) clips.assign(clips_.begin() + q.begin, clips_.begin() + q.end);
  return std::make_shared<KeyLists>(q.size(), keys(), lists_, number(q.begin), std::move(clips));
}

PlanePtr KeyLists::clipped(const BandsPlane& limits) const {
  std::vector<Run> clips;
  reserve_huge(clips, as_size(queries()));
  clips.resize(as_size(queries()));
  limits.each_interval([&](Index row, Run range) {
    const Run own = clip(row);
    const Run both{std::max(own.begin, range.begin), std::min(own.end, range.end)};
    if (both.begin < both.end) clips[as_size(row)] = both;
  });
  return std::make_shared<KeyLists>(queries(), keys(), lists_, first_list_, std::move(clips));
}

Index KeyLists::bytes() const {
  return static_cast<Index>(lists_->entries.size_bytes() +
                            lists_->outlines.size() * sizeof(ListOutline) +
                            clips_.size() * sizeof(Run));
}

}  // namespace maskctl
