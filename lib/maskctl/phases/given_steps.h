// Steps of a cache of one's own, as arrays: which token each slot holds, and what is open.
#pragma once

#include <optional>

#include "maskctl/phases/phases.h"
#include "maskctl/tensor/tensor.h"

namespace maskctl {

struct GivenSteps {
  Tensor positions;  // [S,L]: the token that each of L slots holds in each step; -1: none
  /// [S,Q]: the position of each query; -1: none. Without it each step has one query, its newest
  /// token.
  std::optional<Tensor> queries;
  /// [S,H,Q,L]: what each step opens. Without it, what the declared mask opens of what its slots
  /// hold.
  std::optional<Mask> open;
};

/// Compares each row of each step with that of the declared mask, heads broadcast. The order of a
/// first fault is that of the steps. Throws Error(kShape, kInvalidArgument) for arrays that do not
/// fit each other, and for queries or tokens that the mask does not have.
PhasesVerdict judge_given(const Mask& declared, const GivenSteps& steps);

}  // namespace maskctl
