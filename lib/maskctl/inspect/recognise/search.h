// The search for the shortest chain that gives a mask; private to inspect.
#pragma once

#include <variant>
#include <vector>

#include "maskctl/inspect/recognise/blocks.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/classes.h"

namespace maskctl::recognition {

/// First keys that all queries see.
struct FirstKeys {
  Index n = 0;
};
/// Tokens whose rows and columns are open.
struct OpenTokens {
  std::vector<Range> tokens;
};
/// Classes that are opened in addition.
struct Types {
  Classes classes;
};

/// One step of a chain before it has a name. Diagonals, Classes and BlockGrid keep cells;
/// FirstKeys, OpenTokens and Types open them.
struct Move {
  std::variant<Diagonals, Classes, BlockGrid, FirstKeys, OpenTokens, Types> rule;
  PlanePtr cells;  // the cells that it keeps or opens
  PlanePtr open;   // the cells that had to be open after this step
  bool keeps() const { return rule.index() < 3; }
};
using Moves = std::vector<Move>;  // in the order in which a chain applies them

/// A chain that leaves `left` cells open that should be closed.
struct Nearest {
  Moves moves;
  Index left = 0;
};

/// The result of a search: chains of equal length that give the mask exactly; if there are none,
/// chains of increasing length, each of which leaves fewer cells over than all shorter ones.
struct Explained {
  std::vector<Moves> exact;
  std::vector<Nearest> nearest;
};
/// `plain`: without block grids and types, whose positions are guessed and which need arrays.
Explained explain(const PlanePtr& plane, Index max_steps, bool plain = false);

}  // namespace maskctl::recognition
