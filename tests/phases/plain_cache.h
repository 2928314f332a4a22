// A cache in plain loops: the slow twin of what judge_phases() reads.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/phases/cache.h"

namespace maskctl::test {

/// A dense mask: cells[q][k].
using Cells = std::vector<std::vector<bool>>;

/// Slot -> token, of what a step reads. Each token is looked at by itself.
inline std::map<Index, Index> plain_slots(const Cache& cache, const PhaseStep& step) {
  using Order = Cache::Order;
  const Index end = step.cached + step.queries;
  const bool kept = cache.reads == Cache::Reads::kKept;
  Index seen = kept ? step.cached : end;
  const Index seen_now = seen;
  if (cache.rollback == Cache::Rollback::kLoses && step.cached + step.taken_back > seen) {
    seen = step.cached + step.taken_back;
  }
  std::vector<Index> tokens;
  for (Index token = 0; token < end; ++token) {
    const bool sink = token < cache.sinks && token < seen_now;
    const bool own = kept && token >= step.cached;
    // A page is dropped once all of it is behind the last tokens.
    Index behind = seen - cache.last;
    if (behind < 0) behind = 0;
    const bool dropped = token / cache.page < behind / cache.page;
    if (sink || own || !dropped) tokens.push_back(token);
  }
  // What a cache has dropped as a sink is dropped, even where it is a token of the step.
  std::map<Index, Index> out;
  const Index ring = cache.last + (kept ? 1 : 0);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const Index token = tokens[i];
    const bool turns = cache.order == Order::kRing && !(kept && step.queries > 1);
    if (cache.order == Order::kPosition) {
      out[token] = token;
    } else if (turns && token >= std::min(cache.sinks, seen_now)) {
      const Index sinks = std::min(cache.sinks, seen_now);
      out[sinks + (token - sinks) % ring] = token;
    } else {
      out[static_cast<Index>(i)] = token;
    }
  }
  return out;
}

/// The keys that query i of a step sees, and -1 for an open slot without a token.
inline std::set<Index> plain_row(const Cache& cache, const Cells& declared, const PhaseStep& step,
                                 Index i) {
  using Rule = SlotMask::Rule;
  using Of = SlotMask::Of;
  const SlotMask& mask = step.queries == 1 ? cache.one : cache.several;
  const std::map<Index, Index> slots = plain_slots(cache, step);
  Index all = cache.slots;
  for (const auto& [slot, token] : slots) all = std::max(all, slot + 1);
  std::set<Index> out;
  for (Index slot = 0; slot < all; ++slot) {
    const bool holds = slots.contains(slot);
    if (!holds) {
      if (mask.rule == Rule::kOpen) out.insert(-1);
      continue;
    }
    const Index token = slots.at(slot);
    const Index key = mask.of == Of::kPositions ? token : slot;
    Index query = step.cached + i;
    if (mask.of == Of::kSlots) query = static_cast<Index>(slots.size()) - step.queries + i;
    if (mask.of == Of::kFirstSlots) query = i;
    bool open = true;
    if (mask.rule == Rule::kDeclared) {
      open = query >= 0 && key < std::ssize(declared) && declared[as_size(query)][as_size(key)];
    } else if (mask.rule == Rule::kWindow) {
      open = key <= query && query - key < mask.window;
    } else if (mask.rule == Rule::kCausal) {
      open = key <= query;
    }
    if (open) out.insert(token);
  }
  return out;
}

inline std::set<Index> plain_keys(const Cells& declared, Index q) {
  std::set<Index> out;
  for (Index k = 0; k < std::ssize(declared); ++k) {
    if (declared[as_size(q)][as_size(k)]) out.insert(k);
  }
  return out;
}

}  // namespace maskctl::test
