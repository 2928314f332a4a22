// Finds windows that were compared with the slots of a rotating cache, in decode steps that are the
// batch entries of a mask.
#include <fmt/format.h>

#include <optional>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/check/lint_parts.h"
#include "maskctl/mask/planes/row_lists/row_keys.h"

namespace maskctl {

LintRule lint_row(RuleKey<FindingId::kRingSlots>) {
  return {
      .id = "ring-slots",
      .severity = Severity::kWarning,
      .summary = "decode steps lose keys after their cache is full",
      .claim =
          "each of these batch entries, of one query, sees its last keys without the first that "
          "the entry before it sees; the entries before them see one key more each at the end, up "
          "to the last",
      .why =
          "a cache of as many slots as keys is full then, and a new token takes the slot of the "
          "oldest: a window that compares slots and not positions loses the newest tokens, in the "
          "end all but one",
      .fix =
          "compare the window with the position that a slot of K holds at step p: p - (p - slot) % "
          "K",
      .example =
          "maskctl check gen:full:q=1,k=4,b=5 -t 'pad:lens=2+3+4+4+4 | batch:3{close:k=0} | "
          "batch:4{close:k=0-1}'",
      .beside = {LintRule::Beside::kSaysPattern},
      .unfixed = "which positions the slots hold is not given"};
}

namespace {

/// Fewer entries that grow, or that lose keys, are sequences with padding.
constexpr Index kLeastGrowing = 3, kLeastLosing = 2;

/// The keys of the only row of a plane; empty unless they are one run.
Range only_run(const Plane& plane) {
  Range out{0, 0};
  plane.rows({0, 1}, [&](Range, const Keys& keys) { out = hull_of(keys); });
  return out.size() == plane.count() ? out : Range{0, 0};
}

/// The batch entries of a head that lose keys; absent if there are none.
std::optional<Range> losing_entries(const Mask& mask, Index head) {
  Range before{0, 0};
  Index growing = 0, full = -1;  // the entry that sees the last key first, after growing ones
  for (Index b = 0; b < mask.batch(); ++b) {
    const Range run = only_run(*mask.plane(b, head));
    if (run.empty()) return std::nullopt;
    const Index later = run.begin - before.begin;
    if (full >= 0 && (run.end < mask.keys() || later != 1)) {
      if (b - full > kLeastLosing) return Range{full + 1, b};
      full = -1;
    }
    const bool grows = b > 0 && run.end == before.end + 1 && (later == 0 || later == 1);
    growing = grows ? growing + 1 : 1;
    if (growing >= kLeastGrowing && run.end == mask.keys()) full = b;
    before = run;
  }
  if (full < 0 || mask.batch() - full <= kLeastLosing) return std::nullopt;
  return Range{full + 1, mask.batch()};
}

}  // namespace

void lint_ring(const Mask& mask, Findings& out) {
  if (mask.queries() != 1 || mask.batch() < kLeastGrowing + kLeastLosing) return;
  for (Index h = 0; h < mask.heads(); ++h) {
    const auto losing = losing_entries(mask, h);
    if (!losing) continue;
    const Index b = losing->begin, first = only_run(*mask.plane(b, h)).begin - 1;
    out.push_back(
        {&lint_rule(FindingId::kRingSlots),
         fmt::format("batch entries {} lose one key more each, from key {} on, after batch entry "
                     "{} has seen the last key: the window is compared with slots of a rotating "
                     "cache, not with positions",
                     range_text(*losing), first, b - 1),
         {b, h, 0, first, {}, {}},
         losing->size()});
    return;
  }
}

}  // namespace maskctl
