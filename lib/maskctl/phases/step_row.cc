#include "maskctl/phases/step_row.h"

#include <algorithm>

namespace maskctl {
namespace {

using Rule = SlotMask::Rule;
using Of = SlotMask::Of;

/// The number of a query in the numbers that its rule is computed from.
Index number_of_query(const SlotMask& mask, const PhaseStep& step, const SlotView& view, Index i) {
  switch (mask.of) {
    case Of::kPositions:
    case Of::kMixed:
      return step.cached + i;
    case Of::kSlots:
      return view.used - step.queries + i;
    case Of::kFirstSlots:
      return i;
  }
  return 0;
}

/// Calls f for the part of a slot run whose numbers, tokens or slots, are in [begin, end).
template <typename F>
void cut(const SlotRun& run, bool by_tokens, Index begin, Index end, const F& f) {
  const Index from = by_tokens ? run.token : run.slot;
  const Index low = std::max(begin - from, Index{0}), high = std::min(end - from, run.count);
  if (low < high) f(run.token + low, run.token + high);
}

Index first_empty(const SlotView& view) {
  for (Index slot = 0; slot < view.slots;) {
    const SlotRun* held = nullptr;
    for (int i = 0; i < view.count; ++i) {
      const SlotRun& run = view.runs[i];
      if (slot >= run.slot && slot < run.slot + run.count) held = &run;
    }
    if (held == nullptr) return slot;
    slot = held->slot + held->count;
  }
  return -1;
}

}  // namespace

void read_step_row(const Cache& cache, const MaskRows& declared, const PhaseStep& step,
                   const SlotView& view, Index i, StepRow& row) {
  row.tokens.clear();
  row.empty_slot = -1;
  const SlotMask& mask = cache.mask(step.queries);
  const bool by_tokens = mask.of == Of::kPositions;
  const Index at = number_of_query(mask, step, view, i);
  const auto add = [&](Index begin, Index end) { append_run(begin, end, row.tokens); };
  for (int n = 0; n < view.count; ++n) {
    const SlotRun& run = view.runs[n];
    switch (mask.rule) {
      case Rule::kDeclared:
        if (at < 0) break;
        for (const Run& open : declared.row(at)) cut(run, by_tokens, open.begin, open.end, add);
        break;
      case Rule::kWindow:
        cut(run, by_tokens, at - mask.window + 1, at + 1, add);
        break;
      case Rule::kCausal:
        cut(run, by_tokens, 0, at + 1, add);
        break;
      case Rule::kOpen:
        add(run.token, run.token + run.count);
        break;
    }
  }
  if (mask.rule == Rule::kOpen) row.empty_slot = first_empty(view);
}

Index slot_of(const SlotView& view, Index token) {
  for (int i = 0; i < view.count; ++i) {
    const SlotRun& run = view.runs[i];
    if (token >= run.token && token < run.token + run.count) return run.slot + token - run.token;
  }
  return -1;
}

}  // namespace maskctl
