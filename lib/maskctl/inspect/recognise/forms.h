// Variations of steps, with numbers at edges of a plane: keys and diagonals at which runs of open
// keys begin or end; private to inspect.
#pragma once

#include <vector>

#include "maskctl/inspect/recognise/description.h"
#include "maskctl/inspect/recognise/edges.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// The step with its numbers moved by a little, or to edges. None for steps of other rules than
/// those that keep diagonals, documents, padding, chunks, blocks and first or global tokens.
std::vector<Step> forms_of(const Step& step, const Extent& extent, const Edges& edges);

/// Steps that a chain may lack, with numbers at edges; those at the most frequent edges come first.
std::vector<Step> new_steps(const Extent& extent, const Edges& edges);

}  // namespace maskctl::recognition
