// Finds heads of one batch entry that are made of different trees.
#include <algorithm>
#include <optional>
#include <span>

#include "maskctl/inspect/check/head_borders.h"
#include "maskctl/inspect/check/lint.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

/// Whether branches may be chunks, all of one size from token 0 on, the first keys of which all
/// tokens see.
bool may_be_chunks(std::span<const Index> begins) {
  const auto step = step_of(begins);
  return step && (*step == 0 || *step == begins.front());
}

/// Looks for heads of one entry that are made of different trees, as far as their windows reach.
std::optional<Finding> differing_trees(const Mask& mask, recognition::KnownPlanes& planes) {
  const Index tokens = mask.queries();
  for (Index b = 0; b < mask.batch(); ++b) {
    std::optional<Index> usual;
    std::optional<PartOfTree> known;
    for (Index h = 0; h < mask.heads(); ++h) {
      if (usual && mask.index_of(b, h) == mask.index_of(b, *usual)) continue;
      const auto its = part_of_tree(mask.plane(b, h), planes);
      if (!its) continue;
      if (!usual) {
        usual = h;
        known = its;
        continue;
      }
      const auto within = [&](const PlanePtr& plane, Index first, Index last) {
        return combine(Op::kAnd, plane, diagonal_band(tokens, tokens, first, last));
      };
      const PlanePtr &one = mask.plane(b, *usual), &other = mask.plane(b, h);
      const PlanePtr differ =
          within(combine(Op::kXor, one, other), -std::min(its->left, known->left), -1);
      const auto diagonals = recognition::diagonals(*differ);
      if (!diagonals) continue;
      if (may_be_chunks(blind(*within(one, -1, -1), -1)) &&
          may_be_chunks(blind(*within(other, -1, -1), -1))) {
        continue;
      }
      const Index distance = diagonals->high;
      const PlanePtr at = within(differ, distance, distance);
      const PlanePtr in_one = combine(Op::kAnd, at, one);
      return in_one->count() > 0 ? border_seen(*in_one, b, *usual, h, distance)
                                 : border_seen(*at, b, h, *usual, distance);
    }
  }
  return std::nullopt;
}

}  // namespace

Findings lint_trees_of_heads(const Mask& mask, recognition::KnownPlanes& planes) {
  if (!has_few_heads(mask)) return {};
  auto found = differing_trees(mask, planes);
  return found ? Findings{*std::move(found)} : Findings{};
}

}  // namespace maskctl
