// Replaces the other files of this folder in a build without Eigen, which cannot solve for masks.
#include "maskctl/base/error.h"
#include "maskctl/verify/solve/blocks.h"
#include "maskctl/verify/solve/slots.h"
#include "maskctl/verify/solve/solve.h"

namespace maskctl::attention {

bool has_solver() { return false; }

void require_solver() {
  throw Error(Errc::kUnsupported, "no mask can be solved: this maskctl was built without Eigen",
              {{Remedy::kBuildWith, "MASKCTL_SOLVE"}});
}

std::optional<SlotCall> over_slots(const VerifyRequest&, const NamedResults&) { return {}; }
std::optional<BlockCall> over_blocks(const VerifyRequest&) { return {}; }

SolvedMask solve_mask(const VerifyRequest&, const NamedResults&, std::span<const Neighbour>,
                      const SolveOptions&) {
  require_solver();
  return {};
}

}  // namespace maskctl::attention
