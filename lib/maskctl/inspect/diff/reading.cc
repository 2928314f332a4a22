// A chain says of a step what it does at its place. A reader takes the words for what the step does
// by itself, so both are compared: what the chain makes with the step and without it, and what the
// step makes of the latter.
#include "maskctl/inspect/diff/reading.h"

#include <algorithm>
#include <span>

#include "maskctl/inspect/recognise/fit.h"
#include "maskctl/mask/steps/region.h"

namespace maskctl {
namespace {

using recognition::Extent;
using recognition::plane_of;

Chain without(Chain chain, std::size_t at) {
  chain.erase(chain.begin() + static_cast<std::ptrdiff_t>(at));
  return chain;
}
bool equal(const PlanePtr& x, const PlanePtr& y) { return differing_cells(x, y) == 0; }

/// Whether a step that does nothing in the chain does something once the step `at` is gone.
bool is_propped(const Chain& chain, std::size_t at, const PlanePtr& whole, const PlanePtr& rest,
                const Extent& extent) {
  for (std::size_t i = 0; i < chain.size(); ++i) {
    if (i == at || !equal(plane_of(without(chain, i), extent), whole)) continue;
    const Chain others = without(without(chain, std::max(i, at)), std::min(i, at));
    if (!equal(plane_of(others, extent), rest)) return true;
  }
  return false;
}

}  // namespace

Reading reading_of(const LoneStep& lone, const PlanePtr& a, const PlanePtr& b) {
  const Extent extent{a->queries(), a->keys()};
  const Step& step = lone.chain[lone.at];
  // Regions are read in their order: what later ones change is said of them.
  Chain chain(lone.chain.begin(), lone.chain.begin() + static_cast<std::ptrdiff_t>(lone.at) + 1);
  for (std::size_t i = lone.at + 1; i < lone.chain.size(); ++i) {
    if (!lone.chain[i].is<step::Region>()) chain.push_back(lone.chain[i]);
  }
  const PlanePtr whole = plane_of(chain, extent), rest = plane_of(without(chain, lone.at), extent);
  if (!whole || !rest) return {};
  const PlanePtr done = combine(Op::kXor, whole, rest);
  const Index cells = done->count();
  const Index shown = combine(Op::kAnd, done, combine(Op::kXor, a, b))->count();
  const bool region = step.is<step::Region>();
  const bool most = 2 * shown >= cells || (region && !lone.missing);  // later regions may undo one
  if (cells == 0 || !most) return {};
  if (lone.missing && is_propped(chain, lone.at, whole, rest, extent)) return {};
  const PlanePtr on_top = plane_of(Mask(rest), std::span(&step, 1));
  if (!on_top) return {};
  if (equal(on_top, whole)) return {true};
  if (region || 2 * cells < differing_cells(on_top, rest)) return {};
  Chain moved = without(chain, lone.at);
  for (std::size_t i = lone.at + 1; i < chain.size(); ++i) {
    moved.insert(moved.begin() + static_cast<std::ptrdiff_t>(i), step);
    if (!equal(plane_of(moved, extent), whole)) return {true, chain[i]};
    moved = without(std::move(moved), i);
  }
  return {};
}

bool idle_in_one(const Chain& a, const Chain& b, Index queries, Index keys) {
  const Extent extent{queries, keys};
  const PlanePtr of_a = plane_of(a, extent), of_b = plane_of(b, extent);
  const auto idle = [&](const Chain& chain, const Step& step, const PlanePtr& whole) {
    const auto at = std::ranges::find(chain, step) - chain.begin();
    const PlanePtr rest = plane_of(without(chain, static_cast<std::size_t>(at)), extent);
    return rest && equal(rest, whole);
  };
  return std::ranges::any_of(a, [&](const Step& step) {
    return std::ranges::find(b, step) != b.end() && idle(a, step, of_a) != idle(b, step, of_b);
  });
}

}  // namespace maskctl
