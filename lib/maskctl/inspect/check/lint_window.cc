// Finds causal windows that are of one size for the first queries and of another for the others.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kWindowChanges>) {
  return {
      .id = "window-changes",
      .severity = Severity::kWarning,
      .summary = "the window of later queries has another size",
      .claim =
          "each query sees all keys of a window that ends with its own key, from the first key "
          "that "
          "any query sees on; from the query named on the window is as long as the message says, "
          "and before it as long",
      .why =
          "a window is of a layer or a head, whatever the position: a cache of another size than "
          "the window of the prompt, or a step of training that is off by one",
      .fix = "make the mask with one window",
      .example =
          R"(python3 -c 'import numpy as np; q, k = np.indices((32, 32)); np.save("mask.npy", (k <= q) & (q - k < np.where(q < 16, 8, 5)))'
maskctl check mask.npy)",
      .unfixed = "which of the windows is right is not known"};
}

namespace {

/// The last `keys` keys up to their own, which the queries from `query` on see.
struct Window {
  Index query = 0, keys = 0;
  Index rows = 0;  // of these, whose window does not begin with the first key
};
using Windows = std::optional<std::pair<Window, Window>>;  // of the first queries, of the others

/// Reads the window of each query of a plane, in the order of queries.
class WindowReader {
 public:
  explicit WindowReader(const Plane& plane)
      : shift_(plane.keys() - plane.queries()), first_key_(recognition::first_key(plane)) {}

  /// Queries that see the keys of a band. False if these are not windows of one size, or if the
  /// size changed twice.
  bool add(Range rows, const Band& band) {
    const bool follows =
        next_ ? rows.begin == *next_ : rows.begin == 0 || own(rows.begin) == first_key_;
    next_ = rows.end;
    if (!follows) return false;
    const Index last = rows.end - 1, keys = own(rows.begin) + 1 - band.begin_at(rows.begin);
    if (band.end_at(rows.begin) != own(rows.begin) + 1 || band.end_at(last) != own(last) + 1) {
      return false;
    }
    cells_ += (band.end_at(rows.begin) - band.begin_at(rows.begin) + band.end_at(last) -
               band.begin_at(last)) *
              rows.size() / 2;
    if (band.begin_at(last) == first_key_) {  // the window may reach farther back
      add_cut(rows);
      return true;
    }
    if (own(last) + 1 - band.begin_at(last) != keys) return false;
    if (windows_.empty() || windows_.back().keys != keys) {
      if (keys < most_cut_) return false;
      windows_.push_back({cut_.value_or(rows.begin), keys, 0});
      cut_.reset();
      most_cut_ = 0;
    }
    windows_.back().rows += rows.size();
    return !cut_ && windows_.size() <= 2;
  }

  /// The two windows, if the rows were all of the plane's cells, up to the last query.
  Windows read(const Plane& plane) const {
    if (windows_.size() != 2 || cut_ || next_ != plane.queries()) return std::nullopt;
    if (plane.count() != cells_) return std::nullopt;
    if (windows_[0].rows < 2 || windows_[1].rows < 2) return std::nullopt;
    return std::pair(windows_[0], windows_[1]);
  }

 private:
  Index own(Index q) const { return q + shift_; }

  /// Queries that see all keys from the first one up to their own.
  void add_cut(Range rows) {
    const Index least = own(rows.begin) + 1 - first_key_, most = own(rows.end - 1) + 1 - first_key_;
    most_cut_ = std::max(most_cut_, most);
    if (cut_ || windows_.empty() || most <= windows_.back().keys) return;
    cut_ = rows.begin + std::max<Index>(0, windows_.back().keys + 1 - least);
  }

  Index shift_, first_key_;
  std::vector<Window> windows_;
  std::optional<Index> next_;  // the query after the last one that was added
  std::optional<Index> cut_;   // the first query that sees more keys than the window so far
  Index most_cut_ = 0;  // the most keys that a query sees whose window may reach farther back
  Index cells_ = 0;
};

Windows windows_of(const Plane& plane) {
  if (plane.queries() > plane.keys()) return std::nullopt;
  WindowReader reader(plane);
  bool regular = true;
  if (slabs_of(plane)) {
    recognition::each_band(
        plane, [&](Range rows, const Band& band) { regular = regular && reader.add(rows, band); });
  } else {
    regular = recognition::each_row_while(plane, [&](Range rows, const Keys& keys) {
      const Range seen = hull_of(keys);
      if (seen.size() == 0) return true;
      return rows.size() == 1 && reader.add(rows, {seen.begin, seen.end, 0, 0});
    });
  }
  return regular ? reader.read(plane) : std::nullopt;
}

}  // namespace

Findings lint_window(const Mask& mask) {
  constexpr std::size_t kMostPlanes = 64;
  if (mask.distinct().size() > kMostPlanes) return {};
  Finding out{&lint_rule(FindingId::kWindowChanges), "", {}, 0};
  std::map<std::uint32_t, Windows> known;
  const Windows* first = nullptr;
  const auto same = [](const auto& one, const auto& other) {
    return one.first.keys == other.first.keys && one.second.keys == other.second.keys &&
           one.second.query == other.second.query;
  };
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const auto [at, fresh] = known.try_emplace(mask.index_of(b, h));
      if (fresh) at->second = windows_of(*mask.plane(b, h));
      if (!at->second || (first != nullptr && !same(**first, *at->second))) continue;
      if (out.count++ > 0) continue;
      first = &at->second;
      const auto& [before, after] = **first;
      out.message = fmt::format("queries from {} on see {} up to their own, those before {}",
                                after.query, counted(after.keys, "key"), before.keys);
      out.where = {b, h, after.query, {}, {}, {}};
    }
  }
  return out.count > 0 ? Findings{std::move(out)} : Findings{};
}

}  // namespace maskctl
