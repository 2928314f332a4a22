// Steps that planes of one mask have in common; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

constexpr Index kSearchedCells = Index{1} << 24;  // few enough to read every run
constexpr std::size_t kMostRegions = 4;           // more are a pattern of their own

/// Planes that were made separately may be equal; each distinct one is examined once.
struct Planes {
  std::vector<PlanePtr> distinct;
  std::vector<std::uint32_t> of;  // [batch * heads + head]
};

/// The chain that describes one plane.
struct PlaneChain {
  Chain chain;
  bool irregular = false;
};

/// Replaces chains that were found for each distinct plane by itself where the mask as a whole gets
/// shorter: by the chain of another plane and the regions in which they differ, and by the band of
/// another plane that makes the same cells.
void share(const Planes& planes, Index batch, Index heads, std::vector<PlaneChain>& found);

}  // namespace maskctl::recognition
