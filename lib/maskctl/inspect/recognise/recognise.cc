#include "maskctl/inspect/recognise/recognise.h"

#include <algorithm>
#include <utility>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise/candidates.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/clipped.h"
#include "maskctl/inspect/recognise/known_planes.h"
#include "maskctl/inspect/recognise/plane_search.h"
#include "maskctl/inspect/recognise/row_blocks.h"
#include "maskctl/inspect/recognise/scopes.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/inspect/recognise/steps.h"

namespace maskctl {
namespace recognition {
namespace {

/// What search_plain() finds; taken from what is known, where it goes on with guesses.
std::shared_ptr<Candidates> plain_candidates(const PlanePtr& plane, const RecogniseOptions& options,
                                             KnownPlanes::Known& known) {
  if (known.plain) return std::exchange(known.plain, nullptr);
  auto out = std::make_shared<Candidates>(plane);
  search_plain(plane, options, *out);
  return out;
}

/// Throws Error(kLimit) for a plane of too many cells that would be read one by one.
void check_cells(const Plane& plane, Index max_cells) {
  const Index cells = plane.queries() * plane.keys();
  if (slabs_of(plane) || cells <= max_cells || is_clipped(plane)) return;
  throw Error(Errc::kLimit, "recognise: " + std::to_string(cells) +
                                " cells that no few lines bound exceed the limit of " +
                                std::to_string(max_cells) + "; slice the mask first");
}

PlaneChain recognise_plane(const PlanePtr& plane, const RecogniseOptions& options,
                           KnownPlanes::Known& known) {
  const bool large = plane->queries() * plane->keys() > kSearchedCells;
  const bool readable = slabs_of(*plane) || plane->queries() * plane->keys() <= options.max_cells;
  auto clipped = readable || is_clipped(*plane) ? recognise_clipped(plane, options) : std::nullopt;
  // Large planes that are not bounded by straight lines take too long to be read many times.
  if (!clipped && large && !slabs_of(*plane) && !options.guess) return {{}, true};
  Candidates candidates(plane);
  if (clipped) {
    candidates.add(std::move(*clipped));
    return {candidates.chain(), candidates.irregular()};
  }
  if (large && !slabs_of(*plane)) {
    if (add_guesses(plane, candidates) || add_positions(plane, options, candidates) ||
        add_grids(plane, options, candidates)) {
      return {candidates.chain(), candidates.irregular()};
    }
    check_cells(*plane, options.max_cells);
    add_found(plane, explain(plane, options.max_steps), options.max_steps, candidates);
    return {candidates.chain(), candidates.irregular()};
  }
  const auto plain = plain_candidates(plane, options, known);
  if (options.guess) {
    // What plain steps make of a large mask, but for stray cells, is not worth guessing at.
    if (!(large && plain->is_plain())) search_guessed(plane, options, *plain);
    if (!plain->exact()) {
      if (auto blocks = row_blocks_chain(plane)) plain->add(std::move(*blocks));
    }
  } else {
    plain->forget_trials();
    known.plain = plain;
  }
  return {plain->chain(), plain->irregular()};
}

PlaneChain known_chain(const PlanePtr& plane, const RecogniseOptions& options, KnownPlanes& known) {
  KnownPlanes::Known& its = known.found[plane];
  std::optional<PlaneChain>& out = options.guess ? its.guessed : its.chain;
  if (!out) out = recognise_plane(plane, options, its);
  return *out;
}

/// The chain of a single query with padding in place of causal and window steps.
Chain with_padding(const Chain& chain, Index keys) {
  Chain out;
  for (const Step& step : chain) {
    const Chain same = as_padding(step, keys).value_or(Chain{step});
    out.insert(out.end(), same.begin(), same.end());
  }
  return out;
}

bool same_plane(const PlanePtr& a, const PlanePtr& b) {
  return a == b || (a->count() == b->count() && differing_cells(a, b) == 0);
}

/// The plane in the form that is best to search: few bands, shared lists of keys, or rows.
PlanePtr searchable(const PlanePtr& given, Index max_cells) {
  PlanePtr plane = compacted(given, max_cells);
  if (!slabs_of(*plane) || plane->queries() * plane->keys() <= max_cells) return plane;
  return !is_of_few_bands(*plane) && is_clipped(*given) ? given : plane;
}

Planes planes_of(const Mask& mask, Index max_cells, KnownPlanes& known) {
  Planes out;
  std::vector<std::uint32_t> number;
  for (const PlanePtr& given : mask.distinct()) {
    PlanePtr& plane = known.searched[given];
    if (!plane) plane = searchable(given, max_cells);
    const auto at = std::find_if(out.distinct.begin(), out.distinct.end(),
                                 [&](const PlanePtr& seen) { return same_plane(seen, plane); });
    number.push_back(static_cast<std::uint32_t>(at - out.distinct.begin()));
    if (at == out.distinct.end()) {
      out.distinct.push_back(plane);
    } else {
      plane = *at;
    }
  }
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) out.of.push_back(number[mask.index_of(b, h)]);
  }
  return out;
}

}  // namespace
}  // namespace recognition

Recognised recognise(const Mask& mask, const RecogniseOptions& options) {
  recognition::KnownPlanes known;
  return recognise(mask, options, known);
}

Recognised recognise(const Mask& mask, const RecogniseOptions& options,
                     recognition::KnownPlanes& known) {
  using namespace recognition;
  Recognised out;
  if (mask.cells() == 0) return out;
  const Planes planes = planes_of(mask, options.max_cells, known);
  std::vector<PlaneChain> found;
  found.reserve(planes.distinct.size());
  for (const PlanePtr& plane : planes.distinct) found.push_back(known_chain(plane, options, known));
  if (mask.queries() == 1) {
    for (PlaneChain& one : found) one.chain = with_padding(one.chain, mask.keys());
  }
  share(planes, mask.batch(), mask.heads(), found);
  std::vector<Chain> chains;
  chains.reserve(found.size());
  for (const PlaneChain& one : found) chains.push_back(one.chain);
  out.irregular = std::ranges::all_of(found, &PlaneChain::irregular);
  out.chain = scoped(std::move(chains), planes.of, mask.batch(), mask.heads(),
                     {mask.queries(), mask.keys()});
  out.residue = residue_of(mask, out.chain);
  return out;
}

}  // namespace maskctl
