// The rule of documents and token types: queries see the keys that have their id.
#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <unordered_map>

#include "maskctl/base/huge_pages.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/planes/row_lists/clipped_classes.h"

namespace maskctl {
namespace {

constexpr std::size_t kBandRuns = std::size_t{1}
                                  << 16;   // with more runs, bands cost more than run lists
constexpr std::size_t kBandsOfASlab = 16;  // few: a diagonal cuts n bands into O(n^2)

/// The ids of queries or of keys, and the id, if any, whose tokens are closed on that side.
struct Ids {
  std::span<const std::int32_t> ids;
  std::optional<std::int32_t> closed;

  bool is_open(std::int32_t id) const { return !closed || id != *closed; }
  friend bool operator==(const Ids& a, const Ids& b) {
    return a.closed == b.closed &&
           (a.ids.data() == b.ids.data() || std::ranges::equal(a.ids, b.ids));
  }
};

/// True when there are so few runs of equal neighbouring ids that bands are cheaper than run lists.
bool has_few_runs(const Ids& side) {
  std::size_t runs = 1;
  for (std::size_t i = 1; i < side.ids.size() && runs <= kBandRuns; ++i) {
    runs += side.ids[i] != side.ids[i - 1];
  }
  return runs <= kBandRuns;
}

/// A run of neighbours with equal ids.
struct IdRun {
  std::int32_t id;
  Run at;
};

std::vector<IdRun> runs_of(const Ids& side) {
  std::vector<IdRun> runs;
  const auto size = static_cast<std::int32_t>(side.ids.size());
  for (std::int32_t begin = 0; begin < size;) {
    const std::int32_t id = side.ids[static_cast<std::size_t>(begin)];
    std::int32_t end = begin + 1;
    while (end < size && side.ids[static_cast<std::size_t>(end)] == id) ++end;
    if (side.is_open(id)) runs.push_back({id, {begin, end}});
    begin = end;
  }
  return runs;
}

/// Numbers the ids of keys 0, 1, ... in order of first appearance. Looks ids up in a table if their
/// range is not much larger than their number, else in a hash map.
class IdNumbers {
 public:
  static constexpr std::int32_t kNone = -1;

  /// each_id(f) must call f with every id that is not closed, `count` times at most.
  template <typename EachId>
  IdNumbers(std::size_t count, EachId&& each_id) {
    std::int32_t low = std::numeric_limits<std::int32_t>::max();
    std::int32_t high = std::numeric_limits<std::int32_t>::min();
    each_id([&](std::int32_t id) {
      low = std::min(low, id);
      high = std::max(high, id);
    });
    if (low > high) return;
    low_ = low;
    const Index width = Index{high} - low + 1;
    if (width <= 4 * static_cast<Index>(count) + 1024) {
      table_.assign(static_cast<std::size_t>(width), kNone);
    }
    each_id([&](std::int32_t id) { add(id); });
  }
  std::int32_t count() const { return count_; }
  /// The number of an id; kNone if no key has it.
  std::int32_t operator[](std::int32_t id) const {
    if (table_.empty()) {
      const auto at = hashed_.find(id);
      return at == hashed_.end() ? kNone : at->second;
    }
    const Index i = Index{id} - low_;
    return i < 0 || i >= std::ssize(table_) ? kNone : table_[static_cast<std::size_t>(i)];
  }

 private:
  void add(std::int32_t id) {
    std::int32_t& number = table_.empty() ? hashed_.try_emplace(id, kNone).first->second
                                          : table_[static_cast<std::size_t>(Index{id} - low_)];
    if (number == kNone) number = count_++;
  }
  Index low_ = 0;
  std::int32_t count_ = 0;
  std::vector<std::int32_t> table_;
  std::unordered_map<std::int32_t, std::int32_t> hashed_;
};

struct KeyLists {
  std::vector<Run> runs;
  std::vector<Index> offsets;

  std::span<const Run> list(std::int32_t number) const {
    const auto begin = static_cast<std::size_t>(offsets[static_cast<std::size_t>(number)]);
    const auto end = static_cast<std::size_t>(offsets[static_cast<std::size_t>(number) + 1]);
    return std::span(runs).subspan(begin, end - begin);
  }
};

/// For each number, the list of runs of keys that have it.
KeyLists lists_of(std::span<const IdRun> k_runs, const IdNumbers& numbers) {
  KeyLists lists;
  lists.offsets.assign(static_cast<std::size_t>(numbers.count()) + 1, 0);
  const auto number = [&](const IdRun& run) { return static_cast<std::size_t>(numbers[run.id]); };
  for (const IdRun& run : k_runs) ++lists.offsets[number(run) + 1];
  std::partial_sum(lists.offsets.begin(), lists.offsets.end(), lists.offsets.begin());
  std::vector<Index> next(lists.offsets.begin(), lists.offsets.end());
  lists.runs.resize(k_runs.size());
  for (const IdRun& run : k_runs) {
    lists.runs[static_cast<std::size_t>(next[number(run)]++)] = run.at;
  }
  return lists;
}

/// Makes the plane as slabs (ranges of rows) of constant bands; null when run lists are the cheaper
/// form.
PlanePtr as_bands(const Ids& q, const Ids& k) {
  if (!has_few_runs(q) || !has_few_runs(k)) return nullptr;
  const auto k_runs = runs_of(k);
  const IdNumbers numbers(k_runs.size(), [&](auto&& f) {
    for (const IdRun& run : k_runs) f(run.id);
  });
  const KeyLists lists = lists_of(k_runs, numbers);
  std::size_t used = 0;
  std::vector<Slab> slabs;
  for (const IdRun& run : runs_of(q)) {
    const std::int32_t number = numbers[run.id];
    if (number == IdNumbers::kNone) continue;
    const auto keys = lists.list(number);
    used += keys.size();
    if (keys.size() > kBandsOfASlab || used > kBandRuns) return nullptr;
    Slab slab{{run.at.begin, run.at.end}, {}};
    for (const Run& key : keys) slab.bands.push_back({key.begin, key.end, 0, 0});
    slabs.push_back(std::move(slab));
  }
  return bands(std::ssize(q.ids), std::ssize(k.ids), slabs);
}

std::vector<std::int32_t> numbers_of(const Ids& side, const IdNumbers& numbers) {
  std::vector<std::int32_t> out;
  reserve_huge(out, side.ids.size());
  for (const std::int32_t id : side.ids) {
    out.push_back(side.is_open(id) ? numbers[id] : IdNumbers::kNone);
  }
  return out;
}

}  // namespace

PlanePtr equal_ids(std::span<const std::int32_t> q_ids, std::span<const std::int32_t> k_ids,
                   std::int32_t closed_id, Side closed_on) {
  const auto closed_at = [&](Side side) {
    const bool closed = closed_on == side || closed_on == Side::kBoth;
    return closed ? std::optional(closed_id) : std::nullopt;
  };
  const Ids q{q_ids, closed_at(Side::kQuery)}, k{k_ids, closed_at(Side::kKey)};
  if (PlanePtr plane = as_bands(q, k)) return plane;
  const IdNumbers numbers(k_ids.size(), [&](auto&& f) {
    for (const std::int32_t id : k_ids) {
      if (k.is_open(id)) f(id);
    }
  });
  const auto k_numbers = numbers_of(k, numbers);
  const Run all{0, static_cast<std::int32_t>(k_ids.size())};
  if (q == k) return plane_of(k_numbers, k_numbers, numbers.count(), all);
  return plane_of(numbers_of(q, numbers), k_numbers, numbers.count(), all);
}

}  // namespace maskctl
