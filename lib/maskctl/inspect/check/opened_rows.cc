#include "maskctl/inspect/check/opened_rows.h"

#include <algorithm>

#include "maskctl/base/ranges.h"
#include "maskctl/base/threads.h"
#include "maskctl/mask/planes/bands.h"

namespace maskctl {
namespace {

std::vector<Range> full_rows(const Plane& plane) {
  constexpr Index kRows = 1 << 14;
  std::vector<std::vector<Range>> parts(as_size(ceil_div(plane.queries(), kRows)));
  parallel_for(std::ssize(parts), [&](Index i) {
    const Range part{i * kRows, std::min((i + 1) * kRows, plane.queries())};
    plane.row_sizes(part, [&](Range rows, const Plane::RowSize& size) {
      if (size.keys == plane.keys()) append_range(parts[as_size(i)], rows);
    });
  });
  std::vector<Range> out;
  for (const auto& part : parts) {
    for (const Range& rows : part) append_range(out, rows);
  }
  return out;
}

PlanePtr without_rows(const PlanePtr& plane, const std::vector<Range>& ranges) {
  if (ranges.empty()) return plane;
  const Index queries = plane->queries(), keys = plane->keys();
  std::vector<Slab> slabs;
  slabs.reserve(ranges.size());
  for (const Range& rows : ranges) slabs.push_back({rows, {{0, keys}}});
  return combine(Op::kSub, plane, bands(queries, keys, slabs));
}

/// Whether a row sees itself and at least seven in eight of the tokens before it, or all of several
/// but one. False for the first row, before which there are none.
bool is_causal_row(const Plane& plane, Index row) {
  const Index missed = row - plane.count({row, row + 1}, {0, row});
  const bool few = 8 * missed <= row || (missed == 1 && row > 1);
  return row > 0 && few && plane.count({row, row + 1}, {row, row + 1}) == 1;
}

/// Whether the rows are at the first or the last tokens, and no rows see them except the `full`
/// rows that see every key. Rows at the end do not count if the row before them is causal.
bool are_unseen_ends(const Plane& plane, Range rows, Index full) {
  if (rows.begin > 0 && (rows.end < plane.queries() || is_causal_row(plane, rows.begin - 1))) {
    return false;
  }
  return plane.count({0, plane.queries()}, rows) == full * rows.size();
}

/// Whether no row sees a later key, and some row before the last sees a key.
bool is_causal(const PlanePtr& rest) {
  const Index tokens = rest->keys();
  return count_on_diagonals(rest, 1, kUnbounded) == 0 &&
         rest->count({0, tokens - 1}, {0, tokens}) > 0;
}

/// Whether no row sees an earlier key, some row sees a later one, and most rows see themselves.
bool is_anti_causal(const PlanePtr& rest) {
  return count_on_diagonals(rest, -kUnbounded, -1) == 0 &&
         count_on_diagonals(rest, 1, kUnbounded) > 0 &&
         2 * count_on_diagonals(rest, 0, 0) > rest->queries();
}

Index rows_in(const std::vector<Range>& ranges) {
  Index out = 0;
  for (const Range& rows : ranges) out += rows.size();
  return out;
}

}  // namespace

OpenedRows opened_rows(const PlanePtr& plane) {
  const Index tokens = plane->keys();
  OpenedRows out;
  if (plane->queries() != tokens || tokens < 3) return out;
  const std::vector<Range> ranges = full_rows(*plane);
  const Index full = rows_in(ranges);
  for (const Range& rows : ranges) {
    const bool unseen = are_unseen_ends(*plane, rows, full);
    if (unseen || rows.end < tokens) (unseen ? out.padding : out.others).push_back(rows);
  }
  if (out.padding.empty() && out.others.empty()) return out;
  const PlanePtr rest = without_rows(plane, ranges);
  if (!out.others.empty() && !is_causal(rest)) {
    // Where most rows see every key, a row with a hole makes no padding of the first ones.
    if (rows_in(out.others) > rows_in(out.padding)) out.padding.clear();
    out.others.clear();
  }
  // Rows count as padding only beside rows that see something.
  if (!out.padding.empty() && (rest->count() == 0 || is_anti_causal(rest))) out.padding.clear();
  return out;
}

std::vector<OpenedRows> opened_rows(const Mask& mask, const Mask* tokens) {
  std::vector<OpenedRows> out;
  for (const PlanePtr& plane : mask.distinct()) out.push_back(opened_rows(plane));
  if (!tokens) return out;
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) {
      const Plane& declared =
          *tokens->plane(tokens->batch() == 1 ? 0 : b, tokens->heads() == 1 ? 0 : h);
      std::erase_if(out[mask.index_of(b, h)].padding, [&declared](const Range& rows) {
        return declared.classify(rows, {0, declared.keys()}) != Fill::kEmpty;
      });
    }
  }
  return out;
}

Mask without_opened_padding(const Mask& mask, const std::vector<OpenedRows>& opened) {
  auto rows = opened.begin();
  return mask.map([&](const PlanePtr& plane) { return without_rows(plane, rows++->padding); });
}

}  // namespace maskctl
