// Says that no rule makes a mask if the best description leaves much of it unexplained or is a
// guess.
#include <algorithm>
#include <optional>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

/// How many steps with an array are applied to one plane, at most.
Index arrays_in(const Chain& chain) {
  Index out = 0, in_scopes = 0;
  for (const Step& step : chain) {
    const Chain* inner = chain_of(step);
    if (inner) in_scopes = std::max(in_scopes, arrays_in(*inner));
    out += recognition::has_arrays({step});
  }
  return out + in_scopes;
}

Chain without_arrays(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (recognition::has_arrays({step})) continue;
    out.push_back(step);
    const auto inner = info_of(step).chain;
    if (!inner) continue;
    Chain& steps = *inner(out.back());
    steps = without_arrays(steps);
    if (steps.empty()) out.pop_back();
  }
  return out;
}

/// Chains that come near the first plane, from causal and window steps, prefixes and the like.
std::vector<Chain> fitted_to_first(const Mask& mask) {
  using namespace recognition;
  const PlanePtr plane = compacted(mask.plane(0, 0), kSearchedCells);
  if (plane->queries() * plane->keys() > kSearchedCells) return {};
  const Description description({plane->queries(), plane->keys()});
  ChainTrials tried(plane);
  const Fit fit{tried,
                [&](const Fitted& one) { return description.of(one.chain); },
                {},
                affordable_trials(*plane)};
  std::vector<Chain> out;
  for (Fitted& one : fitted(fit, {})) out.push_back(std::move(one.chain));
  return out;
}

/// How many more cells are open than closed on each diagonal of a mask, from key - query = 1 - Q
/// on; nothing if that takes too long.
std::vector<Index> open_on_diagonals(const Mask& mask) {
  if (mask.queries() * mask.keys() * std::ssize(mask.distinct()) > recognition::kSearchedCells) {
    return {};
  }
  std::vector<Index> out(as_size(mask.queries() + mask.keys()));
  std::vector<Index> times(mask.distinct().size());
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) ++times[mask.index_of(b, h)];
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    const Plane& plane = *mask.distinct()[i];
    recognition::each_run(plane, {0, plane.queries()}, [&](Range rows, const Band& run) {
      for (Index q = rows.begin; q < rows.end; ++q) {
        for (Index k = run.begin; k < run.end; ++k) {
          out[as_size(k - q + mask.queries() - 1)] += 2 * times[i];
        }
      }
    });
  }
  const Index planes = mask.batch() * mask.heads();
  for (Index d = 1 - mask.queries(); d < mask.keys(); ++d) {
    const Index length = std::min(mask.queries(), mask.keys() - d) - std::max<Index>(0, -d);
    out[as_size(d + mask.queries() - 1)] -= planes * length;
  }
  return out;
}

/// The causal or window step that comes nearest to a mask, as a chain; a mask that is mostly closed
/// everywhere is nearest to one without open cells.
Chain nearest_band(const Mask& mask) {
  const std::vector<Index> gain = open_on_diagonals(mask);
  // The run of diagonals with the largest sum.
  Index best = 0, sum = 0;
  std::size_t begin = 0, first = 0, end = 0;
  for (std::size_t i = 0; i < gain.size(); ++i) {
    if (sum <= 0) begin = i, sum = 0;
    sum += gain[i];
    if (sum > best) best = sum, first = begin, end = i + 1;
  }
  if (end == 0) return {Step{step::Not{}}};
  const recognition::Extent extent{mask.queries(), mask.keys()};
  const Index low = static_cast<Index>(first) + 1 - mask.queries(),
              high = static_cast<Index>(end) - mask.queries();
  const bool left = low > 1 - mask.queries(), right = high < mask.keys() - 1;
  if (!left && !right) return {};
  if (!left) return {recognition::causal(extent, high)};
  return {recognition::window(extent, low, right ? std::optional(high) : std::nullopt)};
}

}  // namespace

Recognised without_guesses(Recognised found, const Mask& mask) {
  constexpr Index kFewCells = 4, kMostShare = 20;
  const Index open = mask.count();
  const Index few = std::min(open, mask.cells() - open);
  // Several arrays that still leave cells wrong fit by chance.
  const bool guessed = found.residue.cells > 0 && arrays_in(found.chain) > 1;
  const bool few_left =
      !guessed && (found.residue.cells <= kFewCells || found.residue.cells * kMostShare <= few);
  if (few_left && !found.irregular) return found;
  found.irregular = true;
  std::vector<Chain> nearest{without_arrays(found.chain), {}};
  const recognition::Extent extent{mask.queries(), mask.keys()};
  nearest.push_back({recognition::causal(extent, extent.keys - extent.queries)});
  for (Chain& chain : fitted_to_first(mask)) nearest.push_back(without_arrays(chain));
  nearest.push_back(nearest_band(mask));
  Index least = -1;
  for (Chain& chain : nearest) {
    Residue residue = residue_of(mask, chain);
    if (least >= 0 && residue.cells >= least) continue;
    least = residue.cells;
    found.chain = std::move(chain);
    found.residue = std::move(residue);
  }
  // A rule for each batch or head may make what no plane shows by itself.
  if (least == 0 && !says_nothing(found.chain)) found.irregular = false;
  if (2 * least > few) {
    found.chain = open == few ? Chain{Step{step::Not{}}} : Chain{};
    found.residue = residue_of(mask, found.chain);
  }
  return found;
}

bool says_nothing(const Chain& chain) {
  return chain.empty() || (chain.size() == 1 && chain.front().is<step::Not>());
}

}  // namespace maskctl
