#include "maskctl/inspect/recognise/prefixes.h"

#include <algorithm>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/guess.h"

namespace maskctl::recognition {

std::vector<Chain> prefix_chains(const Plane& plane) {
  const Extent extent{plane.queries(), plane.keys()};
  if (!extent.square() || extent.queries * extent.keys > kSearchedCells) return {};
  Votes ends, lefts, rights;
  Index before = 0, after = 0;
  each_open_row(plane, [&](Range rows, Range keys) {
    for (Index q = rows.begin; q < rows.end; ++q) {
      if (keys.begin > 0) {
        ++before;
        lefts.add(q - keys.begin);
      }
      if (keys.end <= q + 1) continue;
      ++after;
      ends.add(keys.end);
      rights.add(keys.end - 1 - q);
    }
  });
  const auto n = ends.most(), left = lefts.majority(), right = rights.most();
  if (!n || after < 2) return {};
  const Chain prefix{causal(extent, 0), step::Prefix{.n = *n}};
  std::vector<Chain> out{prefix};
  const auto add = [&](std::optional<Index> low, std::optional<Index> high) {
    out.push_back(prefix);
    out.back().push_back(window(extent, low, high));
  };
  if (left) add(-*left, {});
  if (left && before > 1) add(-*left, *left);
  if (right && *right != *n - 1) add(-*right, *right);
  return out;
}

}  // namespace maskctl::recognition
