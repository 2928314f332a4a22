// Steps that planes of one mask have in common; private to inspect.
#pragma once

#include <cstdint>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

constexpr Index kSearchedCells = Index{1} << 24;  // larger planes are not read run by run
constexpr std::size_t kMostRegions = 4;           // more regions are a pattern, not exceptions

/// The distinct planes of a mask, compared by their cells: each is examined only once.
struct Planes {
  std::vector<PlanePtr> distinct;
  std::vector<std::uint32_t> of;  // [batch * heads + head]
};

/// The chain that describes one plane.
struct PlaneChain {
  Chain chain;
  bool irregular = false;
};

/// Changes the chains that were found for each distinct plane on its own, if that shortens the
/// description of the whole mask. A plane may get the chain of another plane, followed by the
/// regions (rows, columns, rectangles) in which they differ; or the band (causal or window step) of
/// another plane, if that changes nothing.
void share(const Planes& planes, Index batch, Index heads, std::vector<PlaneChain>& found);

}  // namespace maskctl::recognition
