// The search for the shortest chain that gives a mask; private to inspect.
#pragma once

#include <variant>
#include <vector>

#include "maskctl/inspect/recognise/blocks.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/classes.h"

namespace maskctl::recognition {

/// Opens keys [0, n) for all queries.
struct FirstKeys {
  Index n = 0;
};
/// Opens the rows and the columns of these tokens.
struct OpenTokens {
  std::vector<Range> tokens;
};
/// Opens, on top of other steps, the cells of these token types (queries and keys of one type see
/// each other).
struct Types {
  Classes classes;
};

/// One step of a chain, before it is written as a step with a name. Diagonals, Classes and
/// BlockGrid close all cells but some (keep); FirstKeys, OpenTokens and Types open some cells more.
struct Move {
  std::variant<Diagonals, Classes, BlockGrid, FirstKeys, OpenTokens, Types> rule;
  PlanePtr cells;  // the cells that the move keeps or opens
  PlanePtr open;   // the cells that must be open after this move
  bool keeps() const { return rule.index() < 3; }
};
using Moves = std::vector<Move>;  // in the order in which a chain applies them

/// Moves after which `left` cells are open that should be closed.
struct Nearest {
  Moves moves;
  Index left = 0;
};

/// The result of a search. `exact`: chains of equal length that give the mask. If there are none,
/// `nearest`: chains of increasing length, each with fewer wrong cells than all shorter ones.
struct Explained {
  std::vector<Moves> exact;
  std::vector<Nearest> nearest;
};
/// Searches for the shortest chains that give the plane. `plain` leaves out block grids and types,
/// which need arrays and whose positions must be guessed.
Explained explain(const PlanePtr& plane, Index max_steps, bool plain = false);

}  // namespace maskctl::recognition
