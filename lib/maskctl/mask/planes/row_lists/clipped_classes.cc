#include "maskctl/mask/planes/row_lists/clipped_classes.h"

#include <algorithm>
#include <numeric>

#include "maskctl/base/huge_pages.h"
#include "maskctl/mask/planes/bands_plane.h"
#include "maskctl/mask/planes/stored_planes.h"

namespace maskctl {
namespace {

constexpr Index kMostPairs = Index{1} << 22;  // limit for a table of pairs of classes

/// For each key, the number of the list (keys that rows share) that contains it, or -1. Nothing
/// when some key is in two lists.
std::optional<std::vector<std::int32_t>> lists_by_key(const RowLists::Lists& lists, Index keys) {
  auto out = filled_vector(static_cast<std::size_t>(keys), std::int32_t{-1});
  for (std::size_t list = 0; list + 1 < lists.offsets.size(); ++list) {
    for (const Run& run : lists.list(static_cast<std::uint32_t>(list))) {
      for (auto key = run.begin; key < run.end; ++key) {
        std::int32_t& of = out[static_cast<std::size_t>(key)];
        if (of >= 0) return std::nullopt;
        of = static_cast<std::int32_t>(list);
      }
    }
  }
  return out;
}

std::vector<std::int32_t> copy_of(const std::vector<std::int32_t>& ids) {
  std::vector<std::int32_t> out;
  reserve_huge(out, ids.size());
  out = ids;
  return out;
}

std::int32_t count_of(const RowLists& plane) {
  return static_cast<std::int32_t>(plane.lists().offsets.size()) - 1;
}

/// Calls f(class, run) for each run of neighbouring keys of the same class, in ascending order.
/// Keys of class -1 are left out.
template <typename F>
void each_run(std::span<const std::int32_t> classes, F&& f) {
  const auto size = static_cast<std::int32_t>(classes.size());
  for (std::int32_t begin = 0; begin < size;) {
    const std::int32_t id = classes[static_cast<std::size_t>(begin)];
    std::int32_t end = begin + 1;
    while (end < size && classes[static_cast<std::size_t>(end)] == id) ++end;
    if (id >= 0) f(static_cast<std::size_t>(id), Run{begin, end});
    begin = end;
  }
}

/// Makes a plane whose rows share lists of keys: list i has the keys whose entry in `k` is i.
/// ref_of(row) says which list a row sees, and the range to which it is clipped.
template <typename F>
PlanePtr plane_of(Index queries, std::span<const std::int32_t> k, std::int32_t count,
                  const F& ref_of) {
  const auto none = static_cast<std::size_t>(count);  // number of an extra list without keys
  std::vector<Index> offsets(none + 2);
  each_run(k, [&](std::size_t id, Run) { ++offsets[id + 1]; });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<Index> next(offsets.begin(), offsets.end() - 1);
  auto runs = filled_vector(static_cast<std::size_t>(offsets.back()), Run{});
  each_run(k, [&](std::size_t id, Run run) { runs[static_cast<std::size_t>(next[id]++)] = run; });
  auto refs = filled_vector(as_size(queries), RowRef{});
  for (std::size_t row = 0; row < refs.size(); ++row) refs[row] = ref_of(row);
  return row_lists(std::ssize(k), std::move(runs), std::move(offsets), std::move(refs));
}

/// Returns a row that sees, inside a clip, the keys whose class (such as a document) is `id`; -1
/// means no keys. There are `count` classes.
RowRef ref_of_class(std::int32_t id, std::int32_t count, const Run& clip) {
  return {static_cast<std::uint32_t>(id < 0 ? count : id), clip.begin, clip.end};
}

Run common(const Run& a, const Run& b) {
  const std::int32_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Numbers the pairs (class of a key in plane a, its class in plane b) that occur, by first
/// appearance. A class is a set of keys, such as those of one document.
class PairNumbers {
 public:
  PairNumbers(std::int32_t a, std::int32_t b) : width_(b) {
    table_.assign(static_cast<std::size_t>(a) * static_cast<std::size_t>(b), -1);
  }
  std::int32_t add(std::int32_t a, std::int32_t b) {
    if (a < 0 || b < 0) return -1;
    std::int32_t& number = table_[index(a, b)];
    if (number < 0) number = count_++;
    return number;
  }
  /// The number of a pair; -1 if no key has it.
  std::int32_t find(std::int32_t a, std::int32_t b) const {
    return a < 0 || b < 0 ? -1 : table_[index(a, b)];
  }
  std::int32_t count() const { return count_; }

 private:
  std::size_t index(std::int32_t a, std::int32_t b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(b);
  }
  std::int32_t width_, count_ = 0;
  std::vector<std::int32_t> table_;
};

}  // namespace

const std::vector<std::int32_t>* RowLists::Lists::list_of_keys(Index keys) const {
  std::call_once(keys_made_, [&] {
    list_of_keys_ = lists_by_key(*this, keys);
    if (list_of_keys_) {
      kept_bytes_ += static_cast<Index>(list_of_keys_->size() * sizeof(std::int32_t));
    }
  });
  return list_of_keys_ ? &*list_of_keys_ : nullptr;
}

std::optional<ClippedClasses> clipped_classes(const Plane& plane) {
  const auto* lists = dynamic_cast<const RowLists*>(&plane);
  const auto* keys = lists ? lists->lists().list_of_keys(plane.keys()) : nullptr;
  if (!keys) return std::nullopt;
  ClippedClasses out;
  out.k = copy_of(*keys);
  out.count = count_of(*lists);
  const std::span<const RowRef> refs = lists->refs();
  out.q = filled_vector(refs.size(), 0);
  out.clip = filled_vector(refs.size(), Run{});
  for (std::size_t row = 0; row < refs.size(); ++row) {
    const RowRef& ref = refs[row];
    out.q[row] = static_cast<std::int32_t>(ref.list);
    out.clip[row] = {ref.begin, std::max(ref.begin, ref.end)};
  }
  return out;
}

bool has_clipped_classes(const Plane& plane) {
  const auto* lists = dynamic_cast<const RowLists*>(&plane);
  return lists && lists->lists().list_of_keys(plane.keys());
}

std::optional<ClippedRows> clipped_rows(const Plane& plane) {
  ClippedRows out;
  if (const auto* lists = dynamic_cast<const RowLists*>(&plane)) {
    const auto* keys = lists->lists().list_of_keys(plane.keys());
    if (!keys) return std::nullopt;
    out.k = *keys;
    out.count = count_of(*lists);
    out.rows = lists->refs();
    return out;
  }
  const auto* lines = dynamic_cast<const BandsPlane*>(&plane);
  if (!lines || !lines->single_runs()) return std::nullopt;
  out.count = 1;
  out.made_k = filled_vector(static_cast<std::size_t>(plane.keys()), 0);
  out.k = out.made_k;
  out.made_rows = filled_vector(static_cast<std::size_t>(plane.queries()), RowRef{});
  lines->each_interval([&](Index row, Run keys) {
    out.made_rows[static_cast<std::size_t>(row)] = {0, keys.begin, keys.end};
  });
  out.rows = out.made_rows;
  return out;
}

PlanePtr plane_of(const ClippedClasses& classes) {
  return plane_of(std::ssize(classes.q), classes.k, classes.count, [&](std::size_t row) {
    return ref_of_class(classes.q[row], classes.count, classes.clip[row]);
  });
}

PlanePtr plane_of(std::span<const std::int32_t> q, std::span<const std::int32_t> k,
                  std::int32_t count, Run clip) {
  return plane_of(std::ssize(q), k, count,
                  [&](std::size_t row) { return ref_of_class(q[row], count, clip); });
}

bool same_representation(const Plane& a, const Plane& b) {
  const auto* lists_a = dynamic_cast<const RowLists*>(&a);
  const auto* lists_b = dynamic_cast<const RowLists*>(&b);
  return &a == &b || (lists_a && lists_b && lists_a->same_representation(*lists_b));
}

PlanePtr intersect_classes(const Plane& a, const Plane& b) {
  const auto* lists_a = dynamic_cast<const RowLists*>(&a);
  const auto* lists_b = dynamic_cast<const RowLists*>(&b);
  if (!lists_a || !lists_b) return nullptr;
  if (Index{count_of(*lists_a)} * count_of(*lists_b) > kMostPairs) return nullptr;
  const auto* keys_a = lists_a->lists().list_of_keys(a.keys());
  const auto* keys_b = lists_b->lists().list_of_keys(b.keys());
  if (!keys_a || !keys_b) return nullptr;
  PairNumbers numbers(count_of(*lists_a), count_of(*lists_b));
  std::vector<std::int32_t> keys;
  reserve_huge(keys, keys_a->size());
  for (std::size_t i = 0; i < keys_a->size(); ++i) {
    keys.push_back(numbers.add((*keys_a)[i], (*keys_b)[i]));
  }
  return plane_of(a.queries(), keys, numbers.count(), [&](std::size_t row) {
    const RowRef &in_a = lists_a->refs()[row], &in_b = lists_b->refs()[row];
    const std::int32_t pair =
        numbers.find(static_cast<std::int32_t>(in_a.list), static_cast<std::int32_t>(in_b.list));
    return ref_of_class(pair, numbers.count(),
                        common({in_a.begin, in_a.end}, {in_b.begin, in_b.end}));
  });
}

}  // namespace maskctl
