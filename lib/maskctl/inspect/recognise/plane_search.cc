#include "maskctl/inspect/recognise/plane_search.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/clipped.h"
#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/inspect/recognise/grids.h"
#include "maskctl/inspect/recognise/lone_cells.h"
#include "maskctl/inspect/recognise/names.h"
#include "maskctl/inspect/recognise/own_rules.h"
#include "maskctl/inspect/recognise/packed.h"
#include "maskctl/inspect/recognise/positions.h"
#include "maskctl/inspect/recognise/prefixes.h"
#include "maskctl/inspect/recognise/ragged.h"
#include "maskctl/inspect/recognise/regions.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/inspect/recognise/steps.h"
#include "maskctl/mask/steps/dilated.h"
#include "maskctl/mask/steps/global.h"
#include "maskctl/mask/steps/grid.h"
#include "maskctl/mask/steps/guess.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/region.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/tokens.h"

namespace maskctl::recognition {
namespace {

// Planes of at most this many bands are searched as bands alone.
constexpr Index kFewBands = 64;

}  // namespace

bool is_of_few_bands(const Plane& plane) {
  const auto* slabs = slabs_of(plane);
  if (!slabs) return false;
  Index lines = 0;
  for (const Slab& slab : *slabs) lines += std::ssize(slab.bands);
  return lines <= kFewBands;
}

namespace {

/// Writes each list of moves, which all give the plane exactly, as a chain of steps with names, and
/// returns the chain with the shortest description.
Chain cheapest(const PlanePtr& plane, const std::vector<Moves>& found) {
  const Description description({plane->queries(), plane->keys()});
  Chain best;
  Index best_cost = -1;
  for (const Moves& moves : found) {
    Chain chain = named(plane, moves, 0);
    const Index its_cost = description.of(chain);
    if (best_cost >= 0 && its_cost >= best_cost) continue;
    best = std::move(chain);
    best_cost = its_cost;
  }
  return best;
}

/// Replaces a chain with token types by one without arrays, such as sinks plus a window, if that
/// has at most one step more and a shorter description: types may fit by chance.
Chain plainer(const PlanePtr& plane, Chain chain, Index max_steps) {
  const bool guessed = std::any_of(chain.begin(), chain.end(),
                                   [](const Step& step) { return step.is<step::Tokens>(); });
  const auto steps = static_cast<Index>(chain.size());
  if (!guessed || steps >= max_steps) return chain;
  const Explained plain = explain(plane, steps + 1, true);
  if (plain.exact.empty()) return chain;
  Chain other = cheapest(plane, plain.exact);
  const Description description({plane->queries(), plane->keys()});
  return has_arrays(other) || description.of(other) >= description.of(chain) ? chain : other;
}

}  // namespace

void add_found(const PlanePtr& plane, const Explained& found, Index max_steps, Candidates& out) {
  const bool large = plane->queries() * plane->keys() > kSearchedCells;
  if (!found.exact.empty()) {
    Chain exact = plainer(plane, cheapest(plane, found.exact), max_steps);
    // Two of many steps may have been fitted to a lone cell.
    for (const Nearest& near : found.nearest) {
      const bool fewer = near.left == 1 && near.moves.size() + 2 <= exact.size();
      if (fewer && !large) out.add(named(plane, near.moves, near.left));
    }
    out.add(std::move(exact));
    return;
  }
  // Naming steps is costly for large masks, so only the very nearest chain is named there.
  for (const Nearest& near : std::span(found.nearest).last(large ? 1 : found.nearest.size())) {
    Chain chain = named(plane, near.moves, near.left);
    if (!large && !has_arrays(chain)) out.add_with_regions(chain, kLoneCells);
    out.add(std::move(chain));
  }
}

std::optional<Chain> recognise_clipped(const PlanePtr& plane, const RecogniseOptions& options) {
  const Index cells = plane->queries() * plane->keys();
  if (slabs_of(*plane) || cells <= kSearchedCells) return std::nullopt;
  const auto split = split_clipped(*plane, cells > options.max_cells);
  if (!split) return std::nullopt;
  Chain chain{split->shared};
  const Explained found = explain(split->lines, options.max_steps - 1);
  const Chain lines = found.exact.empty() ? named(split->lines, found.nearest.back().moves,
                                                  found.nearest.back().left)
                                          : cheapest(split->lines, found.exact);
  chain.insert(chain.end(), lines.begin(), lines.end());
  return chain;
}

namespace {

/// True if two rows share two open keys, as rows do that token types or blocks open, and rows with
/// stray cells do not. Also true if there are many cells.
bool has_products(const Plane& cells) {
  constexpr Index kFewCells = 64;
  if (cells.count() > kFewCells) return true;
  std::map<Index, std::vector<Index>> rows;
  each_run(cells, {0, cells.queries()}, [&](Range at, const Band& band) {
    for (Index q = at.begin; q < at.end; ++q) {
      for (Index k = band.begin; k < band.end; ++k) rows[q].push_back(k);
    }
  });
  for (auto i = rows.begin(); i != rows.end(); ++i) {
    for (auto j = std::next(i); j != rows.end(); ++j) {
      std::vector<Index> both;
      std::ranges::set_intersection(i->second, j->second, std::back_inserter(both));
      if (both.size() > 1) return true;
    }
  }
  return false;
}

/// Returns the largest stride that divides key - query for about as many isolated open keys as the
/// best stride does, and for more than half of them; 1 if there is none.
Index likely_stride(const Plane& plane) {
  constexpr Index kMostStride = 64, kRows = 128;
  std::vector<Index> agree(kMostStride + 1);
  Index open = 0;
  const Index step = std::max<Index>(1, plane.queries() / kRows);
  for (Index q = 0; q < plane.queries(); q += step) {
    each_run(plane, {q, q + 1}, [&](Range, const Band& band) {
      if (band.end_at(q) - band.begin_at(q) > 1) return;
      ++open;
      for (Index stride = 2; stride <= kMostStride; ++stride) {
        agree[as_size(stride)] += (band.begin_at(q) - q) % stride == 0;
      }
    });
  }
  Index best = 1;
  for (Index stride = 2; stride <= kMostStride; ++stride) {
    const Index its = agree[as_size(stride)], others = agree[as_size(best)];
    if (its * 2 > open && (best == 1 || its * 10 >= others * 9)) best = stride;
  }
  return best;
}

/// Short chains to fit to the plane if the chain found has arrays or many stray cells: the empty
/// chain, a dilation, and the chain found without its arrays.
std::vector<Chain> skeletons(const Plane& plane, const Chain& found) {
  std::vector<Chain> out{{}};
  if (const Index stride = likely_stride(plane); stride > 1)
    out.push_back({{step::Dilated{stride}}});
  Chain plain;
  for (const Step& step : found) {
    if (!has_arrays({step})) plain.push_back(step);
  }
  if (!plain.empty() && plain.size() < found.size()) out.push_back(std::move(plain));
  return out;
}

/// The chain that a rule guesses from the rows of a plane, if it gives the plane.
Chain guessed_exactly(const PlanePtr& plane) {
  Candidates out(plane);
  if (plane->queries() * plane->keys() > kSearchedCells || !add_guesses(plane, out)) return {};
  return out.exact() ? out.chain() : Chain{};
}

/// Searches the inverted plane if no exact chain is known, or if the plane opens all future keys
/// but no query's own key.
void search_inverse(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  const Index queries = plane->queries(), keys = plane->keys(), shift = keys - queries;
  const bool future = std::max<Index>(shift, 0) + 1 < keys &&
                      count_on_diagonals(plane, shift + 1, keys) ==
                          diagonal_band(queries, keys, shift + 1, keys)->count();
  if (out.exact() && !(future && count_on_diagonals(plane, shift, shift) == 0)) return;
  const PlanePtr inverse = compacted(complement(plane), options.max_cells);
  const Explained inverted = explain(inverse, options.max_steps - 1, true);
  Chain chain =
      inverted.exact.empty() ? guessed_exactly(inverse) : cheapest(inverse, inverted.exact);
  if (chain.empty() || has_arrays(chain) || has_long_lists(chain)) return;
  chain.push_back({step::Not{}});
  out.add(std::move(chain));
}

/// Whether rows of a plane of many bands see keys with gaps: those of documents see none, and what
/// rules guess is quicker to try than a search.
bool has_gaps(const Plane& plane) {
  if (is_of_few_bands(plane)) return false;
  const Index queries = plane.queries();
  return std::ranges::all_of(std::array{queries / 4, queries / 3}, [&plane](Index q) {
    Index runs = 0;
    plane.row_sizes({q, q + 1}, [&](Range, const Plane::RowSize& size) { runs = size.runs; });
    return runs > 1;
  });
}

}  // namespace

bool add_guesses(const PlanePtr& plane, Candidates& out) {
  constexpr Index kComparedCells = Index{1} << 20;
  bool exact = false;
  const Extent extent{plane->queries(), plane->keys()};
  const SampledRows rows(plane);
  for (const StepInfo& info : step_infos()) {
    const RuleInfo& rule = info.make().row();
    if (!rule.guesses || rule.names.front().name != info.name) continue;
    for (const Chain& chain : rule.guesses(rows)) {
      const PlanePtr given = plane_of(chain, extent);
      if (!given) continue;
      const bool agree = rows.agree_with(*given);
      if (agree || extent.queries * extent.keys <= kComparedCells) out.add(chain);
      if (!agree) continue;
      exact = exact || out.exact();
      if (!out.exact()) out.add_with_regions(chain, kLoneCells);
    }
  }
  return exact;
}

bool add_positions(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  const auto whole = [&](const PlanePtr& tokens) {
    const Explained found = explain(compacted(tokens, options.max_cells), options.max_steps, true);
    return found.exact.empty() ? Chain{} : cheapest(tokens, found.exact);
  };
  const std::vector<Chain> chains = chains_at_positions(plane, whole);
  for (const Chain& chain : chains) out.add(chain);
  return !chains.empty() && out.exact();
}

namespace {

/// An exact chain without arrays for the cells of one axis, where exceptions are rows, columns and
/// rectangles; an empty one if there is none. Single cells may be faults.
Chain chain_of_axis(const PlanePtr& cells, RecogniseOptions options) {
  options.guess = false;
  Chain chain = recognise(Mask(cells), options).chain;
  if (has_arrays(chain)) return {};
  Candidates found(cells);
  found.add(chain);
  if (!found.exact()) found.add_with_regions(std::move(chain));
  return found.exact() ? found.chain() : Chain{};
}

std::vector<Chain> grid_chains(const PlanePtr& plane, const RecogniseOptions& options) {
  return chains_in_grids(plane, [&](const PlanePtr& axis) { return chain_of_axis(axis, options); });
}

/// Searches the plane without its lone cells, which differ from their neighbours.
void search_cleaned(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  const bool large = plane->queries() * plane->keys() > kSearchedCells;
  for (const PlanePtr& cleaned : without_lone_cells(plane)) {
    const Explained found = explain(cleaned, options.max_steps, true);
    add_found(cleaned, found, options.max_steps, out);
    if (!large && found.exact.empty()) {
      out.add(guessed_exactly(cleaned));
      for (Chain& chain : grid_chains(cleaned, options)) out.add(std::move(chain));
    }
    if (large && !found.exact.empty() && !has_arrays(out.chain())) break;
  }
}

/// Whether few steps make a large plane of bands but for a few cells. What else a plane may be
/// takes longer to find out.
bool add_plain(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  add_found(plane, explain(plane, options.max_steps, true), options.max_steps, out);
  // More steps may have been fitted to a lone cell.
  if (!out.is_plain() || out.chain().size() > 2) search_cleaned(plane, options, out);
  if (!out.is_plain()) return false;
  if (!out.exact()) out.add_with_regions(out.chain());
  if (out.exact()) search_inverse(plane, options, out);
  return true;
}

}  // namespace

bool add_grids(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  const std::vector<Chain> chains = grid_chains(plane, options);
  for (const Chain& chain : chains) out.add_certain(chain);
  return !chains.empty() && out.exact();
}

namespace {

/// Adds the few rectangles that the keys of another sequence, such as images, are open in. Returns
/// whether they give the plane.
bool add_rectangles(const PlanePtr& plane, Candidates& out) {
  if (plane->queries() == plane->keys()) return false;
  Chain chain = ranges_of_keys(*plane, kMostRegions);
  if (chain.empty()) {
    const Regions open = regions_between(empty_plane(plane->queries(), plane->keys()), plane);
    if (open.residue > 0 || open.chain.size() > kMostRegions) return false;
    chain = {step::Not{}};
    chain.insert(chain.end(), open.chain.begin(), open.chain.end());
  }
  out.add_certain(std::move(chain));
  return true;
}

}  // namespace

namespace {

bool has_regions(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) { return step.is<step::Region>(); });
}
/// Global tokens, which positions may say shorter.
bool has_global_tokens(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) { return step.is<step::Global>(); });
}
/// Documents that have other numbers of queries than of keys.
bool has_lengths_by_side(const Chain& chain) {
  return std::ranges::any_of(chain, [](const Step& step) {
    const auto documents = documents_in(step);
    return documents && !documents->q_ids &&
           !std::ranges::equal(documents->q_lengths, documents->k_lengths);
  });
}

}  // namespace

