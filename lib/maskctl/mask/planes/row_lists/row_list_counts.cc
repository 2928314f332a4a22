// Counts the open keys of clipped run lists in many intervals, in one pass over each list for all
// rows that use it.
#include <algorithm>

#include "maskctl/base/work_scope.h"
#include "maskctl/mask/planes/gallop.h"
#include "maskctl/mask/planes/row_lists/row_list_groups.h"
#include "maskctl/mask/planes/stored_planes.h"

namespace maskctl {

std::uint32_t RowLists::Lists::keys_below(std::uint32_t number, std::size_t run, Index key) const {
  const std::size_t at = static_cast<std::size_t>(offsets[number]) + run;
  const bool is_in = at < static_cast<std::size_t>(offsets[number + 1]) && key > runs[at].begin;
  return keys_before(at) + (is_in ? static_cast<std::uint32_t>(key - runs[at].begin) : 0);
}

namespace {

/// The first run at or after `from` that ends after `key`.
std::size_t first_behind(std::span<const Run> runs, std::size_t from, Index key) {
  return gallop(runs, from, [&](const Run& run) { return run.end <= key; });
}

}  // namespace

Index RowLists::Lists::keys_in(std::uint32_t number, Index begin, Index end) const {
  if (begin >= end) return 0;
  const std::span<const Run> of_list = list(number);
  const std::size_t first = first_behind(of_list, 0, begin);
  return Index{keys_below(number, first_behind(of_list, first, end), end) -
               keys_below(number, first, begin)};
}

namespace {

/// The number of open keys of a list below a given key. Keys mostly ascend in small steps, so each
/// search starts where the last one ended.
class KeysBelow {
 public:
  std::uint32_t operator()(const RowLists::Lists& lists, std::uint32_t list, Index key) {
    const std::span<const Run> runs = lists.list(list);
    if (list != list_ || (run_ > 0 && runs[run_ - 1].end > key)) run_ = 0;
    list_ = list;
    run_ = first_behind(runs, run_, key);
    return lists.keys_below(list, run_, key);
  }

 private:
  std::uint32_t list_ = 0;
  std::size_t run_ = 0;
};

/// For each interval between two edges, adds to `out` the number of open keys of a list in it,
/// times the number of rows that see them.
class ListCounts {
 public:
  ListCounts(const RowLists::Lists& lists, std::span<const Index> edges, std::span<Index> out)
      : lists_(lists), edges_(edges), out_(out) {}

  void add(const ClipGroup& group) {
    const Index begin = std::max<Index>(group.ref.begin, edges_.front());
    const Index end = std::min<Index>(group.ref.end, edges_.back());
    if (begin >= end) return;
    const auto first = std::ranges::lower_bound(edges_, begin) - edges_.begin();
    const auto last = std::ranges::upper_bound(edges_, end) - edges_.begin() - 1;
    const std::uint32_t list = group.ref.list;
    const auto add_part = [&](std::ptrdiff_t interval, std::uint32_t before, std::uint32_t after) {
      out_[static_cast<std::size_t>(interval)] += group.rows * Index{after - before};
    };
    if (first > last) {
      return add_part(last, below_begin_(lists_, list, begin), below_end_(lists_, list, end));
    }
    step(begins_, static_cast<std::size_t>(first), group.rows);
    step(ends_, static_cast<std::size_t>(last), -group.rows);
    const Index after_begin = edges_[static_cast<std::size_t>(first)];
    const Index before_end = edges_[static_cast<std::size_t>(last)];
    if (after_begin > begin) {
      add_part(first - 1, below_begin_(lists_, list, begin),
               below_first_edge_(lists_, list, after_begin));
    }
    if (before_end < end) {
      add_part(last, below_last_edge_(lists_, list, before_end), below_end_(lists_, list, end));
    }
  }

  /// Adds the intervals that rows see whole; must be called after the last group of rows that use
  /// the list.
  void finish(std::uint32_t list) {
    std::vector<Step>& steps = begins_;
    steps.insert(steps.end(), ends_.begin(), ends_.end());
    std::ranges::sort(steps, {}, &Step::interval);
    Index rows = 0;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      rows += steps[i].rows;
      if (rows > 0) add_whole(list, rows, steps[i].interval, steps[i + 1].interval);
    }
    begins_.clear();
    ends_.clear();
  }

 private:
  /// From `interval` on, `rows` more rows see the intervals whole (fewer, if negative).
  struct Step {
    std::size_t interval;
    Index rows;
  };

  /// Adds `rows` at an interval. The clips of a list mostly ascend, so the last step is often at
  /// the same interval and is increased instead of adding one.
  static void step(std::vector<Step>& steps, std::size_t interval, Index rows) {
    if (!steps.empty() && steps.back().interval == interval) {
      steps.back().rows += rows;
    } else {
      steps.push_back({interval, rows});
    }
  }

  void add_whole(std::uint32_t list, Index rows, std::size_t first, std::size_t last) {
    const std::span<const Run> runs = lists_.list(list);
    // The first run that ends after the start of the interval.
    std::size_t run = first_behind(runs, 0, edges_[first]);
    for (std::size_t i = first; i < last && run < runs.size(); ++i) {
      if (runs[run].begin >= edges_[i + 1]) {
        const auto ahead = edges_.subspan(i + 1, last - i);
        const auto behind = std::ranges::upper_bound(ahead, Index{runs[run].begin});
        i += static_cast<std::size_t>(behind - ahead.begin());
        if (i >= last) return;
      }
      const std::size_t end = first_behind(runs, run, edges_[i + 1]);
      out_[i] += rows * Index{lists_.keys_below(list, end, edges_[i + 1]) -
                              lists_.keys_below(list, run, edges_[i])};
      run = end;
    }
  }

  const RowLists::Lists& lists_;
  std::span<const Index> edges_;
  std::span<Index> out_;
  std::vector<Step> begins_, ends_;
  KeysBelow below_begin_, below_end_;             // at the begin and end of clips
  KeysBelow below_first_edge_, below_last_edge_;  // at the first and last edge inside a clip
};

}  // namespace

void RowLists::counts(Range q, std::span<const Index> edges, std::span<Index> out) const {
  if (out.empty()) return;
  const auto refs = std::span(refs_).subspan(static_cast<std::size_t>(q.begin),
                                             static_cast<std::size_t>(q.size()));
  const auto groups = grouped(refs, lists_->offsets.size() - 1);
  ListCounts list_counts(*lists_, edges, out);
  const StopPoll poll;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    poll();
    list_counts.add(groups[i]);
    const std::uint32_t list = groups[i].ref.list;
    if (i + 1 == groups.size() || groups[i + 1].ref.list != list) list_counts.finish(list);
  }
}

}  // namespace maskctl
