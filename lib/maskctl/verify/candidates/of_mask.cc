#include "maskctl/verify/candidates/of_mask.h"

namespace maskctl::attention {

Candidates of_masks(const std::shared_ptr<const CallVariants>& call,
                    std::span<const Neighbour> masks) {
  Candidates out;
  for (const Neighbour& other : masks) {
    out.push_back(with_arguments(call, other.text, other.mask,
                                 [mask = other.mask](auto& arguments) { arguments.mask = mask; }));
  }
  return out;
}

}  // namespace maskctl::attention
