#include "maskctl/inspect/recognise/row_length.h"

#include <algorithm>
#include <vector>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/recognise.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/rows.h"

namespace maskctl {
namespace {

/// The cells of a plane in rows of another length.
PlanePtr in_rows_of(const Plane& plane, Index keys) {
  const Index queries = plane.queries() * plane.keys() / keys;
  std::vector<Run> runs;
  std::vector<Index> offsets{0};
  std::vector<RowRef> rows;
  Index row = 0;
  const auto end_rows = [&](Index until) {
    for (; row < until; ++row) {
      offsets.push_back(std::ssize(runs));
      rows.push_back({static_cast<std::uint32_t>(row), 0, static_cast<std::int32_t>(keys)});
    }
  };
  // Row by row: the runs of several equal rows come one run after the other.
  for (Index q = 0; q < plane.queries(); ++q) {
    recognition::each_run(plane, {q, q + 1}, [&](Range, const Band& band) {
      // The cells [at, end) of the array, cut at the ends of its new rows.
      Index at = q * plane.keys() + band.begin;
      const Index end = q * plane.keys() + band.end;
      while (at < end) {
        end_rows(at / keys);
        const Index stop = std::min(end, (row + 1) * keys);
        const auto from = static_cast<std::int32_t>(at - row * keys),
                   to = static_cast<std::int32_t>(stop - row * keys);
        const bool touches = std::ssize(runs) > offsets.back() && runs.back().end == from;
        if (touches) {
          runs.back().end = to;
        } else {
          runs.push_back({from, to});
        }
        at = stop;
      }
    });
  }
  end_rows(queries);
  return row_lists(keys, std::move(runs), std::move(offsets), std::move(rows));
}

}  // namespace

std::optional<Chain> chain_with_exchanged_extents(const Mask& mask) {
  constexpr Index kMostCells = Index{1} << 22;
  constexpr std::size_t kMostSteps = 2;
  const Index queries = mask.queries(), keys = mask.keys();
  if (queries == keys || queries < 2 || keys < 2 || queries * keys > kMostCells) {
    return std::nullopt;
  }
  const Mask exchanged = Mask::make(
      1, 1, keys, queries, [&](Index, Index) { return in_rows_of(*mask.plane(0, 0), queries); });
  const Index open = exchanged.count();
  if (open == 0 || open == exchanged.cells()) return std::nullopt;
  const Recognised found = recognise(exchanged, {.guess = false});
  const bool plain = found.residue.cells == 0 && found.chain.size() <= kMostSteps &&
                     !recognition::has_arrays(found.chain);
  return plain ? std::optional(found.chain) : std::nullopt;
}

}  // namespace maskctl
