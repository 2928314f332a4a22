#include "maskctl/inspect/check/future.h"

#include <algorithm>
#include <vector>

#include "maskctl/inspect/check/future_reader.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

/// The queries that see every key although later ones are among these.
struct FullRows {
  std::vector<Range> rows;
  Index count = 0;

  explicit FullRows(const Plane& plane) {
    const Index before_last = plane.queries() - 1;
    plane.row_sizes({0, plane.queries()}, [&](Range same, const Plane::RowSize& size) {
      if (size.keys != plane.keys()) return;
      rows.push_back(same);
      count += std::min(same.end, before_last) - std::min(same.begin, before_last);
    });
  }
};

/// Removes the rows and columns of the global tokens among `rows`. All these rows see every key;
/// the tokens that every query sees, too, are global tokens, not causal tokens that look ahead.
/// `removed`: their keys.
void remove_global_tokens(Range rows, const Plane& whole, PlanePtr& out,
                          std::vector<Range>& removed) {
  const Index queries = whole.queries(), keys = whole.keys(), shift = keys - queries;
  const Range own{rows.begin + shift, rows.end + shift};
  switch (whole.classify({0, queries}, own)) {
    case Fill::kFull:
      out = combine(Op::kSub, out, rectangle(queries, keys, {0, queries}, own));
      out = combine(Op::kSub, out, rectangle(queries, keys, rows, {0, keys}));
      removed.push_back(own);
      return;
    case Fill::kEmpty:
      return;
    case Fill::kPartial:
      break;
  }
  if (rows.size() == 1) return;
  const Index middle = rows.begin + rows.size() / 2;
  remove_global_tokens({rows.begin, middle}, whole, out, removed);
  remove_global_tokens({middle, rows.end}, whole, out, removed);
}

}  // namespace

bool Future::is_seen() const {
  return !is_prefix() && (irregular || 16 * causal < selves || 8 * (later - of_padding) > 7 * past);
}

bool Future::are_exceptions() const {
  if (others == 0 || irregular) return false;
  // The queries with cells of `others`, or else the keys with such cells, must be at most half as
  // many as the queries that see themselves, together with those that see every key. Causal queries
  // must exist, and be at least as many as the queries in groups. In rows that see
  // themselves and not every key, more later cells are closed.
  const Index lines = std::min(q_count, k_count);
  return causal > 0 && causal >= in_groups && 2 * (lines + full) <= selves &&
         others + to_global < closed && causal >= unaligned;
}

bool Future::are_exceptions_of_head() const {
  return others > 0 && !irregular && in_groups == 0 && 4 * causal >= selves && 4 * others < closed;
}

Index later_cells(const PlanePtr& plane) {
  const Index shift = plane->keys() - plane->queries();
  return shift < 0 ? 0 : count_on_diagonals(plane, shift + 1, kUnbounded);
}

Future future_of(const PlanePtr& plane) {
  const Index queries = plane->queries(), keys = plane->keys(), shift = keys - queries;
  Future out;
  if (queries < 2 || shift < 0) return out;
  const Index later = later_cells(plane), selves = count_on_diagonals(plane, shift, shift);
  Index of_padding = 0;
  if (later > 0) {
    // Before the first key that any query sees, all that a query sees is later.
    const Index first = std::clamp<Index>(recognition::first_key(*plane) - shift, 0, queries);
    of_padding = plane->count({0, first}, {0, keys});
  }
  if (plane->count() == queries * keys) {
    out.in_groups = out.largest = queries;
    out.groups = 1;
  } else if (later > of_padding) {
    const FullRows full(*plane);
    PlanePtr others = plane;
    std::vector<Range> global;
    for (const Range& rows : full.rows) remove_global_tokens(rows, *plane, others, global);
    out = read_future(others, full.rows, global);
    out.full = full.count;
  } else {
    out.causal = selves;
  }
  out.selves = selves;
  out.past = plane->count() - later - selves;
  out.later = later;
  out.of_padding = of_padding;
  return out;
}

}  // namespace maskctl
