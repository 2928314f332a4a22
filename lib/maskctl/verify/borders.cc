#include "maskctl/verify/borders.h"

#include <fmt/format.h>

#include <algorithm>

#include "maskctl/attention/arrays/slices.h"
#include "maskctl/attention/calls/axes.h"
#include "maskctl/base/ranges.h"
#include "maskctl/verify/compare.h"

namespace maskctl::attention {
namespace {

constexpr Index kBeside = 2;
constexpr std::size_t kMostBorders = 64;

/// Finds the axis with this label in a result or gradient; absent if there is no such axis.
std::optional<Index> axis_of(const Operation& operation, const std::string& name,
                             std::string_view label, std::size_t rank) {
  const std::string_view input = is_gradient(name) ? std::string_view(name).substr(5) : "";
  std::string_view axes;
  if (input.empty()) {
    const auto output = std::ranges::find(operation.outputs, name, &ResultField::name);
    if (output != operation.outputs.end()) axes = output->axes;
  } else if (const Field* const field = operation.find(input, true)) {
    axes = field->axes;
  }
  const auto all = axes_of_rank(axes, rank);
  if (!all) return std::nullopt;
  const auto found = std::ranges::find(*all, label, &Axis::name);
  if (found == all->end()) return std::nullopt;
  return found - all->begin();
}

/// Compares the rows on both sides of a border along the axis with this label; adds differences to
/// the check.
void add_rows(const Operation& operation, std::string_view label, Index border,
              const NamedResults& seen, const NamedResults& expected, VerifyCheck& check) {
  for (const auto& [name, whole] : seen) {
    const auto other = expected.find(name);
    const auto axis = axis_of(operation, name, label, whole.shape().size());
    if (other == expected.end() || !axis || whole.extent(*axis) <= border) continue;
    const Range rows = intersect({border - kBeside, border + kBeside}, {0, whole.extent(*axis)});
    const Distance far =
        distance(slice_of(whole, *axis, rows), slice_of(other->second, *axis, rows),
                 usual_tolerance(whole.dtype(), is_gradient(name)));
    if (far.bad == 0) continue;
    check.state = VerifyCheck::State::kFailed;
    check.detail += fmt::format("{}{}, {}: {}", check.detail.empty() ? "" : "; ", name,
                                range_words(rows, "row"), far.first);
  }
}

}  // namespace

std::vector<VerifyCheck> check_borders(const Operation& operation, const Borders& borders,
                                       const NamedResults& seen, const NamedResults& expected) {
  std::set<Index> all = borders.queries;
  all.insert(borders.keys.begin(), borders.keys.end());
  std::vector<VerifyCheck> checks;
  for (const Index border : all) {
    if (checks.size() == kMostBorders) break;
    VerifyCheck check{fmt::format("border {}", border), VerifyCheck::State::kPassed, {}};
    const bool queries = borders.queries.contains(border), keys = borders.keys.contains(border);
    if (queries) add_rows(operation, "Tq", border, seen, expected, check);
    if (keys) add_rows(operation, "Tk", border, seen, expected, check);
    if (check.detail.empty()) {
      check.detail = fmt::format("the {} beside it", !keys      ? "queries"
                                                     : !queries ? "keys"
                                                                : "queries and keys");
    }
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace maskctl::attention
