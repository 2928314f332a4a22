// Words for the cells that no step explains; private to inspect.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "maskctl/inspect/diff/diff.h"
#include "maskctl/inspect/recognise/residue.h"

namespace maskctl {

/// All cells that differ. Lists the first ones by reading rows from the first difference on,
/// without a plane of all differences.
Residue all_differences(const Mask& a, const Mask& b, const MaskDiff& found);

/// Whether a cell is open in a mask of which batches and heads broadcast.
bool is_open_in(const Mask& mask, const Cell& cell);

inline constexpr std::size_t kCellsInWords = 4;  // more are counted

/// A few cells, each by `words`, which also gets all that are listed; of more, how many they are,
/// and the first: "36 cells, 12 open and 24 closed, the first query 2, key 0 closed". Where all are
/// open, or all closed, the first one says so. `opened` counts those that are open in B.
std::string cells_said(const Residue& cells, const std::function<Index()>& opened,
                       const std::function<std::string(const Cell&, std::span<const Cell>)>& words);

}  // namespace maskctl
