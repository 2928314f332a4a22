// Removes regions from a description, whose cells then count one by one.
#include <utility>

#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

/// True for an open square on the diagonal, that is, tokens that see each other.
bool is_diagonal(const Step& step) {
  const auto& rule = step.as<step::Region>();
  return rule.open && rule.q.size() == 1 && rule.q == rule.k;
}

Chain without_regions(const Chain& chain) {
  Chain out;
  for (const Step& step : chain) {
    if (step.is<step::Region>() && !is_diagonal(step)) continue;
    out.push_back(step);
    if (!step.row().scope) continue;
    Chain& inner = *info_of(step).chain(out.back());
    inner = without_regions(inner);
    if (inner.empty()) out.pop_back();
  }
  return out;
}

}  // namespace

Recognised regions_as_cells(Recognised found, const Mask& mask) {
  Chain chain = without_regions(found.chain);
  if (chain == found.chain) return found;
  found.residue = residue_of(mask, chain);
  found.chain = std::move(chain);
  return found;
}

}  // namespace maskctl
