#include "maskctl/mask/steps/region.h"

#include <fmt/format.h>

#include <array>

#include "maskctl/base/ranges.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/leaves.h"
#include "maskctl/mask/steps/bits.h"
#include "maskctl/mask/steps/edits.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl::step {

std::size_t name_index(const Region& rule) { return rule.open ? 0 : 1; }

/// For example "the rows of queries 3-5 closed", "query 4, keys 0-7 open".
std::string words(const Region& rule) {
  const char* state = rule.open ? "open" : "closed";
  const std::string queries = range_words(rule.q, "query", "queries", kMostRanges);
  const std::string keys = range_words(rule.k, "key", {}, kMostRanges);
  const auto lines = [&](const char* line, const std::vector<Range>& ranges,
                         const std::string& which) {
    const bool one = ranges.size() == 1 && ranges.front().size() == 1;
    return fmt::format("the {}{} of {} {}", line, one ? "" : "s", which, state);
  };
  if (rule.k.empty()) return lines("row", rule.q, queries);
  if (rule.q.empty()) return lines("column", rule.k, keys);
  return fmt::format("{}, {} {}", queries, keys, state);
}

Meets meets(const Region& rule) { return rule.open ? Meets::kOpens : Meets::kCloses; }

Mask cells(const Region& rule, const MaskShape& shape) {
  const auto check = [&](const std::vector<Range>& ranges, Index extent, char axis) {
    for (const Range& range : ranges) {
      if (range.begin >= 0 && range.end <= extent && !range.empty()) continue;
      refuse(rule.open ? "open" : "close",
             fmt::format("{}={}-{}: expected numbers from 0 to {}", axis, range.begin,
                         range.end - 1, extent - 1));
    }
  };
  const auto [batch, heads, queries, keys] = shape;
  check(rule.q, queries, 'q');
  check(rule.k, keys, 'k');
  const PlanePtr all = full_plane(queries, keys);
  return Mask(combine(Op::kAnd, rule.q.empty() ? all : query_ranges(queries, keys, rule.q),
                      rule.k.empty() ? all : key_ranges(queries, keys, rule.k)));
}

PairReason reason(const Region& rule, const MaskShape&, const Cell& cell) {
  const auto named = [](const std::vector<Range>& ranges, Index i) {
    return ranges.empty() || any_contains(ranges, i);
  };
  const bool inside = named(rule.q, cell.query) && named(rule.k, cell.key);
  return {inside, fmt::format("query {}, key {} is {} the region that is {}", cell.query, cell.key,
                              inside ? "in" : "outside", rule.open ? "opened" : "closed")};
}

Expr formula(const Region& rule) {
  const auto side = [](const std::vector<Range>& ranges, Expr index) {
    return ranges.empty() ? expr::truth(true) : expr::is_in(ranges, std::move(index));
  };
  return side(rule.q, expr::query()) && side(rule.k, expr::key());
}

/// Each range costs a few bits more than its numbers, so that a chain with fewer ranges is shorter.
/// If queries and keys have the same ranges (tokens that see each other), these count once.
Index bits(const Region& rule, const ArgumentBits& bits) {
  const auto side = [&](const std::vector<Range>& ranges) {
    return bits.ranges(ranges) + 4 * std::ssize(ranges);
  };
  return rule.q == rule.k ? side(rule.q) : side(rule.q) + side(rule.k);
}

/// Adds no edits (steps that may have been meant instead): a region given by hand has no obvious
/// variation.
void edits(const Region&, StepEdits&) {}

/// Two regions count as two different steps, not as a region whose ranges changed.
std::optional<Reason> change(const Region&, const Step& other) {
  if (!other.is<Region>()) return std::nullopt;
  return Reason{"step", "another step", 8};
}

namespace {

constexpr std::array kRegionFields = {
    fields::of<&Region::q>({.name = "q",
                            .type = FieldType::kRanges,
                            .help = "queries, both ends included; all if absent",
                            .group = 1}),
    fields::of<&Region::k>({.name = "k",
                            .type = FieldType::kRanges,
                            .help = "keys, both ends included; all if absent",
                            .group = 1})};

constexpr std::array kRegionNames = {
    StepInfo{.name = "open",
             .kind = StepKind::kOr,
             .meaning = "opens rows, columns, a rectangle or single cells",
             .formula = "q in q= and k in k=",
             .example = "open:q=17,k=3",
             .args = kRegionFields,
             .synonyms = "unmask show add",
             .make = [] { return Step{Region{true}}; }},
    StepInfo{.name = "close",
             .kind = StepKind::kAnd,
             .meaning = "closes rows, columns, a rectangle or single cells",
             .formula = "not (q in q= and k in k=)",
             .example = "close:q=0-3,k=8-15",
             .args = kRegionFields,
             .synonyms = "mask hide remove",
             .make = [] { return Step{Region{false}}; }}};
constexpr RuleInfo kRegionRow =
    describe<Region>(kRegionNames, Reopening::kHarmless, Declares::kNothing);

}  // namespace

const RuleInfo& row(const Region*) { return kRegionRow; }

}  // namespace maskctl::step
