#include "maskctl/phases/mask_rows.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostRuns = std::size_t{1} << 26;

}  // namespace

MaskRows::MaskRows(const Plane& plane)
    : first_(as_size(plane.queries())), count_(as_size(plane.queries())) {
  std::vector<Run> scratch;
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const auto runs = as_runs(keys, scratch);
    if (runs_.size() + runs.size() > kMostRuns) {
      throw Error(Errc::kLimit,
                  fmt::format("rows of more than {} runs: expected fewer tokens, or a mask whose "
                              "rows have fewer gaps",
                              kMostRuns));
    }
    const auto first = static_cast<std::uint32_t>(runs_.size());
    runs_.insert(runs_.end(), runs.begin(), runs.end());
    for (Index q = rows.begin; q < rows.end; ++q) {
      first_[as_size(q)] = first;
      count_[as_size(q)] = static_cast<std::uint32_t>(runs.size());
    }
  });
}

bool MaskRows::open(Index q, Index k) const { return holds(row(q), k); }

bool holds(std::span<const Run> runs, Index number) {
  const auto after = std::ranges::upper_bound(
      runs, number, {}, [](const Run& run) { return static_cast<Index>(run.begin); });
  return after != runs.begin() && number < std::prev(after)->end;
}

Index first_difference(std::span<const Run> a, std::span<const Run> b) {
  const std::size_t both = std::min(a.size(), b.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (a[i].begin != b[i].begin) return std::min(a[i].begin, b[i].begin);
    if (a[i].end != b[i].end) return std::min(a[i].end, b[i].end);
  }
  if (a.size() == b.size()) return -1;
  return a.size() > both ? a[both].begin : b[both].begin;
}

void append_run(Index begin, Index end, std::vector<Run>& runs) {
  if (begin >= end) return;
  if (!runs.empty() && runs.back().end == begin) {
    runs.back().end = static_cast<std::int32_t>(end);
  } else {
    runs.push_back({static_cast<std::int32_t>(begin), static_cast<std::int32_t>(end)});
  }
}

}  // namespace maskctl
