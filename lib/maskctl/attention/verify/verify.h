// Proof that a backend applies a mask: it agrees with another one, its weights and gradients reach
// exactly the open cells, and what is closed cannot touch the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"

namespace maskctl::attention {

/// Passed where |a - b| <= absolute * max(1, largest |b|) + relative * |b| for every element; NaN
/// and infinities must agree.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
/// For results in this dtype of f32 accumulation against float64: docs/numerics.md says why.
Tolerance usual_tolerance(DType dtype, bool gradient);

struct VerifyCheck {
  enum class State : std::uint8_t { kPassed, kFailed, kSkipped };

  std::string name;  // as `verify` lists them
  State state = State::kPassed;
  std::string detail;  // figures; where and how much it failed; why it was skipped
};

struct VerifyRequest {
  const Operation* operation = nullptr;
  NamedArguments arguments;  // all arrays that it needs
  Backend backend = Backend::kCpu, against = Backend::kReference;
  /// What the operation must apply; absent: what `against` applies. Broadcasts.
  std::optional<Mask> declared;
  std::optional<Tolerance> tolerance;  // absent: usual_tolerance
  bool gradients = true;
  std::uint64_t seed = 0;  // for cotangents and the keys that are changed
};

/// All checks that a call can have, in this order; those that do not apply are skipped and say why.
///   forward, gradients the results agree within the tolerance
///   declared mask      `against` applies the mask that was declared
///   weights            the mask read from one-hot values, as `probe` does, is the mask
///   gradient support   the value gradients of one-hot cotangents reach the cells of the mask
/// and for softmax attention over single keys
///   unseen keys        NaN in keys that no query sees changes no bit of results and gradients
///   closed keys        large changes of a key change no bit of a row that does not see it
/// or for other operations, which no mask describes
///   unread inputs      NaN in rows of inputs that `against` does not read changes no bit
///   other outputs      large changes of a row change no bit that it has no part in
/// Weights that are dropped at random are no part of a mask: the checks of the mask go without.
/// Where rows without a key give NaN, or the mean of all values, the checks expect that.
/// A key is one vector of K and V, or one row of a latent (and of its rotary part).
/// Throws what the operation throws, and Error(kLimit) for softmax attention with more than 2^33
/// open pairs of a query and a key over all batches and heads.
std::vector<VerifyCheck> verify(const VerifyRequest& request);

/// The mask that a call applies, other arguments that close cells included: `declared`, or what the
/// weights of the reference show. Absent for operations without a mask, and beyond 2^26 cells.
std::optional<Mask> applied_mask(const VerifyRequest& request);

bool all_passed(const std::vector<VerifyCheck>& checks);

}  // namespace maskctl::attention
