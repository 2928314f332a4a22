// Documents and token types: queries see the keys of equal id.
#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "maskctl/base/error.h"
#include "maskctl/mask/bands.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

constexpr Index kBandRuns = Index{1} << 16;  // beyond, bands cost more than run lists
constexpr std::size_t kBandsPerSlab = 16;    // many bands under a diagonal split quadratically

/// Neighbours of equal id.
struct IdRun {
  std::int32_t id;
  Run at;
};

std::vector<IdRun> runs_of(std::span<const std::int32_t> ids, std::int32_t closed_id, bool closed) {
  std::vector<IdRun> runs;
  const auto size = static_cast<std::int32_t>(ids.size());
  for (std::int32_t begin = 0; begin < size;) {
    const std::int32_t id = ids[static_cast<std::size_t>(begin)];
    std::int32_t end = begin + 1;
    while (end < size && ids[static_cast<std::size_t>(end)] == id) ++end;
    if (!closed || id != closed_id) runs.push_back({id, {begin, end}});
    begin = end;
  }
  return runs;
}

/// Numbers 0, 1, ... for ids. Ids in a range not much wider than their number index a table; others
/// are hashed.
class IdNumbers {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit IdNumbers(std::span<const IdRun> runs) {
    if (runs.empty()) return;
    const auto [low, high] = std::minmax_element(
        runs.begin(), runs.end(), [](const IdRun& a, const IdRun& b) { return a.id < b.id; });
    low_ = low->id;
    const Index width = Index{high->id} - low->id + 1;
    if (width <= 4 * static_cast<Index>(runs.size()) + 1024) {
      table_.assign(static_cast<std::size_t>(width), kNone);
    }
    for (const IdRun& run : runs) add(run.id);
  }
  std::uint32_t count() const { return count_; }
  std::uint32_t operator[](std::int32_t id) const {
    if (table_.empty()) {
      const auto at = hashed_.find(id);
      return at == hashed_.end() ? kNone : at->second;
    }
    const Index i = Index{id} - low_;
    return i < 0 || i >= static_cast<Index>(table_.size()) ? kNone
                                                           : table_[static_cast<std::size_t>(i)];
  }

 private:
  void add(std::int32_t id) {
    std::uint32_t& number = table_.empty() ? hashed_.try_emplace(id, kNone).first->second
                                           : table_[static_cast<std::size_t>(Index{id} - low_)];
    if (number == kNone) number = count_++;
  }
  Index low_ = 0;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> table_;
  std::unordered_map<std::int32_t, std::uint32_t> hashed_;
};

/// The key runs of each id, one list after another; one empty list more for ids without keys.
struct KeyLists {
  std::vector<Run> runs;
  std::vector<Index> offsets;
};

KeyLists lists_of(std::span<const IdRun> k_runs, const IdNumbers& numbers) {
  KeyLists lists;
  lists.offsets.assign(numbers.count() + 2, 0);
  for (const IdRun& run : k_runs) ++lists.offsets[numbers[run.id] + 1];
  std::partial_sum(lists.offsets.begin(), lists.offsets.end(), lists.offsets.begin());
  std::vector<Index> next(lists.offsets.begin(), lists.offsets.end());
  lists.runs.resize(k_runs.size());
  for (const IdRun& run : k_runs) {
    lists.runs[static_cast<std::size_t>(next[numbers[run.id]]++)] = run.at;
  }
  return lists;
}

/// Slabs with constant bands. Nothing when bands are not the cheaper form.
PlanePtr as_bands(Index queries, Index keys, std::span<const IdRun> q_runs, const KeyLists& lists,
                  const IdNumbers& numbers) {
  Index used = 0;
  std::vector<Slab> slabs;
  for (const IdRun& run : q_runs) {
    const std::uint32_t number = numbers[run.id];
    if (number == IdNumbers::kNone) continue;
    const auto begin = lists.runs.begin() + lists.offsets[number];
    const auto end = lists.runs.begin() + lists.offsets[number + 1];
    const auto count = static_cast<std::size_t>(end - begin);
    used += static_cast<Index>(count);
    if (count > kBandsPerSlab || used > kBandRuns) return nullptr;
    Slab slab{{run.at.begin, run.at.end}, {}};
    for (auto key = begin; key != end; ++key) slab.bands.push_back({key->begin, key->end, 0, 0});
    slabs.push_back(std::move(slab));
  }
  return bands(queries, keys, std::move(slabs));
}

}  // namespace

PlanePtr equal_ids(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                   std::int32_t closed_id, Side closed_on) {
  const bool close_q = closed_on == Side::kQuery || closed_on == Side::kBoth;
  const bool close_k = closed_on == Side::kKey || closed_on == Side::kBoth;
  const auto queries = static_cast<Index>(q.size());
  const auto keys = static_cast<Index>(k.size());
  const auto q_runs = runs_of(q, closed_id, close_q);
  const auto k_runs = runs_of(k, closed_id, close_k);
  const IdNumbers numbers(k_runs);
  KeyLists lists = lists_of(k_runs, numbers);
  if (PlanePtr plane = as_bands(queries, keys, q_runs, lists, numbers)) return plane;

  std::vector<RowRef> refs(q.size(), {numbers.count(), 0, static_cast<std::int32_t>(keys)});
  for (const IdRun& run : q_runs) {
    const std::uint32_t number = numbers[run.id];
    if (number == IdNumbers::kNone) continue;
    for (auto row = run.at.begin; row < run.at.end; ++row) {
      refs[static_cast<std::size_t>(row)].list = number;
    }
  }
  return row_lists(keys, std::move(lists.runs), std::move(lists.offsets), std::move(refs));
}

}  // namespace maskctl
