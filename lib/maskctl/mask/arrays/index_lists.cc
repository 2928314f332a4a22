#include "maskctl/mask/arrays/index_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <unordered_set>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/huge_pages.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/sorted_keys.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/key_lists.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Counts lists from several threads, and keeps the first with an entry of it.
class ListTally {
 public:
  /// `shown()` is asked for the entry of a list before all those that were added.
  template <typename Shown>
  void add(Index list, const Shown& shown) {
    count_.fetch_add(1, std::memory_order_relaxed);
    if (list >= first_.load(std::memory_order_relaxed)) return;
    const std::lock_guard lock(mutex_);
    if (list >= first_) return;
    first_ = list;
    entry_ = shown();
  }
  Index count() const { return count_; }
  Index first() const { return first_; }
  std::int32_t entry() const { return entry_; }

 private:
  std::atomic<Index> count_{0};
  std::atomic<Index> first_{std::numeric_limits<Index>::max()};
  std::mutex mutex_;
  std::int32_t entry_ = -1;
};

/// The lists of one plane, which it leaves with each key once, ascending, and then -1.
class ListPlane {
 public:
  ListPlane(std::span<std::int32_t> entries, Index width, Index plane, Index heads, Index keys,
            BlockSize block)
      : entries_(entries),
        width_(width),
        block_(block),
        columns_(ceil_div(keys, block.k)),
        where_{plane / heads, plane % heads, 0, 0} {}

  /// Goes through all lists.
  std::vector<ListOutline> settle(Index lists) {
    constexpr Index kListsAtOnce = 1024;
    std::vector<ListOutline> out = filled_vector(as_size(lists), ListOutline());
    parallel_for(ceil_div(lists, kListsAtOnce), [&](Index task) {
      const Index end = std::min((task + 1) * kListsAtOnce, lists);
      for (Index list = task * kListsAtOnce; list < end; ++list) {
        out[as_size(list)] = settle_one(list);
      }
    });
    return out;
  }

  /// What was noticed in all lists.
  void report(ArrayFacts& facts) const {
    report(ArrayFact::kListRepeats, repeats_, facts);
    report(ArrayFact::kListGaps, gaps_, facts);
    report(ArrayFact::kListOrder, unordered_, facts);
  }

 private:
  std::span<std::int32_t> list(Index number) const {
    return entries_.subspan(as_size(number * width_), as_size(width_));
  }

  ListOutline settle_one(Index number) {
    const std::span<std::int32_t> entries = list(number);
    if (entries.empty()) return {};
    // Most arrays have full lists that ascend, which is told without a branch for each entry.
    Index descents = 0;
    for (std::size_t i = 1; i < entries.size(); ++i) descents += entries[i] <= entries[i - 1];
    if (descents == 0 && entries.front() >= 0) {
      if (entries.back() >= columns_) refuse(number, first_bad(entries));
      return outline_of(entries);
    }
    return settle_careless(number, entries);
  }

  ListOutline settle_careless(Index number, std::span<std::int32_t> entries) {
    if (const std::int32_t bad = first_bad(entries); bad != -1) refuse(number, bad);
    const auto end = std::ranges::find(entries, -1);
    const auto listed = entries.first(static_cast<std::size_t>(end - entries.begin()));
    const bool gap = std::any_of(end, entries.end(), [](auto entry) { return entry >= 0; });
    if (!gap && std::ranges::is_sorted(listed, std::ranges::less_equal()))
      return outline_of(listed);
    return sort(number, entries, gap);
  }

  ListOutline sort(Index number, std::span<std::int32_t> entries, bool gap) {
    thread_local std::vector<std::int32_t> sorted;
    thread_local KeySorter sorter;
    sorted.clear();
    std::ranges::copy_if(entries, std::back_inserter(sorted),
                         [](auto entry) { return entry >= 0; });
    const auto add = [&](ArrayFact fact, ListTally& tally) {
      tally.add(number, [&] { return shown(fact, entries); });
    };
    if (gap) add(ArrayFact::kListGaps, gaps_);
    if (!std::ranges::is_sorted(sorted)) {
      add(ArrayFact::kListOrder, unordered_);
      sorter(sorted);
    }
    const auto twice = std::ranges::unique(sorted);
    if (!twice.empty()) add(ArrayFact::kListRepeats, repeats_);
    sorted.erase(twice.begin(), twice.end());
    std::ranges::fill(std::ranges::copy(sorted, entries.begin()).out, entries.end(), -1);
    return outline_of(sorted);
  }

