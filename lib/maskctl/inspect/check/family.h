// Cells that are off a rule whose numbers are read off rows: a tree, a grid, blocks, compressed
// keys, positions of tokens; private to inspect.
#pragma once

#include <optional>
#include <string>

#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/residue.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// Whether all cells that a chain leaves of a mask are in planes that such a rule helps to make,
/// and few beside their other cells: no other rule of few steps makes these, so they are mistakes.
/// Tokens that all see each other, such as those of an image, are none.
bool are_off_family(const Mask& mask, const Chain& chain, const Residue& residue);

/// Rules that make each plane of a mask but for cells that they hide (RuleInfo::hides), and these
/// cells; nothing where no such rules do.
std::optional<Recognised> leaked_by_rules(const Mask& mask);

/// Why the rule that helps to make its plane says otherwise of a cell, such as "token 9 of branch
/// 0-2 sees token 5 of branch 0-1"; nothing where there is none.
std::optional<std::string> off_family_text(const Mask& mask, const Chain& chain, const Cell& cell);

}  // namespace maskctl
