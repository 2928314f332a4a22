// The mask that a run of attention applied, from its arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "maskctl/attention/verify/judge.h"

namespace maskctl::attention {

/// The mask that was found, and the cells that are undecided: a cell of `light`, open or closed,
/// changes the outputs by less than their rounding; of `alike`, other cells explain them as well;
/// of `unsolved`, nothing that was found explains its row.
struct SolvedMask {
  /// [B or 1, H or 1, Q, K], as the mask that was supposed, or for each batch and head where they
  /// turn out to differ. Undecided cells as supposed.
  Mask mask;
  Mask light, alike, unsolved;  // the undecided cells, in the same shape
  Index unsolved_rows = 0;      // over the batches and heads of `mask`
  /// How much worse than rounding the likeliest mistake among decided cells would fit: standard
  /// deviations; infinite without any.
  double margin = 0;
  double noise = 1;  // of the outputs, in units of the rounding that their types make

  Index undecided() const { return light.count() + alike.count() + unsolved.count(); }
};

/// Finds for each row of `given`, "out" and perhaps "lse" and "grad_query" (of "cotangent_out"
/// among the arguments), the keys that explain it within its rounding. Starts from the declared
/// mask (absent: all open) and the alternatives; what does not fit is searched for: ends of runs
/// and tiles that have moved, a few odd cells, and, where the heads of one mask have as many
/// equations together as there are keys, any set of keys: one for each channel of a value, and with
/// gradients for each of a query. Heads and batches share a mask as the declared one says; where
/// they contradict that, each has its own. Tiles have `tile` keys.
///
/// Costs a few products of queries with keys in float64 for rows that fit. Throws
/// Error(kInvalidArgument) where the mask cannot be told: a call that is not softmax attention over
/// query, key and value, outputs that are NaN, or outputs of which hardly a row can be explained.
SolvedMask solve_mask(const VerifyRequest& request, const NamedResults& given,
                      std::span<const Alternative> alternatives = {}, Index tile = 64);

}  // namespace maskctl::attention
