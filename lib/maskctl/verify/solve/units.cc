#include "maskctl/verify/solve/units.h"

#include <cstdint>
#include <map>

namespace maskctl::attention::solving {

std::vector<Group> groups_of(const Mask& mask, const SolveCall& call) {
  const Dims& d = call.dims();
  std::map<std::uint32_t, Group> out;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      Unit unit{b, h, {}};
      for (Index n = 0; n < d.batch * d.q_heads; ++n) {
        const Head head{n / d.q_heads, n % d.q_heads};
        const bool here = (mask.batch() == 1 || head.b == b) && (mask.heads() == 1 || head.h == h);
        if (here) unit.heads.push_back(head);
        if (here && call.has_gradients()) unit.heads.push_back({head.b, head.h, true});
      }
      out[mask.index_of(b, h)].push_back(std::move(unit));
    }
  }
  std::vector<Group> groups;
  groups.reserve(out.size());
  for (auto& [index, group] : out) groups.push_back(std::move(group));
  return groups;
}

}  // namespace maskctl::attention::solving
