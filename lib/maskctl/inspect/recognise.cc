#include "maskctl/inspect/recognise.h"

#include <algorithm>
#include <map>

#include "maskctl/base/error.h"
#include "maskctl/inspect/recognise_clipped.h"
#include "maskctl/inspect/recognise_names.h"
#include "maskctl/inspect/recognise_scopes.h"
#include "maskctl/inspect/recognise_steps.h"
#include "maskctl/mask/clipped_classes.h"
#include "maskctl/mask/nearest.h"

namespace maskctl {
namespace recognising {
namespace {

constexpr Index kSearchedCells = Index{1} << 24;  // few enough to look at each run
constexpr Index kFewBands = 64;                   // of planes too large to look at each run

struct PlaneChain {
  Chain chain;
  bool irregular = false;
};

/// The explanation that is cheapest to read among those of equal length.
Chain cheapest(const PlanePtr& plane, const std::vector<Moves>& found) {
  Chain best;
  Index best_cost = -1;
  for (const Moves& moves : found) {
    Chain chain = named(plane, moves, 0);
    const Index its_cost = cost(chain);
    if (best_cost >= 0 && its_cost >= best_cost) continue;
    best = std::move(chain);
    best_cost = its_cost;
  }
  return best;
}

/// A chain without arrays may be one step longer: sinks beside a window rather than token types
/// that happen to fit.
Chain plainer(const PlanePtr& plane, Chain chain, Index max_steps) {
  const bool guessed = std::any_of(chain.begin(), chain.end(), [](const Step& step) {
    return std::holds_alternative<step::Tokens>(step.rule);
  });
  const auto steps = static_cast<Index>(chain.size());
  if (!guessed || steps >= max_steps) return chain;
  const Explained plain = explain(plane, steps + 1, true);
  if (plain.exact.empty()) return chain;
  Chain other = cheapest(plane, plain.exact);
  return has_arrays(other) || cost(other) >= cost(chain) ? chain : other;
}

/// The diagonal that most of the given ones lie on.
Index commonest(const std::map<Index, Index>& times) {
  return std::max_element(times.begin(), times.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

/// The plane less what lies outside the band in which most rows begin and end: a few stray cells
/// would otherwise hide it.
PlanePtr without_strays(const PlanePtr& plane) {
  std::map<Index, Index> lows, highs;
  each_hull(*plane, [&](Range rows, const Band& band) {
    if (rows.size() > 1 && !(band.begin_slope && band.end_slope)) return;
    lows[band.begin_at(rows.begin) - rows.begin] += rows.size();
    highs[band.end_at(rows.begin) - 1 - rows.begin] += rows.size();
  });
  if (highs.empty()) return plane;
  const Index queries = plane->queries(), keys = plane->keys();
  const auto inside = [&](Index low, Index high) {
    return combine(Op::kAnd, plane, diagonal_band(queries, keys, low, high));
  };
  PlanePtr best = plane;
  const Index most = plane->count() / 50;
  for (const PlanePtr& kept :
       {inside(-queries, commonest(highs)), inside(commonest(lows), commonest(highs))}) {
    if (plane->count() - kept->count() <= most) best = kept;
  }
  return best;
}

/// The chain that leaves the fewest cells unexplained.
Chain nearest(const PlanePtr& plane, const Explained& nearly, Index max_steps) {
  Chain chain = named(plane, nearly.nearest, nearly.left);
  const PlanePtr cleaned = without_strays(plane);
  if (cleaned == plane) return chain;
  const Explained found = explain(cleaned, max_steps);
  Chain other = found.exact.empty() ? named(cleaned, found.nearest, found.left)
                                    : cheapest(cleaned, found.exact);
  const bool better = unexplained_cells(plane, other) < unexplained_cells(plane, chain);
  return better ? other : chain;
}

/// Whether all open or all closed, which is off by the fewer cells, tells nearly as much.
bool is_irregular(const PlanePtr& plane, const Chain& chain) {
  const Index open = plane->count();
  const Index closed = plane->queries() * plane->keys() - open;
  return unexplained_cells(plane, chain) * 4 > std::min(open, closed);
}

/// By shared lists of keys and the lines that clip them; nothing unless that is how the plane is
/// held. A block grid may hide a plainer chain: it is for planes that are not searched.
std::optional<PlaneChain> recognise_clipped(const PlanePtr& plane,
                                            const RecogniseOptions& options) {
  const Index cells = plane->queries() * plane->keys();
  if (slabs_of(*plane) || cells <= kSearchedCells) return std::nullopt;
  const auto split = split_clipped(*plane, cells > options.max_cells);
  if (!split) return std::nullopt;
  Chain chain{split->shared};
  const Explained found = explain(split->lines, options.max_steps - 1);
  const bool exact = !found.exact.empty();
  const Chain lines =
      exact ? cheapest(split->lines, found.exact) : named(split->lines, found.nearest, found.left);
  chain.insert(chain.end(), lines.begin(), lines.end());
  if (!exact && is_irregular(plane, chain)) return PlaneChain{{}, true};
  return PlaneChain{std::move(chain), false};
}

PlaneChain recognise_plane(const PlanePtr& plane, const RecogniseOptions& options) {
  if (auto clipped = recognise_clipped(plane, options)) return std::move(*clipped);
  const Index max_steps = options.max_steps;
  const Explained found = explain(plane, max_steps);
  if (!found.exact.empty()) {
    return {plainer(plane, cheapest(plane, found.exact), max_steps), false};
  }
  Chain chain = nearest(plane, found, max_steps);
  const bool irregular = is_irregular(plane, chain);
  if (irregular) chain.clear();
  return {std::move(chain), irregular};
}

bool same_plane(const PlanePtr& a, const PlanePtr& b) {
  return a == b || (a->count() == b->count() && combine(Op::kXor, a, b)->count() == 0);
}

/// Planes made apart may be equal; each is looked at once.
struct Planes {
  std::vector<PlanePtr> distinct;
  std::vector<std::uint32_t> of;  // [batch * heads + head]
};

/// As few lines where that is how the plane is bounded; else as its shared lists, or as runs.
PlanePtr searchable(const PlanePtr& given, Index max_cells) {
  PlanePtr plane = compacted(given, max_cells);
  const auto* slabs = slabs_of(*plane);
  if (!slabs || plane->queries() * plane->keys() <= max_cells) return plane;
  Index lines = 0;
  for (const Slab& slab : *slabs) lines += std::ssize(slab.bands);
  return lines > kFewBands && is_clipped(*given) ? given : plane;
}

Planes planes_of(const Mask& mask, Index max_cells) {
  Planes out;
  std::vector<std::uint32_t> number;
  for (const PlanePtr& given : mask.distinct()) {
    const PlanePtr plane = searchable(given, max_cells);
    const Index cells = plane->queries() * plane->keys();
    if (!slabs_of(*plane) && cells > max_cells && !is_clipped(*plane)) {
      throw Error(Errc::kLimit, "recognise: " + std::to_string(cells) +
                                    " cells that no few lines bound exceed the limit of " +
                                    std::to_string(max_cells) + "; slice the mask first");
    }
    const auto at = std::find_if(out.distinct.begin(), out.distinct.end(),
                                 [&](const PlanePtr& seen) { return same_plane(seen, plane); });
    number.push_back(static_cast<std::uint32_t>(at - out.distinct.begin()));
    if (at == out.distinct.end()) out.distinct.push_back(plane);
  }
  for (Index b = 0; b < mask.batch(); ++b) {
    for (Index h = 0; h < mask.heads(); ++h) out.of.push_back(number[mask.index_of(b, h)]);
  }
  return out;
}

Mask full_like(const Mask& mask) {
  const PlanePtr full = full_plane(mask.queries(), mask.keys());
  return Mask::make(mask.batch(), mask.heads(), mask.queries(), mask.keys(),
                    [&](Index, Index) { return full; });
}

/// The first open cell; the plane must have one.
Cell first_cell(const Plane& plane) {
  Cell cell;
  each_row_while(plane, [&](Range rows, const Keys& keys) {
    cell.query = rows.begin;
    cell.key = hull_of(keys).begin;
    return hull_of(keys).empty();
  });
  return cell;
}

/// Known without looking at cells.
bool held_alike(const Mask& a, const Mask& b) {
  for (Index n = 0; n < a.batch(); ++n) {
    for (Index h = 0; h < a.heads(); ++h) {
      if (!maskctl::held_alike(*a.plane(n, h), *b.plane(n, h))) return false;
    }
  }
  return true;
}

void compare(const Mask& mask, Recognised& out) {
  const Mask applied = maskctl::apply(full_like(mask), out.chain);
  if (held_alike(mask, applied)) return;
  const Mask differ = zip(Op::kXor, mask, applied);
  out.unexplained = differ.count();
  if (out.unexplained == 0) return;
  for (Index b = 0; b < mask.batch() && !out.first_unexplained; ++b) {
    for (Index h = 0; h < mask.heads() && !out.first_unexplained; ++h) {
      if (differ.plane(b, h)->count() == 0) continue;
      out.first_unexplained = first_cell(*differ.plane(b, h));
      out.first_unexplained->batch = b;
      out.first_unexplained->head = h;
    }
  }
}

}  // namespace
}  // namespace recognising

Recognised recognise(const Mask& mask, const RecogniseOptions& options) {
  using namespace recognising;
  Recognised out;
  if (mask.cells() == 0) return out;
  const Planes planes = planes_of(mask, options.max_cells);
  std::vector<Chain> chains;
  Index irregular = 0;
  for (const PlanePtr& plane : planes.distinct) {
    PlaneChain found = recognise_plane(plane, options);
    irregular += found.irregular;
    chains.push_back(std::move(found.chain));
  }
  out.irregular = irregular == static_cast<Index>(planes.distinct.size());
  out.chain = scoped(chains, planes.of, mask.batch(), mask.heads());
  compare(mask, out);
  return out;
}

}  // namespace maskctl
