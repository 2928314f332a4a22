// Two planes that differ, told by the chains that give them.
#include <fmt/format.h>

#include <algorithm>

#include "maskctl/base/error.h"
#include "maskctl/inspect/diff_change.h"
#include "maskctl/inspect/diff_edits.h"
#include "maskctl/inspect/recognise.h"
#include "maskctl/mask/bands.h"

namespace maskctl {
namespace {

/// Edits apply a chain many times: only where that is cheap.
constexpr Index kEditCells = Index{1} << 24;

std::optional<Chain> chain_of(const PlanePtr& plane) {
  Recognised found = recognise(Mask(plane));
  if (found.irregular || found.unexplained != 0) return std::nullopt;
  return std::move(found.chain);
}

/// A step, or all causal and window steps of a group as one.
struct Part {
  std::optional<Limits> limits;
  const Step* step = nullptr;
  std::size_t number = 0;  // of the rule
  Index group = 0;         // steps that only close cells may stand in any order within one
};

bool only_closes(const Step& step) {
  return limits_of(step, 0) || std::holds_alternative<step::Chunk>(step.rule) ||
         std::holds_alternative<step::Document>(step.rule) ||
         std::holds_alternative<step::DocumentLengths>(step.rule) ||
         std::holds_alternative<step::Pad>(step.rule) ||
         std::holds_alternative<step::Dilated>(step.rule) ||
         std::holds_alternative<step::Block>(step.rule);
}

/// What both keep. The words of a causal rule win: it is the plainer one.
Limits joined(const Limits& a, const Limits& b) {
  const Limits& causal = a.causal ? a : b;
  const Limits& other = a.causal ? b : a;
  Limits out = other;
  if (!out.low || (causal.low && *causal.low > *out.low)) out.low = causal.low;
  if (causal.high && (!out.high || *causal.high <= *out.high)) {
    out.high = causal.high;
    out.causal = causal.causal;
    out.offset = causal.offset;
  }
  return out;
}

std::vector<Part> parts_of(const Chain& chain, Index shift) {
  std::vector<Part> out;
  Index group = 0;
  for (const Step& step : chain) {
    if (!only_closes(step)) group += 2;
    Part part{limits_of(step, shift), &step, rule_number(step), group};
    if (!only_closes(step)) group += 2;
    const auto same = std::find_if(out.begin(), out.end(), [&](const Part& other) {
      return part.limits && other.limits && other.group == part.group;
    });
    if (same != out.end()) {
      same->limits = joined(*same->limits, *part.limits);
    } else {
      out.push_back(part);
    }
  }
  std::stable_sort(out.begin(), out.end(), [](const Part& a, const Part& b) {
    return std::pair(a.group, a.number) < std::pair(b.group, b.number);
  });
  return out;
}

void add(Reason& sum, const Reason& part) {
  if (part.changes == 0) return;
  if (sum.changes > 0) sum.words += " and ";
  sum.kind = sum.changes == 0 || sum.kind == part.kind ? part.kind : "parameter";
  sum.words += part.words;
  sum.changes += part.changes;
}

/// Parts of equal rules, one by one. Nothing when the rules differ.
MaybeReason compared(const std::vector<Part>& a, const std::vector<Part>& b,
                     const PlanePair& pair) {
  if (a.size() != b.size()) return std::nullopt;
  Reason sum{"parameter", "", 0};
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].number != b[i].number) return std::nullopt;
    if (a[i].limits && b[i].limits) {
      const auto change = limits_change(*a[i].limits, *b[i].limits, pair.shift());
      if (change) add(sum, *change);
    } else {
      add(sum, step_change(*a[i].step, *b[i].step, pair.queries(), pair.keys()));
    }
  }
  return sum;
}

/// `longer` has one part more than `shorter`.
MaybeReason one_more(const std::vector<Part>& longer, const std::vector<Part>& shorter,
                     const PlanePair& pair, bool in_a) {
  MaybeReason best;
  for (std::size_t i = 0; i < longer.size(); ++i) {
    std::vector<Part> rest = longer;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    auto found = in_a ? compared(rest, shorter, pair) : compared(shorter, rest, pair);
    if (!found || (best && best->changes <= found->changes)) continue;
    const std::string name = step_words(*longer[i].step, pair.shift());
    Reason step{"step", fmt::format("{} {}", name, in_a ? "missing" : "added"),
                step_changes(*longer[i].step)};
    add(step, *found);
    best = step;
  }
  if (best) ++best->changes;  // a step is more than a number
  return best;
}

MaybeReason by_comparison(const Chain& a, const Chain& b, const PlanePair& pair) {
  const auto parts_a = parts_of(a, pair.shift()), parts_b = parts_of(b, pair.shift());
  auto found = compared(parts_a, parts_b, pair);
  if (parts_a.size() == parts_b.size() + 1) found = one_more(parts_a, parts_b, pair, true);
  if (parts_b.size() == parts_a.size() + 1) found = one_more(parts_b, parts_a, pair, false);
  if (found && found->changes == 0) return std::nullopt;  // chains of equal words that differ
  return found;
}

bool cheap(const PlanePair& pair) {
  const bool bands = slabs_of(*pair.a) && !pair.b->knows_sizes();
  return bands || pair.queries() * pair.keys() <= kEditCells;
}

}  // namespace

MaybeReason chains_reason(const PlanePair& pair) {
  const auto a = chain_of(pair.a);
  const auto b = chain_of(pair.b);
  MaybeReason best;
  if (a && b) best = by_comparison(*a, *b, pair);
  if ((best && best->changes == 1) || !cheap(pair)) return best;
  if (a) {
    if (auto found = edited_to(*a, pair, false)) return found;
  }
  if (b) {
    if (auto found = edited_to(*b, swapped(pair), true)) return found;
  }
  return best;
}

}  // namespace maskctl
