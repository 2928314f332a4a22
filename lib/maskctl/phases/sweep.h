// Rows of many steps compared with those of a mask, in parallel.
#pragma once

#include <functional>

#include "maskctl/phases/phases.h"
#include "maskctl/phases/step_row.h"

namespace maskctl {

/// The step in which the query at position q is computed, and its row there.
struct PlacedQuery {
  PhaseStep step;
  Index row = 0;
};
/// Compares the row of each query in `queries` with that of the mask, and adds what differs to
/// `result`; `batch` and `head` name the rows in a fault.
void sweep(const Cache& cache, const MaskRows& declared, Range queries,
           const std::function<PlacedQuery(Index q)>& place, Index batch, Index head,
           PhaseResult& result);

/// The same of a tree of drafts behind every number of cached tokens; the query of a draft is at
/// its depth. A draft sees its ancestors and itself as far as the mask opens them.
void sweep_tree(const Cache& cache, const MaskRows& declared, Index tokens,
                const std::vector<Index>& parents, Index batch, Index head, PhaseResult& result);

/// Adds the figures of `part`, which comes behind `whole`, and its fault where it is the first.
void join(PhaseResult& whole, PhaseResult part);

/// Why a fault is one, in a sentence that the cells can confirm.
std::string why_text(const Cache& cache, const PhaseFault& fault);

}  // namespace maskctl
