#include "maskctl/inspect/recognise/row_blocks.h"

#include <numeric>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/block.h"

namespace maskctl::recognition {
namespace {

constexpr Index kMostBlocks = Index{1} << 28;  // of a map, which has a row of blocks per query

/// The size of blocks, and the diagonal (key - query) past which they are cut, if any is.
struct Cut {
  Index size = 0;
  std::optional<Index> last;
};

/// Reads the size off the first keys of runs, which no causal step moves. Nothing if runs end
/// neither with a block nor all on one diagonal.
std::optional<Cut> cut_of(const Plane& plane) {
  Cut out;
  each_run(plane, {0, plane.queries()},
           [&](Range, const Band& run) { out.size = std::gcd(out.size, run.begin); });
  if (out.size < 2 || out.size >= plane.keys()) return std::nullopt;
  bool fits = true;
  each_run(plane, {0, plane.queries()}, [&](Range rows, const Band& run) {
    if (run.end % out.size == 0 || run.end == plane.keys()) return;
    const Index last = run.end - 1 - rows.begin;
    fits = fits && rows.size() == 1 && last == out.last.value_or(last);
    out.last = last;
  });
  return fits ? std::optional(out) : std::nullopt;
}

}  // namespace

std::optional<Chain> row_blocks_chain(const PlanePtr& plane) {
  const Extent extent{plane->queries(), plane->keys()};
  const auto cut = cut_of(*plane);
  if (!cut) return std::nullopt;
  const Index columns = ceil_div(extent.keys, cut->size);
  if (columns > kMostBlocks / extent.queries) return std::nullopt;
  step::Block rule;
  rule.q_size = 1;
  rule.k_size = cut->size;
  rule.map.array = Tensor(DType::kBool, {extent.queries, columns});
  const auto map = rule.map.array.as<std::uint8_t>();
  each_run(*plane, {0, extent.queries}, [&](Range rows, const Band& run) {
    for (Index q = rows.begin; q < rows.end; ++q) {
      for (Index k = run.begin / cut->size; k * cut->size < run.end; ++k) {
        map[as_size(q * columns + k)] = 1;
      }
    }
  });
  Chain out{Step{std::move(rule)}};
  if (cut->last) out.push_back(causal(extent, *cut->last));
  const PlanePtr made = plane_of(out, extent);
  return made && differing_cells(made, plane) == 0 ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace maskctl::recognition
