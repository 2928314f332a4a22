#include "maskctl/mask/clipped_classes.h"

#include <algorithm>
#include <numeric>

#include "maskctl/mask/bands_plane.h"
#include "maskctl/mask/stored_planes.h"

namespace maskctl {
namespace {

constexpr Index kMostPairs = Index{1} << 22;  // of classes, which a table numbers

/// The list of each key; nothing when a key is in two of them.
std::optional<std::vector<std::int32_t>> list_of_keys(const RowLists::Lists& lists, Index keys) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(keys), -1);
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

Run common(const Run& a, const Run& b) {
  const std::int32_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

/// Numbers pairs of classes in the order in which keys have them.
class PairNumbers {
 public:
  PairNumbers(std::int32_t a, std::int32_t b) : width_(b) {
    table_.assign(static_cast<std::size_t>(a) * static_cast<std::size_t>(b), -1);
  }
  std::int32_t add(std::int32_t a, std::int32_t b) {
    if (a < 0 || b < 0) return -1;
    std::int32_t& number = table_[place(a, b)];
    if (number < 0) number = count_++;
    return number;
  }
  /// -1 for a pair that no key has.
  std::int32_t find(std::int32_t a, std::int32_t b) const {
    return a < 0 || b < 0 ? -1 : table_[place(a, b)];
  }
  std::int32_t count() const { return count_; }

 private:
  std::size_t place(std::int32_t a, std::int32_t b) const {
    return static_cast<std::size_t>(a) * static_cast<std::size_t>(width_) +
           static_cast<std::size_t>(b);
  }
  std::int32_t width_, count_ = 0;
  std::vector<std::int32_t> table_;
};

}  // namespace

std::optional<ClippedClasses> clipped_classes(const Plane& plane) {
  const auto* lists = dynamic_cast<const RowLists*>(&plane);
  if (!lists) return std::nullopt;
  auto keys = list_of_keys(lists->lists(), plane.keys());
  if (!keys) return std::nullopt;
  ClippedClasses out;
  out.k = std::move(*keys);
  out.count = static_cast<std::int32_t>(lists->lists().offsets.size()) - 1;
  out.q.reserve(lists->refs().size());
  out.clip.reserve(lists->refs().size());
  for (const RowRef& ref : lists->refs()) {
    out.q.push_back(static_cast<std::int32_t>(ref.list));
    out.clip.push_back({ref.begin, std::max(ref.begin, ref.end)});
  }
  return out;
}

std::optional<ClippedClasses> clipped_rows(const Plane& plane) {
  const auto* lines = dynamic_cast<const BandsPlane*>(&plane);
  if (!lines || !lines->single_runs()) return clipped_classes(plane);
  ClippedClasses out;
  out.count = 1;
  out.q.assign(static_cast<std::size_t>(plane.queries()), 0);
  out.k.assign(static_cast<std::size_t>(plane.keys()), 0);
  out.clip.resize(out.q.size());
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const Run run = keys.runs.empty() ? Run{} : keys.runs.front();
    std::fill(out.clip.begin() + rows.begin, out.clip.begin() + rows.end, run);
  });
  return out;
}

PlanePtr plane_of(const ClippedClasses& classes) {
  const auto keys = static_cast<std::int32_t>(classes.k.size());
  const auto each_run = [&](auto&& f) {
    for (std::int32_t begin = 0; begin < keys;) {
      const std::int32_t id = classes.k[static_cast<std::size_t>(begin)];
      std::int32_t end = begin + 1;
      while (end < keys && classes.k[static_cast<std::size_t>(end)] == id) ++end;
      if (id >= 0) f(static_cast<std::size_t>(id), Run{begin, end});
      begin = end;
    }
  };
  const auto none = static_cast<std::size_t>(classes.count);  // a list without keys
  std::vector<Index> offsets(none + 2);
  each_run([&](std::size_t id, Run) { ++offsets[id + 1]; });
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  std::vector<Index> next(offsets.begin(), offsets.end() - 1);
  std::vector<Run> runs(static_cast<std::size_t>(offsets.back()));
  each_run([&](std::size_t id, Run run) { runs[static_cast<std::size_t>(next[id]++)] = run; });
  std::vector<RowRef> refs;
  refs.reserve(classes.q.size());
  for (std::size_t i = 0; i < classes.q.size(); ++i) {
    const std::size_t list = classes.q[i] < 0 ? none : static_cast<std::size_t>(classes.q[i]);
    refs.push_back({static_cast<std::uint32_t>(list), classes.clip[i].begin, classes.clip[i].end});
  }
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(refs));
}

std::optional<ClippedClasses> product(const ClippedClasses& a, const ClippedClasses& b) {
  if (Index{a.count} * b.count > kMostPairs) return std::nullopt;
  PairNumbers numbers(a.count, b.count);
  ClippedClasses out;
  out.k.reserve(a.k.size());
  for (std::size_t i = 0; i < a.k.size(); ++i) out.k.push_back(numbers.add(a.k[i], b.k[i]));
  out.q.reserve(a.q.size());
  out.clip.reserve(a.q.size());
  for (std::size_t i = 0; i < a.q.size(); ++i) {
    out.q.push_back(numbers.find(a.q[i], b.q[i]));
    out.clip.push_back(common(a.clip[i], b.clip[i]));
  }
  out.count = numbers.count();
  return out;
}

}  // namespace maskctl
