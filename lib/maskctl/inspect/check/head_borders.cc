#include "maskctl/inspect/check/head_borders.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "maskctl/base/text.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/tree.h"
#include "maskctl/mask/steps/window.h"

namespace maskctl {
namespace {

std::string key_at(Index distance) {
  if (distance == -1) return "the key before their own";
  if (distance == 0) return "their own key";
  if (distance == 1) return "the key after their own";
  return fmt::format("the key {} tokens before their own", -distance);
}

}  // namespace

std::vector<Index> blind(const Plane& line, Index distance) {
  std::vector<Index> out;
  Index next = std::max<Index>(0, -distance);
  const auto add_up_to = [&](Index seeing) {
    for (; next < seeing; ++next) out.push_back(next);
    ++next;
  };
  recognition::each_run(line, {0, line.queries()}, [&](Range rows, const Band&) {
    for (Index q = rows.begin; q < rows.end; ++q) add_up_to(q);
  });
  add_up_to(line.queries() - std::max<Index>(0, distance));
  return out;
}

std::optional<Index> step_of(std::span<const Index> queries) {
  if (queries.size() < 2) return 0;
  const Index step = queries[1] - queries[0];
  for (std::size_t i = 1; i < queries.size(); ++i) {
    if (queries[i] - queries[i - 1] != step) return std::nullopt;
  }
  return step > 1 ? std::optional(step) : std::nullopt;
}

Finding border_seen(const Plane& seen, Index batch, Index head, Index other, Index distance) {
  const Cell first = *first_cell(seen);
  const Index count = seen.count();
  return {&lint_rule(FindingId::kHeadsBorders),
          fmt::format("{} {} in head {}, and not in head {}; the first is query {}",
                      counted(count, "query sees", "queries see"), key_at(distance), head, other,
                      first.query),
          {batch, head, first.query, first.key, {}, {}},
          count};
}

std::optional<PartOfTree> part_of_tree(const PlanePtr& plane, recognition::KnownPlanes& planes) {
  const Recognised found = recognise(Mask(plane), {.guess = false}, planes);
  if (found.irregular || found.residue.cells > 0) return std::nullopt;
  PartOfTree out;
  bool is_tree = false;
  for (const Step& step : found.chain) {
    if (const auto* window = step.get_if<step::Window>()) {
      out.left = std::min(out.left, window->left.value_or(kUnbounded));
    } else if (const auto* sinks = step.get_if<step::Sinks>()) {
      out.sinks = std::max(out.sinks, sinks->n);
    } else if (step.is<step::Tree>()) {
      is_tree = true;
    } else {
      return std::nullopt;
    }
  }
  if (!is_tree) return std::nullopt;
  const Index tokens = plane->keys();
  const PlanePtr past =
      rectangle(tokens, tokens, {0, tokens}, {std::min(out.sinks, tokens), tokens});
  const auto reach = recognition::diagonals(*combine(Op::kAnd, plane, past));
  out.left = std::min(out.left, reach ? -reach->low : 0);
  return out;
}

bool has_few_heads(const Mask& mask) {
  constexpr std::size_t kMostPlanes = 64;
  return mask.queries() == mask.keys() && mask.heads() > 1 && mask.distinct().size() <= kMostPlanes;
}

}  // namespace maskctl
