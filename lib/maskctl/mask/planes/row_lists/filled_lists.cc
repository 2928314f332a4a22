// Makes planes from functions that give the runs of one row, or of some equal rows, after another.
#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "maskctl/base/error.h"
#include "maskctl/base/huge_pages.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kListsAtOnce = 1024;    // lists that one task fills
constexpr Index kTasksPerThread = 4;    // tasks between which lists are put together
constexpr Index kRunsAtOnce = 1 << 16;  // runs after which a task looks at the limit

[[noreturn]] void refuse_runs(Index max_bytes) {
  throw Error(Errc::kLimit, fmt::format("the runs of its rows take more than {} bytes", max_bytes),
              {{Remedy::kRaiseMemoryLimit}});
}

/// The runs of neighbouring lists, one after another; list i ends before runs[ends[i]].
struct ListPart {
  std::vector<Run> runs;
  std::vector<std::size_t> ends;
};

/// All lists; those that equal the one before them are stored once.
struct FilledLists {
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<std::uint32_t> kept;  // which stored list each list is

  std::span<const Run> stored(std::size_t i) const {
    return std::span(runs).subspan(as_size(offsets[i]), as_size(offsets[i + 1] - offsets[i]));
  }
  void append(const ListPart& part) {
    std::size_t from = 0;
    for (const std::size_t end : part.ends) {
      const auto list = std::span(part.runs).subspan(from, end - from);
      from = end;
      if (kept.empty() || !std::ranges::equal(list, stored(offsets.size() - 2))) {
        runs.insert(runs.end(), list.begin(), list.end());
        offsets.push_back(std::ssize(runs));
      }
      kept.push_back(static_cast<std::uint32_t>(offsets.size() - 2));
    }
  }
};

/// Fills lists by several tasks, each with a limit on the runs of all of them.
class ListFiller {
 public:
  ListFiller(Index max_bytes, const FillRuns& fill)
      : most_runs_(max_bytes / static_cast<Index>(sizeof(Run))),
        max_bytes_(max_bytes),
        fill_(fill) {}

  void fill(Range lists, ListPart& part) {
    part.runs.clear();
    part.ends.clear();
    Index known = 0;
    for (Index i = lists.begin; i < lists.end; ++i) {
      fill_(i, part.runs);
      part.ends.push_back(part.runs.size());
      if (std::ssize(part.runs) - known > kRunsAtOnce)
        add(std::ssize(part.runs) - known), known = std::ssize(part.runs);
    }
    add(std::ssize(part.runs) - known);
  }

 private:
  void add(Index runs) {
    if (runs_.fetch_add(runs) + runs > most_runs_) refuse_runs(max_bytes_);
  }

  Index most_runs_, max_bytes_;
  const FillRuns& fill_;
  std::atomic<Index> runs_{0};
};

FilledLists all_lists(Index lists, Index likely_runs, Index max_bytes, const FillRuns& fill) {
  FilledLists out;
  reserve_huge(out.runs, as_size(likely_runs));
  reserve_huge(out.kept, as_size(lists));
  ListFiller filler(max_bytes, fill);
  std::vector<ListPart> parts(as_size(kTasksPerThread * threads()));
  for (Index first = 0; first < lists; first += std::ssize(parts) * kListsAtOnce) {
    const Index tasks = std::min(std::ssize(parts), ceil_div(lists - first, kListsAtOnce));
    parallel_for(tasks, [&](Index task) {
      const Index begin = first + task * kListsAtOnce;
      filler.fill({begin, std::min(begin + kListsAtOnce, lists)}, parts[as_size(task)]);
    });
    for (Index task = 0; task < tasks; ++task) out.append(parts[as_size(task)]);
  }
  return out;
}

}  // namespace

PlanePtr filled_lists(Index queries, Index keys, Index queries_per_list, RunLimits limits,
                      const FillRuns& fill) {
  const Index lists = ceil_div(queries, queries_per_list);
  if (queries > limits.max_bytes / static_cast<Index>(sizeof(RowRef))) {
    refuse_runs(limits.max_bytes);
  }
  const Index likely = std::min(limits.likely, limits.max_bytes / static_cast<Index>(sizeof(Run)));
  FilledLists all = all_lists(lists, likely, limits.max_bytes, fill);
  const Index width = words_for(keys);
  if (std::ssize(all.runs) <= queries * width) {
    std::vector<RowRef> refs;
    reserve_huge(refs, as_size(queries));
    for (const std::uint32_t list : all.kept) {
      const Index count = std::min(queries_per_list, queries - std::ssize(refs));
      refs.insert(refs.end(), as_size(count), {list, 0, static_cast<std::int32_t>(keys)});
    }
    return row_lists(keys, std::move(all.runs), std::move(all.offsets), std::move(refs));
  }
  return stored_rows(queries, keys, false, [&](Range q, std::span<std::uint64_t> words) {
    for (Index row = q.begin; row < q.end; ++row) {
      runs_to_words(all.stored(all.kept[as_size(row / queries_per_list)]),
                    words.subspan(as_size((row - q.begin) * width), as_size(width)));
    }
  });
}

}  // namespace maskctl
