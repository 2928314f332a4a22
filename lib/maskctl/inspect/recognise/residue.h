// The cells that a claim about a mask does not explain: their number, and the first ones.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// The number of cells, and the first ones in order of batch, head, query and key.
struct Residue {
  static constexpr std::size_t kListed = 64;
  Index cells = 0;
  std::vector<Cell> first;
};

/// The cells in which two masks differ. Batches and heads broadcast.
Residue residue_of(const Mask& mask, const Mask& given);
/// The cells in which a mask differs from a chain applied to an all-open mask.
Residue residue_of(const Mask& mask, std::span<const Step> chain);

/// Appends the differing cells of rows `q` until Residue::kListed are listed, for masks whose
/// number of differences is known. Reads no more rows than necessary.
void list_differences(const Plane& a, const Plane& b, Range q, Index batch, Index head,
                      std::vector<Cell>& out);

}  // namespace maskctl
