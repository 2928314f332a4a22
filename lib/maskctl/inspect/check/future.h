// What queries see of the future: groups of tokens that see each other, and cells in no group;
// private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Query q is token q + keys - queries, the last queries being the last tokens; later keys are its
/// future. Neighbouring tokens that all see each other are a group: an image, a prefix, a document
/// that is not causal. Masks with more queries than keys have no future.
struct Future {
  Index selves = 0;               // queries that see themselves
  Index past = 0, later = 0;      // open cells before and after the own keys
  Index causal = 0;               // selves with an earlier key and no later one, in no group
  Index in_groups = 0;            // queries in groups
  Index groups = 0, largest = 0;  // their number, and the tokens of the largest

  /// Cells of the future in no group, and the least queries and keys that hold them all.
  Index others = 0;
  Range q, k;
  Index q_count = 0, k_count = 0;  // queries and keys of these cells
  std::optional<Cell> first;       // batch and head 0
  /// The other cells join groups of tokens that lie apart, with causal tokens between them.
  bool joined = false;
  /// Too irregular to be told apart; nothing else is set.
  bool irregular = false;

  /// Whether no query sees a later key, and one sees itself.
  bool is_causal() const { return selves > 0 && in_groups == 0 && others == 0 && !irregular; }
  /// One group, and tokens after it that see no later key: a prefix, or an image.
  bool is_prefix() const { return groups == 1 && others == 0 && causal > 0; }
  /// Whether nearly every query sees later keys, or nearly as many are seen as earlier ones.
  bool is_seen() const;
  /// Whether the mask is causal apart from groups, so the other cells are exceptions.
  bool are_exceptions() const;
};

/// O(rows and their runs); structured causal masks are not read at all.
Future future_of(const PlanePtr& plane);

}  // namespace maskctl
