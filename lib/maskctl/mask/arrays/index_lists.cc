#include "maskctl/mask/arrays/index_lists.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <unordered_set>

#include "maskctl/base/checked.h"
#include "maskctl/base/error.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/arrays/sorted_keys.h"
#include "maskctl/mask/equal/shared_planes.h"
#include "maskctl/mask/planes/words.h"
#include "maskctl/mask/rows.h"
#include "maskctl/tensor/convert.h"

namespace maskctl {
namespace {

/// Counts places from several threads, and keeps the first.
class PlaceTally {
 public:
  void add(Index place) {
    count_.fetch_add(1, std::memory_order_relaxed);
    Index known = first_.load(std::memory_order_relaxed);
    while (place < known && !first_.compare_exchange_weak(known, place)) {
    }
  }
  Index count() const { return count_; }
  Index first() const { return first_; }

 private:
  std::atomic<Index> count_{0};
  std::atomic<Index> first_{std::numeric_limits<Index>::max()};
};

/// The lists of one plane, as runs of keys.
class ListPlane {
 public:
  ListPlane(std::span<const std::int32_t> entries, Index width, Index plane, Index heads,
            Index keys, BlockSize block)
      : entries_(entries),
        width_(width),
        keys_(keys),
        block_(block),
        columns_(ceil_div(keys, block.k)),
        where_{plane / heads, plane % heads, 0, 0} {}

  /// Appends the runs of a list.
  void add(Index list, std::vector<Run>& runs) {
    const std::size_t from = runs.size();
    const auto entries = entries_.subspan(as_size(list * width_), as_size(width_));
    std::int32_t last = -1;
    bool ended = false, gap = false, ascends = true;
    for (const std::int32_t entry : entries) {
      if (entry == -1) {
        ended = true;
        continue;
      }
      if (entry < 0 || entry >= columns_) refuse(list, entry);
      gap |= ended;
      ascends &= entry > last;
      last = entry;
    }
    if (gap) gaps_.add(list);
    if (ascends) {
      for (const std::int32_t entry : entries) append(entry, from, runs);
    } else {
      add_sorted(list, entries, from, runs);
    }
  }

  /// What was noticed in all lists that were added.
  void report(ArrayFacts& facts) const {
    report(ArrayFact::kListRepeats, repeats_, facts);
    report(ArrayFact::kListGaps, gaps_, facts);
    report(ArrayFact::kListOrder, unordered_, facts);
  }

 private:
  /// Appends the keys of an entry to the runs of its list, which start at `from`.
  void append(std::int32_t entry, std::size_t from, std::vector<Run>& runs) const {
    if (entry < 0) return;
    const auto begin = static_cast<std::int32_t>(entry * block_.k);
    const auto end = static_cast<std::int32_t>(std::min(begin + block_.k, keys_));
    if (runs.size() > from && runs.back().end == begin) {
      runs.back().end = end;
    } else {
      runs.push_back({begin, end});
    }
  }

  void add_sorted(Index list, std::span<const std::int32_t> entries, std::size_t from,
                  std::vector<Run>& runs) {
    thread_local std::vector<std::int32_t> sorted;
    sorted.clear();
    std::ranges::copy_if(entries, std::back_inserter(sorted),
                         [](auto entry) { return entry >= 0; });
    if (!std::ranges::is_sorted(sorted)) {
      thread_local KeySorter sort;
      unordered_.add(list);
      sort(sorted);
    }
    const auto twice = std::ranges::unique(sorted);
    if (!twice.empty()) repeats_.add(list);
    sorted.erase(twice.begin(), twice.end());
    for (const std::int32_t entry : sorted) append(entry, from, runs);
  }

  /// The first entry of a list that shows the fact.
  std::int32_t shown(ArrayFact fact, Index list) const {
    const auto entries = entries_.subspan(as_size(list * width_), as_size(width_));
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

  void report(ArrayFact fact, const PlaceTally& tally, ArrayFacts& facts) const {
    if (tally.count() == 0) return;
    Cell first = where_;
    first.query = tally.first() * block_.q;
    first.key = shown(fact, tally.first()) * block_.k;
    facts.push_back({fact, tally.count(), first});
  }

  [[noreturn]] void refuse(Index list, std::int32_t entry) const {
    throw Error(Errc::kFormat,
                fmt::format("batch {}, head {}, list {}: {} is out of range; expected 0 to {}, or "
                            "-1 for none",
                            where_.batch, where_.head, list, entry, columns_ - 1));
  }

  std::span<const std::int32_t> entries_;
  Index width_, keys_;
  BlockSize block_;
  Index columns_;
  Cell where_;
  PlaceTally repeats_, gaps_, unordered_;
};

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

Mask mask_from_index_lists(const Tensor& lists, std::optional<Index> queries, Index keys,
                           BlockSize block, Index max_bytes, ArrayFacts& facts) {
  if (block.q < 1 || block.k < 1) {
    throw Error(Errc::kInvalidArgument,
                fmt::format("blocks of {}x{}; expected at least 1x1", block.q, block.k));
  }
  const std::vector<Index> shape = lists_shape(lists);
  const Index planes = shape[0] * shape[1];
  check_empty_extents(std::span(shape).first(3), lists.elements());
  const Index rows = queries_of(queries, shape[2], block.q);
  const Int32Elements entries(lists, "an index list");
  const DistinctRows distinct = distinct_rows(std::as_bytes(entries.values()), planes);
  std::vector<PlanePtr> made;
  std::vector<ArrayFacts> seen(distinct.first.size());
  for (const Index plane : distinct.first) {
    ListPlane of(entries.part({plane * shape[2] * shape[3], (plane + 1) * shape[2] * shape[3]}),
                 shape[3], plane, shape[1], keys, block);
    made.push_back(filled_lists(rows, keys, block.q, {max_bytes, shape[2] * shape[3]},
                                [&](Index list, std::vector<Run>& runs) { of.add(list, runs); }));
    of.report(seen[made.size() - 1]);
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
