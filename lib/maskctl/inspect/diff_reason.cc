#include "maskctl/inspect/diff_reason.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/mask/leaves.h"
#include "maskctl/mask/words.h"

namespace maskctl {
namespace {

/// The rows in which the band covers all keys.
Range full_rows(Range rows, const Band& band, Index keys) {
  const Range begun{0, band.begin_slope ? 1 - band.begin : band.begin > 0 ? 0 : rows.end};
  const Range unended{band.end_slope ? keys - band.end : band.end < keys ? rows.end : 0, rows.end};
  return intersect(rows, intersect(begun, unended));
}

/// 1 for each row that sees all keys.
std::vector<std::uint8_t> full_rows(const Plane& plane) {
  std::vector<std::uint8_t> out(static_cast<std::size_t>(plane.queries()));
  const auto mark = [&out](Range rows) {
    std::fill(out.begin() + rows.begin, out.begin() + rows.end, std::uint8_t{1});
  };
  if (slabs_of(plane)) {  // in a full row one band covers all
    recognising::each_band(plane, [&](Range rows, const Band& band) {
      const Range full = full_rows(rows, band, plane.keys());
      if (!full.empty()) mark(full);
    });
    return out;
  }
  plane.rows({0, plane.queries()}, [&](Range rows, const Keys& keys) {
    const bool full = keys.is_words() ? popcount(keys.words) == plane.keys()
                                      : keys.runs.size() == 1 && keys.runs[0].begin == 0 &&
                                            keys.runs[0].end == plane.keys();
    if (full) mark(rows);
  });
  return out;
}

}  // namespace

PlanePair pair_of(const PlanePtr& a, const PlanePtr& b) {
  return {a, b, combine(Op::kSub, a, b), combine(Op::kSub, b, a)};
}

PlanePair swapped(const PlanePair& pair) { return {pair.b, pair.a, pair.only_b, pair.only_a}; }

bool is_empty(const PlanePtr& plane) { return plane->count() == 0; }

bool same_open(const PlanePtr& a, const PlanePtr& b) {
  return a == b || is_empty(combine(Op::kXor, a, b));
}

bool disjoint(const PlanePtr& a, const PlanePtr& b) { return is_empty(combine(Op::kAnd, a, b)); }

bool inside(const PlanePtr& part, const PlanePtr& whole) {
  return is_empty(combine(Op::kSub, part, whole));
}

bool kept_by(const PlanePair& pair, const PlanePtr& x, const PlanePtr& y) {
  return inside(pair.a, x) && inside(pair.b, y) && disjoint(pair.only_a, y) &&
         disjoint(pair.only_b, x);
}

bool opened_by(const PlanePair& pair, const PlanePtr& x, const PlanePtr& y) {
  return inside(x, pair.a) && inside(y, pair.b) && inside(pair.only_a, x) && inside(pair.only_b, y);
}

std::optional<PlanePair> uncovered(const PlanePair& pair) {
  const PlanePtr both = combine(Op::kAnd, pair.a, pair.b);
  const auto rows = full_rows(*both), columns = full_rows(*both->transposed());
  const auto any = [](const std::vector<std::uint8_t>& flags) {
    return std::find(flags.begin(), flags.end(), 1) != flags.end();
  };
  if (!any(rows) && !any(columns)) return std::nullopt;
  const PlanePtr cover =
      combine(Op::kOr, query_flags(rows, pair.keys()), key_flags(pair.queries(), columns));
  return pair_of(combine(Op::kSub, pair.a, cover), combine(Op::kSub, pair.b, cover));
}

std::string instead(Index b, Index a) { return fmt::format("{} instead of {}", b, a); }

std::string range_words(const char* what, Range range) {
  if (range.size() == 1) return fmt::format("{} {}", what, range.begin);
  // "query" is the one name here that does not take a plain s.
  const std::string name = what;
  const std::string many =
      name.ends_with('y') && name != "key" ? name.substr(0, name.size() - 1) + "ies" : name + "s";
  return fmt::format("{} {} to {}", many, range.begin, range.end - 1);
}

std::string ranges_words(const char* what, const std::vector<Range>& ranges) {
  constexpr std::size_t kMost = 4;
  std::string out;
  for (std::size_t i = 0; i < std::min(ranges.size(), kMost); ++i) {
    if (i > 0) out += ", ";
    out += range_words(what, ranges[i]);
  }
  if (ranges.size() > kMost) out += fmt::format(" and {} more", ranges.size() - kMost);
  return out;
}

}  // namespace maskctl
