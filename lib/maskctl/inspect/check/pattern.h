// The few steps that make a mask, or nearly; private to inspect.
#pragma once

#include <optional>

#include "maskctl/inspect/recognise/known_planes.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl {

/// What recognise() says about a mask in which padding rows that see every key (opened_rows.h) are
/// closed first. Rows, columns and rectangles at the end of the recognised chain become single
/// cells (regions_as_cells()). `tokens`, if given, is open in rows that are no padding.
/// `known`: what was found before for planes of such masks, without guesses. pattern_of() throws as
/// recognise() does.
struct Pattern {
  Mask mask;                        // the mask with those rows closed
  std::optional<Mask> opened = {};  // the cells of those rows; absent if there are none
  Recognised found = {};
  bool explained = false;  // recognise() found a chain without arrays that makes exactly `mask`
  bool is_rule = false;  // and no step of it stands for single tokens, rows, columns or rectangles
};
Pattern pattern_of(const Mask& mask, const Mask* tokens, recognition::KnownPlanes& known);

/// The pattern with a border between documents in place of a corner of a window that is closed
/// inside of one: then queries after the border see keys before it. Absent if there is no such
/// corner.
std::optional<Pattern> with_border(const Pattern& pattern);

/// The cells that steps leave open in the rows of a pattern's mask; its rows of opened padding are
/// closed, as in the mask.
Mask made_by(const Chain& chain, const Pattern& pattern);

/// How many ranges of global tokens and how many regions (rows, columns or rectangles) the steps
/// contain. Each can be fitted to single cells that should be reported, so each counts as one
/// unexplained cell.
Index tokens_and_regions(const Chain& chain);
/// The number of exceptions: ranges of global tokens and regions in the steps, and cells that the
/// steps do not explain.
Index exceptions_of(const Recognised& found);

/// True if a step has an array of ids, types or blocks, also inside scopes: no text names it.
bool names_arrays(const Chain& chain);

}  // namespace maskctl