  /// An entry that is neither a block of keys nor -1; -1 if there is none.
  std::int32_t first_bad(std::span<const std::int32_t> entries) const {
    const auto bad = std::ranges::find_if(
        entries, [&](std::int32_t entry) { return entry < -1 || entry >= columns_; });
    return bad == entries.end() ? -1 : *bad;
  }

  /// The first entry of a list that shows the fact.
  static std::int32_t shown(ArrayFact fact, std::span<const std::int32_t> entries) {
    std::unordered_set<std::int32_t> known;
    std::int32_t last = -1;
    bool ended = false;
    for (const std::int32_t entry : entries) {
      if (entry < 0) {
        ended = true;
        continue;
      }
      const bool is_shown = fact == ArrayFact::kListGaps    ? ended
                            : fact == ArrayFact::kListOrder ? entry < last
                                                            : !known.insert(entry).second;
      if (is_shown) return entry;
      last = entry;
    }
    return -1;
  }

  void report(ArrayFact fact, const ListTally& tally, ArrayFacts& facts) const {
    if (tally.count() == 0) return;
    Cell first = where_;
    first.query = tally.first() * block_.q;
    first.key = tally.entry() * block_.k;
    facts.push_back({fact, tally.count(), first});
  }

  [[noreturn]] void refuse(Index list, std::int32_t entry) const {
    throw Error(Errc::kFormat,
                fmt::format("batch {}, head {}, list {}: {} is out of range; expected 0 to {}, or "
                            "-1 for none",
                            where_.batch, where_.head, list, entry, columns_ - 1));
  }

  std::span<std::int32_t> entries_;
  Index width_;
  BlockSize block_;
  Index columns_;
  Cell where_;
  ListTally repeats_, gaps_, unordered_;
};

/// The plane of such lists, in the form that takes least memory.
PlanePtr plane_of(ListedKeys lists, Index queries, Index keys, Index max_bytes) {
  Index runs = 0;
  for (const ListOutline& list : lists.outlines) runs += list.runs;
  const auto as_lists = static_cast<Index>(lists.entries.size_bytes());
  const Index as_runs = runs * static_cast<Index>(sizeof(Run));
  if (as_lists < std::min({as_runs, queries * words_for(keys) * 8, max_bytes})) {
    return std::make_shared<KeyLists>(queries, keys,
                                      std::make_shared<ListedKeys>(std::move(lists)));
  }
  return filled_lists(queries, keys, lists.block.q, {max_bytes, runs},
                      [&](Index list, std::vector<Run>& out) {
                        append_runs(lists.list(list), lists.block.k, keys, out);
                      });
}

std::vector<Index> lists_shape(const Tensor& lists) {
  const auto& shape = lists.shape();
  switch (shape.size()) {
    case 2:
      return {1, 1, shape[0], shape[1]};
    case 3:
      return {shape[0], 1, shape[1], shape[2]};
    case 4:
      return shape;
    default:
      throw Error(Errc::kShape,
                  fmt::format("the shape {} is not lists of keys; expected (Q, N), (B, Q, N) or "
                              "(B, H, Q, N)",
                              shape_text(shape)));
  }
}

Index queries_of(std::optional<Index> wanted, Index lists, Index size) {
  const auto whole = checked_mul(lists, size);
  constexpr Index kMost = std::numeric_limits<std::int32_t>::max();
  if (wanted ? ceil_div(*wanted, size) == lists : whole && *whole <= kMost) {
    return wanted.value_or(whole.value_or(0));
  }
  throw Error(Errc::kShape, fmt::format("{} lists of {} queries each do not make {} queries", lists,
                                        size, wanted ? fmt::format("{}", *wanted) : "so many"));
}

}  // namespace

