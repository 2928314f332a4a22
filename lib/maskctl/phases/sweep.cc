#include "maskctl/phases/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "maskctl/base/grouped.h"
#include "maskctl/base/text.h"
#include "maskctl/base/threads.h"

namespace maskctl {
namespace {

using Kind = PhaseFault::Kind;

constexpr Index kBlock = Index{1} << 14;  // rows that a task compares

/// Calls compare(q, result) for all queries, in blocks on all cores, and joins their results.
template <typename Compare>
void in_blocks(Range queries, PhaseResult& result, const Compare& compare) {
  const Index blocks = ceil_div(queries.size(), kBlock);
  std::vector<PhaseResult> parts(as_size(std::max<Index>(blocks, 0)));
  parallel_for(blocks, [&](Index block) {
    const Index begin = queries.begin + block * kBlock;
    StepRow row;
    for (Index q = begin; q < std::min(begin + kBlock, queries.end); ++q) {
      compare(q, row, parts[as_size(block)]);
    }
  });
  for (PhaseResult& part : parts) join(result, std::move(part));
}

auto order(const PhaseFault& fault) {
  return std::tuple(fault.query, fault.step.cached, fault.row, fault.key);
}

void add_fault(PhaseFault fault, PhaseResult& result) {
  if (!result.first || order(fault) < order(*result.first)) result.first = std::move(fault);
}

/// What differs at a key of a row, where `open` says whether the mask opens it.
PhaseFault fault_at(const SlotView& view, const PhaseStep& step, Index row, Index query, Index key,
                    Index token, bool open) {
  PhaseFault out;
  out.step = step;
  out.row = row;
  out.query = query;
  out.key = key;
  out.slot = slot_of(view, token);
  out.kind = !open ? Kind::kExtra : out.slot < 0 ? Kind::kDropped : Kind::kClosed;
  return out;
}

}  // namespace

void join(PhaseResult& whole, PhaseResult part) {
  whole.rows += part.rows;
  whole.wrong += part.wrong;
  if (part.first) add_fault(*std::move(part.first), whole);
}

void sweep(const Cache& cache, const MaskRows& declared, Range queries,
           const std::function<PlacedQuery(Index q)>& place, Index batch, Index head,
           PhaseResult& result) {
  in_blocks(queries, result, [&](Index q, StepRow& row, PhaseResult& out) {
    const PlacedQuery at = place(q);
    const SlotView view = view_of(cache, at.step);
    read_step_row(cache, declared, at.step, view, at.row, row);
    ++out.rows;
    const Index key = first_difference(declared.row(q), row.tokens);
    if (key < 0 && row.empty_slot < 0) return;
    ++out.wrong;
    PhaseFault fault;
    if (key >= 0) {
      fault = fault_at(view, at.step, at.row, q, key, key, declared.open(q, key));
    } else {
      fault = {.kind = Kind::kEmpty,
               .step = at.step,
               .row = at.row,
               .query = q,
               .slot = row.empty_slot,
               .why = {}};
    }
    fault.batch = batch;
    fault.head = head;
    add_fault(std::move(fault), out);
  });
}

void sweep_tree(const Cache& cache, const MaskRows& declared, Index tokens,
                const std::vector<Index>& parents, Index batch, Index head, PhaseResult& result) {
  const Index drafts = std::ssize(parents);
  std::vector<Index> depth(parents.size());
  std::vector<std::vector<Index>> path(parents.size());  // ancestors and itself, from the root on
  for (std::size_t i = 0; i < parents.size(); ++i) {
    if (parents[i] >= 0) {
      depth[i] = depth[as_size(parents[i])] + 1;
      path[i] = path[as_size(parents[i])];
    }
    path[i].push_back(static_cast<Index>(i));
  }
  const SlotMask& mask = cache.mask(drafts);
  const bool by_depth =
      cache.drafts == Cache::Drafts::kDepth && mask.of == SlotMask::Of::kPositions;
  in_blocks({0, tokens - drafts + 1}, result, [&](Index cached, StepRow& row, PhaseResult& out) {
    const PhaseStep step{cached, drafts, 0};
    const SlotView view = view_of(cache, step);
    for (std::size_t i = 0; i < parents.size(); ++i) {
      // The row of the place at which the draft is masked, in which drafts stand at their places,
      // too: their depths, or their order.
      read_step_row(cache, declared, step, view, by_depth ? depth[i] : static_cast<Index>(i), row);
      const Index query = cached + depth[i];
      const auto want = declared.row(query);
      ++out.rows;
      PhaseFault fault;
      Index wrong = 0;
      const auto compare = [&](bool open, bool is_open, Index key, Index token) {
        if (open == is_open || wrong++ > 0) return;
        fault = fault_at(view, step, static_cast<Index>(i), query, key, token, open);
      };
      const Index key = first_difference(want, row.tokens);
      if (key >= 0 && key < cached) compare(holds(want, key), holds(row.tokens, key), key, key);
      for (const Index draft : path[i]) {
        const Index at = cached + depth[as_size(draft)], token = cached + draft;
        const bool in_view = slot_of(view, token) >= 0;
        compare(holds(want, at), in_view && holds(row.tokens, by_depth ? at : token), at, token);
      }
      if (wrong == 0 && row.empty_slot >= 0) {
        ++wrong;
        fault = {.kind = Kind::kEmpty,
                 .step = step,
                 .row = static_cast<Index>(i),
                 .query = query,
                 .slot = row.empty_slot,
                 .why = {}};
      }
      if (wrong == 0) continue;
      ++out.wrong;
      fault.batch = batch;
      fault.head = head;
      add_fault(std::move(fault), out);
    }
  });
}

std::string why_text(const Cache& cache, const PhaseFault& fault) {
  const PhaseStep& step = fault.step;
  const std::string what = mask_text(cache.mask(step.queries));
  switch (fault.kind) {
    case Kind::kDropped: {
      if (fault.key >= step.cached + step.queries) {
        return fmt::format("key {} is a token that comes after the step", grouped(fault.key));
      }
      const Index seen = seen_before(cache, step);
      return fmt::format(
          "key {} is in no slot: {}of {} the cache keeps those from {} on", grouped(fault.key),
          cache.sinks > 0 ? fmt::format("but for the first {}, ", grouped(cache.sinks)) : "",
          counted(seen, "token"), grouped(cache.first_kept(seen)));
    }
    case Kind::kClosed:
      return fmt::format("key {} is in slot {}, which is closed: the step {}", grouped(fault.key),
                         grouped(fault.slot), what);
    case Kind::kExtra:
      return fmt::format("key {}, which the mask closes, is open in slot {}: the step {}",
                         grouped(fault.key), grouped(fault.slot), what);
    case Kind::kEmpty:
      return fmt::format("slot {} holds no token and is open: the step {}", grouped(fault.slot),
                         what);
    case Kind::kTwice:
      break;
  }
  return "";
}

}  // namespace maskctl
