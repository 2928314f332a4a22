#include "maskctl/inspect/recognise/without_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "maskctl/base/ranges.h"
#include "maskctl/base/text.h"
#include "maskctl/inspect/count/equal_planes.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/clipped_grid.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

constexpr std::size_t kMostLines = 4, kMostListed = 12;
/// For each key the first query that sees it, or the number of queries; nothing unless each query
/// sees the keys before a border that never moves back.
std::optional<std::vector<Index>> first_seen(const Plane& plane) {
  std::vector<Index> out(as_size(plane.keys()), plane.queries());
  Index border = 0;
  const bool holds = recognition::each_row_while(plane, [&](Range rows, const Keys& keys) {
    std::vector<Run> scratch;
    const std::span<const Run> runs = as_runs(keys, scratch);
    const Index end = runs.empty() ? 0 : runs.front().end;
    if (runs.size() > 1 || (!runs.empty() && runs.front().begin > 0) || end < border) return false;
    std::fill(out.begin() + border, out.begin() + end, rows.begin);
    border = end;
    return true;
  });
  return holds ? std::optional(std::move(out)) : std::nullopt;
}

/// Text for tokens that never decrease, such as "0-3, 7, 9"; equal ones become "0 (4 times)".
std::string tokens_text(std::span<const Index> tokens) {
  std::vector<std::string> items;
  std::size_t i = 0;
  for (; i < tokens.size() && items.size() < kMostListed;) {
    std::size_t end = i + 1;
    const Index step = end < tokens.size() ? tokens[end] - tokens[i] : 2;
    while (step <= 1 && end < tokens.size() && tokens[end] - tokens[end - 1] == step) ++end;
    items.push_back(step == 0 ? fmt::format("{} ({} times)", tokens[i], end - i)
                              : range_text({tokens[i], tokens[end - 1] + 1}));
    i = end;
  }
  const std::string more =
      i < tokens.size() ? fmt::format(" and of {} more keys", tokens.size() - i) : "";
  return joined(items, ", ") + more;
}

/// Text for a plane that is causal by tokens, if the tokens of the keys skip or repeat numbers, as
/// in a cache from which keys were removed; empty for other planes.
std::string order_of_keys(const PlanePtr& plane) {
  constexpr Index kLeast = 4;
  if (std::min(plane->queries(), plane->keys()) < kLeast) return "";
  if (plane->queries() * plane->keys() > recognition::kSearchedCells) return "";
  const auto first = first_seen(*plane);
  if (!first) return "";
  const auto seen = std::ranges::find(*first, plane->queries());
  const std::span<const Index> tokens(first->data(),
                                      static_cast<std::size_t>(seen - first->begin()));
  const bool follow = std::ranges::adjacent_find(tokens, [](Index one, Index next) {
                        return next != one + 1 && !(one == 0 && next == 0);
                      }) == tokens.end();
  if (follow) return "";
  const Index unseen = plane->keys() - std::ssize(tokens);
  return fmt::format("causal, where the keys are of tokens {}{}, and query q is token q",
                     tokens_text(tokens),
                     unseen > 0 ? fmt::format(", no query sees the last {}", unseen) : "");
}

/// What a plane is; empty where it is nothing that has words.
std::string form_of(const PlanePtr& plane) {
  const auto grid = recognition::clipped_grid_of(*plane);
  return grid ? to_text(*grid) + ", clipped at its borders" : order_of_keys(plane);
}

}  // namespace

std::vector<std::string> forms_without_step(const Mask& mask) {
  std::vector<std::string> out;
  const auto add = [&out](const std::string& place, const std::string& words) {
    if (!words.empty() && out.size() < kMostLines) out.push_back(place + words);
  };
  if (mask.cells() == 0) return out;
  const auto equal_to = first_equal_planes(mask);
  if (std::ranges::count(equal_to, equal_to.front()) == std::ssize(equal_to)) {
    // All batch entries and heads are equal.
    add("", form_of(mask.plane(0, 0)));
    return out;
  }
  for (Index b = 0; b < mask.batch() && out.size() < kMostLines; ++b) {
    const std::string batch = fmt::format("batch {}: ", b);
    const PlanePtr& plane = mask.plane(b, 0);
    bool equal = true;
    for (Index h = 1; h < mask.heads(); ++h) {
      equal = equal && (mask.index_of(b, h) == mask.index_of(b, 0) ||
                        differing_cells(plane, mask.plane(b, h)) == 0);
    }
    for (Index h = 0; h < (equal ? 1 : mask.heads()); ++h) {
      add(equal ? batch : fmt::format("batch {}, head {}: ", b, h), form_of(mask.plane(b, h)));
    }
  }
  return out;
}

}  // namespace maskctl