Mask mask_from_index_lists(Tensor lists, std::optional<Index> queries, Index keys, BlockSize block,
                           Index max_bytes, ArrayFacts& facts) {
  if (block.q < 1 || block.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("blocks of {}x{}; expected at least 1x1", block.q, block.k));
  }
  const std::vector<Index> shape = lists_shape(lists);
  const Index planes = shape[0] * shape[1];
  check_empty_extents(std::span(shape).first(3), lists.elements());
  const Index rows = queries_of(queries, shape[2], block.q);
  if (lists.dtype() != DType::kInt32) lists = int32_array(lists, "an index list");
  const DistinctRows distinct = distinct_rows(lists.bytes(), planes);
  const auto owner = std::make_shared<Tensor>(std::move(lists));
  const Index size = shape[2] * shape[3];
  std::vector<PlanePtr> made;
  std::vector<ArrayFacts> seen(distinct.first.size());
  for (const Index plane : distinct.first) {
    const auto entries = owner->as<std::int32_t>().subspan(as_size(plane * size), as_size(size));
    ListPlane of(entries, shape[3], plane, shape[1], keys, block);
    ListedKeys settled{entries, shape[3], block, of.settle(shape[2]), owner};
    of.report(seen[made.size()]);
    made.push_back(plane_of(std::move(settled), rows, keys, max_bytes));
  }
  for (const std::uint32_t which : distinct.which) {
    for (const FactSeen& fact : seen[which]) {
      const auto known = std::ranges::find(facts, fact.fact, &FactSeen::fact);
      if (known == facts.end()) {
        facts.push_back(fact);
      } else {
        known->count += fact.count;
      }
    }
  }
  return Mask::make(shape[0], shape[1], rows, keys, [&](Index b, Index h) {
    return made[distinct.which[as_size(b * shape[1] + h)]];
  });
}

Tensor index_lists_from_mask(const Mask& mask, Index max_bytes) {
  Index width = 1;
  for (const PlanePtr& plane : mask.distinct()) {
    plane->row_sizes({0, plane->queries()}, [&](Range, const Plane::RowSize& size) {
      width = std::max(width, size.keys);
    });
  }
  std::vector<Index> shape{mask.batch(), mask.heads(), mask.queries(), width};
  const auto elements = checked_product(shape);
  if (!elements || *elements > max_bytes / 4) {
    throw Error(Errc::kLimit,
                fmt::format("lists of up to {} keys for each of {} queries take more than {} bytes",
                            width, mask.queries(), max_bytes),
                {{Remedy::kRaiseMemoryLimit}, {Remedy::kSliceMask}});
  }
  Tensor out = Tensor::unwritten(DType::kInt32, std::move(shape));
  const auto all = out.as<std::int32_t>();
  constexpr Index kRowsAtOnce = 4096;
  const Index parts = ceil_div(mask.queries(), kRowsAtOnce);
  parallel_for(mask.batch() * mask.heads() * parts, [&](Index task) {
    const Index p = task / parts, first = task % parts * kRowsAtOnce;
    const Range rows{first, std::min(first + kRowsAtOnce, mask.queries())};
    std::vector<Run> scratch;
    mask.plane(p / mask.heads(), p % mask.heads())->rows(rows, [&](Range equal, const Keys& keys) {
      const std::span<const Run> runs = as_runs(keys, scratch);
      for (Index q = equal.begin; q < equal.end; ++q) {
        auto list = all.subspan(as_size((p * mask.queries() + q) * width), as_size(width));
        for (const Run& run : runs) {
          const auto count = as_size(run.end - run.begin);
          for (std::size_t i = 0; i < count; ++i) list[i] = run.begin + static_cast<int>(i);
          list = list.subspan(count);
        }
        std::ranges::fill(list, -1);
      }
    });
  });
  return out;
}

}  // namespace maskctl
