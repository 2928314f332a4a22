// What verify is asked of a call, and what one check of it found.
#pragma once

#include <optional>
#include <string>

#include "maskctl/attention/calls/by_name.h"

namespace maskctl::attention {

/// Two arrays agree if |a - b| <= absolute * max(1, largest |b|) + relative * |b| for every
/// element; NaN and infinities must be the same in both.
struct Tolerance {
  double relative = 0;
  double absolute = 0;
};
/// The tolerance for results of this dtype with f32 accumulation, compared with float64;
/// docs/numerics.md has the reasons.
Tolerance usual_tolerance(DType dtype, bool gradient);

struct VerifyCheck {
  enum class State : std::uint8_t { kPassed, kFailed, kSkipped };

  std::string name;  // the name that `verify` lists
  State state = State::kPassed;
  /// If the check passed, its figures; if it failed, where and by how much; if it was skipped, why.
  std::string detail;
};

struct VerifyRequest {
  const Operation* operation = nullptr;
  NamedArguments arguments;  // all arrays that the operation needs
  Backend backend = Backend::kCpu, against = Backend::kReference;
  /// The mask that the operation must apply; broadcasts. Absent: the mask that `against` applies.
  std::optional<Mask> declared;
  std::optional<Tolerance> tolerance;  // absent: usual_tolerance
  bool gradients = true;
  std::uint64_t seed = 0;  // for random cotangents
};

}  // namespace maskctl::attention