void search_plain(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  const bool large = plane->queries() * plane->keys() > kSearchedCells;
  // A search of dilations would go through the cells that they close in a window.
  if (large && likely_stride(*plane) > 1 && (add_guesses(plane, out) || out.is_plain())) return;
  if (large && has_gaps(*plane) && (add_guesses(plane, out), out.is_nearly_short())) return;
  if (large && (add_plain(plane, options, out) || add_guesses(plane, out))) return;
  if (!large) add_found(plane, explain(plane, options.max_steps, true), options.max_steps, out);
  if (out.exact()) search_inverse(plane, options, out);
  const bool listed = has_arrays(out.chain()) || has_long_lists(out.chain());
  if (out.is_short() || (large && out.exact() && !listed)) return;
  if (!large) add_guesses(plane, out);
  const Extent extent{plane->queries(), plane->keys()};
  out.add_with_regions({{causal(extent, extent.keys - extent.queries)}}, kLoneCells);
  if (!out.is_plain_exact()) {
    for (Chain& prefix : prefix_chains(*plane)) out.add(std::move(prefix));
  }
  for (const Chain& packed : packed_chains(plane)) out.add_with_regions(packed);
  if (auto own = out.is_plain_exact() ? std::nullopt : chain_of_own_rules(plane)) {
    out.add(std::move(*own));
  }
  if (!out.is_plain_exact()) {
    for (const Chain& ragged : ragged_chains(plane)) out.add_with_regions(ragged, kLoneCells);
  }
  const bool odd = !out.exact() || has_arrays(out.chain()) || has_global_tokens(out.chain());
  if (odd && add_positions(plane, options, out) && large) return;
  const bool lengths = extent.square() && has_lengths_by_side(out.chain());
  if ((lengths || !out.is_plain_exact()) && add_grids(plane, options, out)) return;
  if (!out.is_plain_exact() && add_rectangles(plane, out)) return;
  if (out.is_plain()) {
    if (!large && (out.chain().size() > 2 || has_regions(out.chain()))) {
      search_cleaned(plane, options, out);
    }
    return;
  }
  if (!large) search_cleaned(plane, options, out);
  if (!out.exact()) out.fit(out.chain());
  const bool doubtful = has_arrays(out.chain()) || has_long_lists(out.chain()) || !out.exact();
  if (!large && doubtful) {
    for (const Chain& start : skeletons(*plane, out.chain())) out.fit(start);
  }
  if (!out.exact()) search_inverse(plane, options, out);
}

