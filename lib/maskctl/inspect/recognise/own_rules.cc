#include "maskctl/inspect/recognise/own_rules.h"

#include <algorithm>

#include "maskctl/base/ranges.h"
#include "maskctl/inspect/recognise/cells.h"
#include "maskctl/inspect/recognise/classes.h"
#include "maskctl/inspect/recognise/sharing.h"
#include "maskctl/mask/planes/bands.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/rule.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/within.h"

namespace maskctl::recognition {

std::optional<OwnRule> rule_of(const PlanePtr& plane) {
  const Index length = plane->queries(), half = length * (length + 1) / 2;
  if (count_on_diagonals(plane, -kUnbounded, 0) != half) return std::nullopt;
  const PlanePtr later = combine(Op::kAnd, plane, diagonal_band(length, length, 1, kUnbounded));
  const Index cells = later->count();
  if (cells == 0) return OwnRule{length, 1};
  const Index prefix = hull_of(*later).k.end;
  if (2 * cells != prefix * (prefix - 1)) return std::nullopt;
  // As many cells as a triangle has, all of them in it.
  return later->count({0, prefix}, {0, prefix}) == cells ? std::optional(OwnRule{length, prefix})
                                                         : std::nullopt;
}

std::vector<OwnRule> documents_with_rules(const PlanePtr& plane) {
  constexpr Index kLeastOnAverage = 4;
  if (plane->queries() != plane->keys()) return {};
  if (plane->queries() * plane->keys() > kSearchedCells) return {};
  const Classes classes = connected(*plane, true);
  std::vector<OwnRule> out;
  Index end = 0;
  for (const ClassRun& run : classes.q) {
    // Each class is one document; padding is behind them.
    if (run.at.begin != end || run.id != static_cast<std::int32_t>(out.size())) return {};
    end = run.at.end;
    const auto rule = rule_of(plane->sliced(run.at, run.at));
    if (!rule) return {};
    out.push_back(*rule);
  }
  if (std::ssize(out) < 2 || end < kLeastOnAverage * std::ssize(out)) return {};
  const auto all = [&out](const auto& holds) { return std::ranges::all_of(out, holds); };
  if (all([](const OwnRule& one) { return one.prefix == 1; })) return {};
  if (all([](const OwnRule& one) { return one.prefix == one.length; })) return {};
  const Index least = std::ranges::max(out, {}, &OwnRule::prefix).prefix;
  if (all([&](const OwnRule& one) { return one.prefix == std::min(least, one.length); })) return {};
  return out;
}

std::optional<Chain> chain_of_own_rules(const PlanePtr& plane) {
  const std::vector<OwnRule> rules = documents_with_rules(plane);
  if (rules.empty()) return std::nullopt;
  step::Within out;
  std::vector<Index> prefixes;
  std::vector<Range> causal;
  bool prefixed = false;
  for (const OwnRule& rule : rules) {
    const Index at = std::ssize(out.lengths);
    if (rule.is_causal()) append_range(causal, {at, at + 1});
    prefixes.push_back(rule.is_causal() ? 0 : rule.prefix);
    prefixed = prefixed || !(rule.is_causal() || rule.is_full());
    out.lengths.push_back(rule.length);
  }
  if (prefixed) {
    out.chain = {step::Causal{}, step::Prefix{0, fields::numbers(prefixes)}};
  } else {
    out.chain = {step::Scoped{step::Scoped::Axis::kBatch, causal, {step::Causal{}}}};
  }
  return Chain{std::move(out)};
}

}  // namespace maskctl::recognition
