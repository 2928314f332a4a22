// Cells that a claim about a mask leaves over: counted, and the first ones listed.
#pragma once

#include <span>
#include <vector>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/step.h"

namespace maskctl {

/// How many cells, and the first ones by batch, head, query and key.
struct Residue {
  static constexpr std::size_t kListed = 64;
  Index cells = 0;
  std::vector<Cell> first;
};

/// The cells in which two masks differ. Batches and heads broadcast.
Residue residue_of(const Mask& mask, const Mask& given);
/// Those in which a mask differs from a chain applied to an all-open mask.
Residue residue_of(const Mask& mask, std::span<const Step> chain);

/// Appends the cells of rows `q` in which two planes differ, until Residue::kListed are listed: for
/// masks of which it is known how many there are. Reads no more rows than that takes.
void list_differences(const Plane& a, const Plane& b, Range q, Index batch, Index head,
                      std::vector<Cell>& out);

}  // namespace maskctl
