// Says that no rule makes a mask where the best description leaves much of it, or guesses.
#include <algorithm>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

Chain without_arrays(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (recognition::has_arrays({step})) continue;
    out.push_back(step);
    if (Chain* inner =
            info_of(out.back()).chain ? info_of(out.back()).chain(out.back()) : nullptr) {
      *inner = without_arrays(*inner);
    }
  }
  return out;
}

/// Chains that come near the first plane, from causal and window steps, prefixes and the like.
std::vector<Chain> fitted_to_first(const Mask& mask) {
  using namespace recognition;
  const PlanePtr plane = compacted(mask.plane(0, 0), kSearchedCells);
  if (plane->queries() * plane->keys() > kSearchedCells) return {};
  const Description description({plane->queries(), plane->keys()});
  const Fit fit{plane,
                [&](const Fitted& one) { return description.of(one.chain); },
                {},
                affordable_trials(*plane)};
  std::vector<Chain> out;
  for (Fitted& one : fitted(fit, {})) out.push_back(std::move(one.chain));
  return out;
}

}  // namespace

Recognised without_guesses(Recognised found, const Mask& mask) {
  constexpr Index kFewCells = 4, kMostShare = 20;
  const Index open = mask.count();
  const Index few = std::min(open, mask.cells() - open);
  if (found.residue.cells <= kFewCells || found.residue.cells * kMostShare <= few) return found;
  found.irregular = true;
  std::vector<Chain> nearest{without_arrays(found.chain), {}};
  const recognition::Extent extent{mask.queries(), mask.keys()};
  nearest.push_back({recognition::causal(extent, extent.keys - extent.queries)});
  for (Chain& chain : fitted_to_first(mask)) nearest.push_back(without_arrays(chain));
  Index least = -1;
  for (Chain& chain : nearest) {
    Residue residue = residue_of(mask, chain);
    if (least >= 0 && residue.cells >= least) continue;
    least = residue.cells;
    found.chain = std::move(chain);
    found.residue = std::move(residue);
  }
  return found;
}

}  // namespace maskctl
