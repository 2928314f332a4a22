#include "maskctl/inspect/diff/closing.h"

#include <fmt/format.h>

#include <map>

#include "maskctl/base/grouped.h"
#include "maskctl/inspect/count/row_safety.h"

namespace maskctl {
namespace {

std::optional<ClosedBy> closed_by(const BiasSeen& seen) {
  if (seen.min && seen.inf) return ClosedBy::kBoth;
  if (seen.min) return ClosedBy::kFinite;
  return seen.inf ? std::optional(ClosedBy::kInfinite) : std::nullopt;
}

const char* words(ClosedBy how) {
  if (how == ClosedBy::kBoth) return "with -inf or finite numbers, which is not looked at";
  return how == ClosedBy::kFinite ? "with finite numbers, of which softmax makes weights"
                                  : "with -inf, of which it makes NaN or 0";
}

}  // namespace

std::optional<ClosingChange> closing_change(const Mask& a, const BiasSeen& in_a, const Mask& b,
                                            const BiasSeen& in_b) {
  const auto by_a = closed_by(in_a), by_b = closed_by(in_b);
  if (!by_a || !by_b || (by_a == by_b && by_a != ClosedBy::kBoth)) return std::nullopt;
  const Mask open = zip(Op::kOr, a, b);
  std::map<const Plane*, Index> counted;
  ClosingChange out{0, *by_a, *by_b};
  for (Index batch = 0; batch < open.batch(); ++batch) {
    for (Index head = 0; head < open.heads(); ++head) {
      const PlanePtr& plane = open.plane(batch, head);
      const auto [at, is_new] = counted.emplace(plane.get(), 0);
      if (is_new) at->second = count_empty_rows(*plane);
      out.rows += at->second;
    }
  }
  return out.rows > 0 ? std::optional(out) : std::nullopt;
}

std::string closing_words(const ClosingChange& change) {
  const std::string rows = fmt::format("{} row{} no key in either", grouped(change.rows),
                                       change.rows == 1 ? " sees" : "s see");
  if (change.a == change.b) return fmt::format("{}: there A and B close {}", rows, words(change.a));
  const bool b_first = change.b < change.a;  // the finite numbers first
  return fmt::format("{}: there {} closes {}, and {} {}", rows, b_first ? "B" : "A",
                     words(b_first ? change.b : change.a), b_first ? "A" : "B",
                     words(b_first ? change.a : change.b));
}

}  // namespace maskctl
