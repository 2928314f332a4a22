// Finds the mask that a run of attention applied, from its arrays.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <vector>

#include "maskctl/verify/judge.h"

namespace maskctl::attention {

/// The mask that was found, and its undecided cells. Opening or closing a cell of `light` changes
/// the outputs by less than their rounding. A cell of `alike` can be exchanged for others that
/// explain the outputs as well. `unsolved` has all cells of the rows that nothing explains.
struct SolvedMask {
  /// The mask found from the outputs, [B or 1, H or 1, Q, K]: in the shape of the mask that the
  /// caller supposed, or with a plane for each batch entry and head if their masks turn out to
  /// differ. Undecided cells are as supposed.
  Mask mask;
  /// The same mask, but with undecided cells as the search left them. For example, if the search
  /// closed a tile, its undecided cells are closed too.
  Mask likeliest;
  Mask light, alike, unsolved;  // the undecided cells, in the same shape
  Index unsolved_rows = 0;      // summed over the batches and heads of `mask`
  /// All cells of the rows that were taken to be as supposed (SolveOptions::off), and how many
  /// rows.
  Mask taken;
  Index taken_rows = 0;
  /// The likeliest mistake among the decided cells would fit the outputs worse by this much, in
  /// standard deviations of their rounding; infinite if no mistake is possible.
  double margin = 0;
  double noise = 1;  // deviation of outputs, in units of the rounding expected from their dtypes

  Index undecided() const { return light.count() + alike.count() + unsolved.count(); }
};

/// Whether this build can solve for masks, which needs Eigen.
bool has_solver();
/// Throws Error(kUnsupported) if it cannot.
void require_solver();

struct SolveOptions {
  /// The mask to start from, which the results nearly obey. Null: the declared one.
  const Mask* supposed = nullptr;
  Index tile = 64;  // the size of the tiles of keys that a kernel reads or skips as a whole
  /// The rows that do not obey the supposed mask; all others are taken to obey it, and show the
  /// noise. Null: not known.
  const std::set<QueryRow>* off = nullptr;
  /// Multiplications to spend on rows that nothing explains; the default takes about ten minutes.
  double most_work = 2e12;
};

/// Finds, for each row of `given`, the keys that explain it within its rounding. `given` is "out"
/// and perhaps "lse" and "grad_query" (for "cotangent_out" among the arguments). The search starts
/// from the declared mask (absent: all cells open) and the alternatives. Rows that do not fit them
/// are searched for moved ends of runs, for changed tiles, for a few odd cells, and
/// for any set of keys where the heads of one mask have as many equations together as there are
/// keys: a head has one for each channel of a value and, with gradients, one for each channel of a
/// query. Heads and batch entries share a mask as in the declared one; where results contradict
/// that, each has its own.
///
/// Rows that fit cost a few products of queries with keys in float64. Throws
/// Error(kInvalidArgument) if the mask cannot be found: for a call that is not softmax attention
/// over query, key and value, for outputs that are NaN, and if hardly any row can be explained;
/// and as require_solver() does.
SolvedMask solve_mask(const VerifyRequest& request, const NamedResults& given,
                      std::span<const Neighbour> alternatives = {},
                      const SolveOptions& options = {});

}  // namespace maskctl::attention