namespace {

/// Whether a short chain without arrays opens few more cells than the plane: what closes these was
/// no array of the other cells.
bool leaves_few_closed(const PlanePtr& plane, const Candidates& out) {
  constexpr Index kMostShare = 20;
  if (out.exact() || !out.is_nearly_short() || has_arrays(out.chain())) return false;
  const PlanePtr left = out.left();
  const Index open = plane->count(), few = std::min(open, plane->queries() * plane->keys() - open);
  return left->count() * kMostShare <= few && combine(Op::kAnd, left, plane)->count() == 0;
}

}  // namespace

void search_guessed(const PlanePtr& plane, const RecogniseOptions& options, Candidates& out) {
  const auto steps = static_cast<Index>(out.chain().size());
  // Places in a grid, and few ranges of keys, say the mask without arrays.
  const auto& chain = out.chain();
  const bool ranges = chain.size() > 1 && chain.front().is<step::Not>() &&
                      std::all_of(chain.begin() + 1, chain.end(),
                                  [](const Step& step) { return step.is<step::Region>(); });
  const bool in_grid =
      std::ranges::any_of(chain, [](const Step& step) { return step.is<step::Grid>(); });
  if ((in_grid || ranges) && out.exact()) return;
  if (leaves_few_closed(plane, out)) return;
  const bool may_be_shorter =
      out.exact() ? steps > (has_arrays(out.chain()) ? 1 : 2) : has_products(*out.left());
  if (!may_be_shorter) return;
  const Index longest = out.exact() ? steps - 1 : options.max_steps;
  add_found(plane, explain(plane, longest), options.max_steps, out);
  if (!out.exact()) out.fit(out.chain());
}

}  // namespace maskctl::recognition
