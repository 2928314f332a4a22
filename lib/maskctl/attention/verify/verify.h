// Proof that a backend applies a mask: it agrees with another one, its weights and gradients reach
// exactly the open cells, and what is closed cannot touch the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "maskctl/attention/named/operations.h"

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
  const NamedOperation* operation = nullptr;
  NamedArguments arguments;  // all arrays that it needs
  Backend backend = Backend::kCpu, against = Backend::kReference;
  /// What the operation must apply; absent: what `against` applies. Broadcasts.
  std::optional<Mask> declared;
  std::optional<Tolerance> tolerance;  // absent: usual_tolerance
  bool gradients = true;
  std::uint64_t seed = 0;  // of cotangents and of the keys that are changed
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
/// A key is one vector of K and V, or one row of a latent (and of its rotary part).
/// Throws what the operation throws, and Error(kLimit) for softmax attention with more than 2^33
/// open pairs of a query and a key over all batches and heads.
std::vector<VerifyCheck> verify(const VerifyRequest& request);

/// Results that were made elsewhere, "out", "lse" or "grad_query", against those of `against`: the
/// checks "forward" and "gradients", as far as something is given for them. Gradients are of the
/// cotangents in the arguments, or of the seed's. Throws Error(kInvalidArgument) for a name that
/// the operation does not give, Error(kShape) for another shape.
std::vector<VerifyCheck> verify_given(const VerifyRequest& request, const NamedResults& given);

bool all_passed(const std::vector<VerifyCheck>& checks);

}  // namespace maskctl::attention
