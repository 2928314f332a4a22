// What queries see of the future: groups of tokens that see each other, and cells in no group;
// private to inspect.
#pragma once

#include <optional>

#include "maskctl/mask/cell.h"
#include "maskctl/mask/plane.h"

namespace maskctl {

/// Query q is token q + keys - queries: the last query is the last token, and later keys are its
/// future. Neighbouring tokens that see each other, at least three in four pairs of them, are a
/// group, such as an image, a prefix, or a document that is not causal. Masks with one query or
/// with more queries than keys have no future; all members are then 0.
struct Future {
  Index selves = 0;           // queries that see themselves
  Index past = 0, later = 0;  // open cells before, and after, the query's own key
  /// Cells of `later` whose queries are before the first key that any query sees: padding.
  Index of_padding = 0;
  Index closed = 0;  // closed cells after it, in rows that see themselves and not every key
  /// Open cells after the query's own key, in the rows of `closed`, whose keys are global tokens:
  /// tokens that see every key and that every query sees.
  Index to_global = 0;
  /// Queries in no group that see themselves and an earlier key, but no later key. If no query sees
  /// a later key: all queries that see themselves.
  Index causal = 0;
  /// Where keys are more than queries: queries in no group that see keys, and are not causal.
  /// Queries and keys may then be two sequences.
  Index unaligned = 0;
  Index full = 0;                 // queries before the last that see every key
  Index in_groups = 0;            // queries in groups
  Index groups = 0, largest = 0;  // number of groups, and tokens of the largest group

  /// Open cells of the future in no group, and the smallest ranges of queries and keys that contain
  /// all of them.
  Index others = 0;
  Range q, k;
  Index q_count = 0, k_count = 0;  // how many queries, and keys, have such cells
  std::optional<Cell> first;       // the first cell of `others`; batch and head are 0
  /// Later keys of groups that are closed, though the token of the key sees the query, and the
  /// query sees a later key of the group or both queries beside it see the key.
  Index holes = 0;
  std::optional<Cell> first_hole;
  /// Whether the cells of `others` join groups that have causal tokens between them.
  bool joined = false;
  /// Whether the plane is too irregular to be analysed; then only selves, past and later are set.
  bool irregular = false;

  /// Whether no query sees a later key, and some query sees itself. Tokens that see every key are
  /// left out.
  bool is_causal() const { return selves > 0 && in_groups == 0 && others == 0 && !irregular; }
  /// Whether there is one group, and causal tokens beside it: a prefix, or an image.
  bool is_prefix() const { return groups == 1 && others == 0 && causal > 0; }
  /// Whether it is normal here to see later keys: hardly any query is causal, or open cells after
  /// the query's own key are nearly as many as those before it, or the plane is irregular. False
  /// for a prefix (is_prefix()).
  bool is_seen() const;
  /// Whether the mask is causal apart from its groups, so that the cells of `others` are
  /// exceptions.
  bool are_exceptions() const;
  /// The same for a head beside others that see nothing of the future: more cells are exceptions
  /// there, as long as a quarter of the queries is causal and most of the future is closed.
  bool are_exceptions_of_head() const;
};

/// Future::later alone.
Index later_cells(const PlanePtr& plane);

/// Returns what the queries of a plane see of the future. Takes time in proportion to rows and
/// their runs of open keys; the rows of structured causal masks are not read at all.
Future future_of(const PlanePtr& plane);

}  // namespace maskctl
