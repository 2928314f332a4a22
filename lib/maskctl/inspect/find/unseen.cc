#include "maskctl/inspect/find/unseen.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

constexpr Index kMostCells = Index{1} << 34;  // of planes of which each row is read

using Ranges = std::vector<Range>;

/// The parts of the ranges `from`, which ascend, that are in none of `others`.
Ranges without(const Ranges& from, std::vector<Range> others) {
  std::ranges::sort(others, {}, &Range::begin);
  Ranges out;
  auto other = others.begin();
  for (Range left : from) {
    while (other != others.end() && other->end <= left.begin) ++other;
    for (auto at = other; at != others.end() && at->begin < left.end; ++at) {
      if (at->begin > left.begin) append_range(out, {left.begin, at->begin});
      left.begin = std::max(left.begin, at->end);
    }
    if (!left.empty()) append_range(out, left);
  }
  return out;
}

/// The parts of the ranges `a`, which ascend, that are also in `b`.
Ranges within(const Ranges& a, const Ranges& b) { return without(a, without(a, b)); }

/// The keys that no band of the plane has.
Ranges unseen_by_bands(const Plane& plane) {
  Ranges seen;
  recognition::each_band(plane, [&](Range rows, const Band& band) {
    seen.push_back(recognition::keys_of(rows, band));
  });
  std::ranges::sort(seen, {}, &Range::begin);
  Ranges merged;  // as an end may be before the end of the range before it
  for (const Range& range : seen) {
    if (!merged.empty() && range.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, range.end);
    } else {
      merged.push_back(range);
    }
  }
  return without({{0, plane.keys()}}, std::move(merged));
}

/// The keys that the last rows, the first ones and some between them do not see.
Ranges unseen_by_sample(const Plane& plane) {
  constexpr Index kEnds = 64, kBetween = 128;
  Ranges out{{0, plane.keys()}};
  const auto read = [&](Range rows) {
    for (Index q = rows.begin; q < rows.end && !out.empty(); ++q) {
      Ranges seen;
      recognition::each_run(plane, {q, q + 1}, [&](Range, const Band& run) {
        append_range(seen, {run.begin, run.end});
      });
      out = without(out, std::move(seen));
    }
  };
  const Index rows = plane.queries(), step = std::max<Index>(1, rows / kBetween);
  read({std::max<Index>(0, rows - kEnds), rows});
  read({0, std::min(kEnds, rows)});
  for (Index q = 0; q < rows; q += step) read({q, q + 1});
  return out;
}

std::optional<Ranges> unseen_in(const Plane& plane) {
  if (slabs_of(plane)) return unseen_by_bands(plane);
  if (plane.queries() == 0 || plane.keys() <= kMostCells / plane.queries()) {
    return without({{0, plane.keys()}}, recognition::ranges_of(recognition::touched(plane).k));
  }
  Ranges out = unseen_by_sample(plane);
  return out.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace

std::optional<std::vector<UnseenKeys>> unseen_keys(const Mask& mask) {
  std::vector<UnseenKeys> out;
  if (mask.count() == 0) return out;
  std::map<std::uint32_t, Ranges> by_plane;
  for (Index b = 0; b < mask.batch(); ++b) {
    Ranges unseen{{0, mask.keys()}};
    for (Index h = 0; h < mask.heads() && !unseen.empty(); ++h) {
      auto at = by_plane.find(mask.index_of(b, h));
      if (at == by_plane.end()) {
        auto its = unseen_in(*mask.plane(b, h));
        if (!its) return std::nullopt;
        at = by_plane.emplace(mask.index_of(b, h), std::move(*its)).first;
      }
      unseen = within(unseen, at->second);
    }
    if (!unseen.empty()) out.push_back({b, std::move(unseen)});
  }
  return out;
}

std::string unseen_words(std::span<const UnseenKeys> unseen, const Mask& mask) {
  constexpr std::size_t kMost = 4;
  std::map<std::string, std::vector<Range>> batches;  // by the words for their keys
  std::vector<std::string> words;
  for (const UnseenKeys& one : unseen) {
    const std::string keys = range_words(one.keys, "key", {}, kMost);
    auto& its = batches[keys];
    if (its.empty()) words.push_back(keys);
    append_range(its, {one.batch, one.batch + 1});
  }
  std::string out;
  Index said = 0;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i) {
    const std::vector<Range>& its = batches[words[i]];
    for (const Range& range : its) said += range.size();
    out += (i > 0 ? ", " : "") + words[i];
    const bool all = its.front().size() == mask.batch();
    if (!all) out += fmt::format(" ({})", range_words(its, "batch", "batches", kMost));
  }
  const Index more = std::ssize(unseen) - said;
  return more > 0 ? out + fmt::format(", and {} more batches", more) : out;
}

}  // namespace maskctl
