#include "maskctl/verify/candidates/of_mask.h"

namespace maskctl::attention {

Candidates of_masks(const std::shared_ptr<const CallVariants>& call,
                    std::span<const Neighbour> masks) {
  Candidates out;
  for (const Neighbour& other : masks) {
    out.push_back(
        {other.text, other.mask, [call, mask = other.mask] { return call->under(mask); }});
  }
  return out;
}

}  // namespace maskctl::attention
