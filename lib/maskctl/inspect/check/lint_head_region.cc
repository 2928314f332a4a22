// Finds a rectangle that one head opens beside another head of its batch entry.
#include <fmt/format.h>

#include <optional>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/check/head_borders.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/count/row_safety.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"
#include "maskctl/mask/planes/words.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kHeadRegion>) {
  return {.id = "head-region",
          .severity = Severity::kWarning,
          .summary = "a head sees the cells of another head, and a rectangle beside them",
          .claim =
              "the one head has all cells of the other, and that many more, which with cells of "
              "both fill the rectangle",
          .why =
              "heads of a layer differ in windows, sinks and strides, which are no rectangles: a "
              "block was written to one head, or is missing in another",
          .fix = "open the rectangle in all heads, or in none",
          .example =
              "maskctl check gen:causal:n=90,h=2 -t "
              "'window:keys=30|heads:1{open:q=60-68,k=0-13}'",
          .unfixed = "which of the heads is right is not known"};
}

namespace {

/// Whether a query of the rectangle sees an earlier key in it that a token between them does not
/// see, although the query sees that token in both heads. No window, sink, document or branch does
/// that; a query that sees all keys before its own does.
bool passes_over(const Plane& in, const Plane& other, const Plane& extra, Index q) {
  if (in.count({q, q + 1}, {0, q + 1}) == q + 1) return false;
  std::vector<Run> scratch;
  Range keys;
  extra.rows({q, q + 1}, [&](Range, const Keys& row) { keys = hull_of(row); });
  if (keys.empty() || keys.begin >= q) return false;
  bool found = false;
  other.rows({q, q + 1}, [&](Range, const Keys& row) {
    for (const Run& run : as_runs(row, scratch)) {
      for (const Index key : {keys.begin, keys.end - 1}) {
        const Range between = intersect({run.begin, run.end}, {key + 1, q});
        if (between.empty()) continue;
        found = found || in.count(between, {key, key + 1}) < between.size();
      }
    }
  });
  return found;
}

Index on_diagonal(const PlanePtr& plane, Index distance) {
  return combine(Op::kAnd, plane,
                 diagonal_band(plane->queries(), plane->keys(), distance, distance))
      ->count();
}

/// Whether all cells are after their queries' own keys, and open for another reason than how far
/// they are: not all tokens that are so far apart see each other.
bool reaches_ahead(const PlanePtr& in, const Plane& extra) {
  const auto reach = recognition::diagonals(extra);
  return reach && reach->low > 0 && on_diagonal(in, reach->high) < on_diagonal(in, -reach->high);
}

std::optional<Finding> region(const Mask& mask, Index b, Index h, Index other) {
  const PlanePtr &in = mask.plane(b, h), &of_other = mask.plane(b, other);
  const Index more = in->count() - of_other->count();
  if (more <= 0) return std::nullopt;
  const PlanePtr extra = combine(Op::kSub, in, of_other);
  if (extra->count() != more) return std::nullopt;
  const recognition::Hull box = recognition::hull_of(*extra);
  if (in->count(box.q, box.k) != box.q.size() * box.k.size()) return std::nullopt;
  bool odd = reaches_ahead(in, *extra);
  constexpr Index kRowsRead = 64;
  for (Index q = box.q.begin; q < std::min(box.q.end, box.q.begin + kRowsRead) && !odd; ++q) {
    odd = passes_over(*in, *of_other, *extra, q);
  }
  if (!odd) return std::nullopt;
  const auto first = first_cell(*extra);
  return Finding{
      &lint_rule(FindingId::kHeadRegion),
      fmt::format("batch entry {}: head {} sees what head {} sees and {} more, which "
                  "fill queries {}, keys {}",
                  b, h, other, counted(more, "cell"), range_text(box.q), range_text(box.k)),
      {b, h, first->query, first->key, {}, {}},
      more};
}

}  // namespace

std::optional<Finding> lint_head_region(const Mask& mask) {
  if (!has_few_heads(mask)) return std::nullopt;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      for (Index other = 0; other < mask.heads(); ++other) {
        if (mask.index_of(b, h) == mask.index_of(b, other)) continue;
        if (auto found = region(mask, b, h, other)) return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace maskctl
