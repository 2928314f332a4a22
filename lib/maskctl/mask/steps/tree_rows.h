// Reads the parents of tokens off the rows of a tree, of which a window may leave only a part;
// private to mask and inspect.
#pragma once

#include <optional>

#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/tree_parents.h"

namespace maskctl::step {

/// What a window leaves of a tree: keys at most `left` before their query, and the first `sinks`.
struct Sight {
  Index left = kUnbounded, sinks = 0;
  bool sees(Index token, Index key) const { return key < sinks || key >= token - left; }
};

struct ReadParents {
  TreeTokens parents;
  Index odd = 0;  // rows that are no path of the tree
};

/// The parents that the rows of a plane show, token 0 being that of query 0: the key before a
/// row's own token, if its row has the same path, or nearly. A few cells may be odd: then the
/// parent is the one of the last keys that leaves the fewest odd cells in the row, or a child tells
/// the parent of its parent. A token that sees no key but its own and sinks continues the last of
/// these, or is a root, which gives the same cells. Nothing if more than a few rows that see keys
/// do not see their own token last, or the rows have more runs than are worth reading.
std::optional<ReadParents> parents_of_rows(const Plane& plane, const Sight& sight = {});

/// The tree of the parents as stretches, if it forks: a line is causal, lines are documents.
std::optional<Tree> forking_tree(const TreeTokens& parents);

/// The window that cuts the paths of most rows; nothing if hardly any is cut.
std::optional<Sight> sight_of(const Plane& plane);

}  // namespace maskctl::step
