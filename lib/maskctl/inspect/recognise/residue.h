// The cells that a description of a mask gets wrong: how many, and the first of them.
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

/// The cells in which two masks differ; their batches and heads broadcast.
Residue residue_of(const Mask& mask, const Mask& given);
/// The cells in which a mask differs from a chain applied to an all-open mask.
Residue residue_of(const Mask& mask, std::span<const Step> chain);

/// Appends differing cells of rows `q` until Residue::kListed cells are listed; for planes whose
/// number of differing cells is already known. Reads no more rows than necessary.
void list_differences(const Plane& a, const Plane& b, Range q, Index batch, Index head,
                      std::vector<Cell>& out);

}  // namespace maskctl
