#include "maskctl/inspect/diff/closing.h"

#include <fmt/format.h>

#include <map>

#include "maskctl/base/grouped.h"
#include "maskctl/inspect/count/row_safety.h"

namespace maskctl {
namespace {

bool is_finite(const BiasSeen& seen) { return seen.min && !seen.inf; }
bool is_infinite(const BiasSeen& seen) { return seen.inf && !seen.min; }

}  // namespace

std::optional<ClosingChange> closing_change(const Mask& a, const BiasSeen& in_a, const Mask& b,
                                            const BiasSeen& in_b) {
  const bool finite_a = is_finite(in_a) && is_infinite(in_b);
  if (!finite_a && !(is_infinite(in_a) && is_finite(in_b))) return std::nullopt;
  const Mask open = zip(Op::kOr, a, b);
  std::map<const Plane*, Index> counted;
  ClosingChange out{0, finite_a};
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
  const char *finite = change.a_is_finite ? "A" : "B", *infinite = change.a_is_finite ? "B" : "A";
  const bool one = change.rows == 1;
  return fmt::format(
      "{} row{} no key in either: there {} closes with finite numbers, of which softmax makes "
      "weights, and {} with -inf, of which it makes NaN or 0",
      grouped(change.rows), one ? " sees" : "s see", finite, infinite);
}

}  // namespace maskctl
