#include "maskctl/translate/read/mask_part.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "maskctl/mask/steps/first_keys.h"
#include "maskctl/mask/steps/not.h"
#include "maskctl/mask/steps/rule.h"

namespace maskctl {
namespace {

bool is_not(const Step& step) { return step.is<step::Not>(); }

/// Returns the part that keeps what all parts keep. Nothing if two or more parts do other things
/// than close cells: the steps of such a part must come first in a chain.
std::optional<MaskPart> kept_by_all(std::vector<MaskPart> parts) {
  if (std::ranges::any_of(parts, &MaskPart::is_none)) return no_cells();
  std::erase_if(parts, [](const MaskPart& part) { return part.is_all(); });
  if (parts.size() == 1) return parts.front();
  std::ranges::stable_partition(parts, [](const MaskPart& part) { return !part.plain(); });
  MaskPart out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0 && !parts[i].plain()) return std::nullopt;
    out.whole = out.whole || !parts[i].plain();
    append(out.chain, standing(std::move(parts[i])));
  }
  return out;
}

/// Returns the part that keeps what any part keeps. Nothing if two or more parts do other things
/// than open cells: the steps of such a part must come first in a chain.
std::optional<MaskPart> kept_by_any(std::vector<MaskPart> parts) {
  if (std::ranges::any_of(parts, &MaskPart::is_all)) return all_cells();
  std::erase_if(parts, [](const MaskPart& part) { return part.is_none(); });
  if (parts.empty()) return no_cells();
  std::ranges::stable_partition(parts, [](const MaskPart& part) { return !part.adds; });
  MaskPart out = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (!parts[i].adds) return std::nullopt;
    out.whole = out.whole || !out.adds;
    append(out.chain, parts[i].chain);
  }
  return out;
}

/// One member of every condition, named by `side`: `yes`, the part of the mask that the condition
/// keeps, or `no`, the part that its negation keeps. Absent if any condition lacks that member.
std::optional<std::vector<MaskPart>> side_of(const std::vector<Condition>& conditions,
                                             std::optional<MaskPart> Condition::*side) {
  std::vector<MaskPart> out;
  for (const Condition& one : conditions) {
    if (!(one.*side)) return std::nullopt;
    out.push_back(*(one.*side));
  }
  return out;
}

}  // namespace

bool MaskPart::plain() const {
  return !adds && !whole && std::ranges::all_of(chain, [](const Step& step) {
    return step.row().meets(step) == Meets::kKeeps || step.row().meets(step) == Meets::kCloses;
  });
}

bool MaskPart::is_none() const {
  return (chain.empty() && adds) || (chain.size() == 1 && is_not(chain.front()));
}

MaskPart all_cells() { return {}; }
MaskPart no_cells() { return {{{step::Not{}}}, false, true}; }

void append(Chain& to, const Chain& from) { std::ranges::copy(from, std::back_inserter(to)); }

Chain standing(MaskPart part) {
  if (!part.adds) return std::move(part.chain);
  Chain out = {{step::Not{}}};
  append(out, part.chain);
  return out;
}

MaskPart inverted(MaskPart part) {
  MaskPart out{standing(std::move(part)), false, true};
  if (out.chain.empty() || !is_not(out.chain.back())) {
    out.chain.push_back({step::Not{}});
    return out;
  }
  out.chain.pop_back();
  out.whole = false;
  return out;
}

Condition condition(MaskPart yes) {
  MaskPart no = inverted(yes);
  return {std::move(yes), std::move(no)};
}
Condition condition(MaskPart yes, MaskPart no) { return {std::move(yes), std::move(no)}; }
Condition negated(Condition one) { return {std::move(one.no), std::move(one.yes)}; }

Condition all_of(const std::vector<Condition>& parts) {
  Condition out;
  if (auto yes = side_of(parts, &Condition::yes)) out.yes = kept_by_all(std::move(*yes));
  if (auto no = side_of(parts, &Condition::no)) out.no = kept_by_any(std::move(*no));
  if (!out.yes && out.no) out.yes = inverted(*out.no);
  if (!out.no && out.yes) out.no = inverted(*out.yes);
  return out;
}

Condition any_of(const std::vector<Condition>& parts) {
  std::vector<Condition> closed;
  closed.reserve(parts.size());
  for (const Condition& one : parts) closed.push_back(negated(one));
  return negated(all_of(closed));
}

Chain chain_of_members(const std::vector<Chain>& members, step::Scoped::Axis axis) {
  std::vector<Chain> chains;
  std::vector<Index> ends;
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i > 0 && members[i] == members[i - 1]) continue;
    if (i > 0) ends.push_back(static_cast<Index>(i));
    chains.push_back(members[i]);
  }
  return chain_of_ranges(chains, ends, axis);
}

Chain chain_of_ranges(const std::vector<Chain>& chains, const std::vector<Index>& ends,
                      step::Scoped::Axis axis) {
  const Chain& others = chains.back();
  Chain out = others;
  Index begin = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    step::Scoped rule{axis, {{begin, ends[i]}}, chains[i]};
    begin = ends[i];
    if (rule.chain == others) continue;
    // First open all cells, since the steps for the other members have closed some.
    if (!others.empty()) rule.chain.insert(rule.chain.begin(), {step::Prefix{Index{1} << 30}});
    out.push_back({std::move(rule)});
  }
  return out;
}

}  // namespace maskctl
