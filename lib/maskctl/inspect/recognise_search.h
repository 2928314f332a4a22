// The search for the shortest chain that gives a mask; private to inspect.
#pragma once

#include <variant>
#include <vector>

#include "maskctl/inspect/recognise_blocks.h"
#include "maskctl/inspect/recognise_cells.h"
#include "maskctl/inspect/recognise_classes.h"

namespace maskctl::recognising {

/// Keys that all queries see.
struct FirstKeys {
  Index n = 0;
};
/// Rows and columns that are open.
struct OpenTokens {
  std::vector<Range> tokens;
};
/// Classes joined to what is there.
struct Types {
  Classes classes;
};

/// One step of a chain before it has a name. Diagonals, Classes and BlockGrid keep cells,
/// FirstKeys, OpenTokens and Types open them.
struct Move {
  std::variant<Diagonals, Classes, BlockGrid, FirstKeys, OpenTokens, Types> rule;
  PlanePtr cells;  // kept or opened
  PlanePtr open;   // what had to be open after this step
  bool keeps() const { return rule.index() < 3; }
};
using Moves = std::vector<Move>;  // in the order in which a chain applies them

/// A chain that leaves cells open that should be closed: `left` of them.
struct Nearest {
  Moves moves;
  Index left = 0;
};

/// What a search found: chains of equal length that give the mask exactly, or, when there are
/// none, those that leave fewer cells over than any shorter one, from no step on.
struct Explained {
  std::vector<Moves> exact;
  std::vector<Nearest> nearest;
};
/// `plain`: no block grids and no types, whose places are guessed and which come with arrays.
Explained explain(const PlanePtr& plane, Index max_steps, bool plain = false);

}  // namespace maskctl::recognising
