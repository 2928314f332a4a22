#include "maskctl/verify/judge.h"

#include <array>

#include "maskctl/verify/candidates/of_call.h"
#include "maskctl/verify/candidates/of_mask.h"
#include "maskctl/verify/trial.h"

namespace maskctl::attention {

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 6> kNames{"obeys",   "another",    "none",
                                                   "unclear", "other-call", "partly"};
  return kNames[static_cast<std::size_t>(verdict)];
}

std::string_view name(Comparison::State state) {
  constexpr std::array<std::string_view, 3> kNames{"rejected", "fits", "undecided"};
  return kNames[static_cast<std::size_t>(state)];
}

GivenReport verify_given(const VerifyRequest& request, const NamedResults& given,
                         std::span<const Neighbour> alternatives) {
  Trial trial(request, given);
  trial.add(of_masks(trial.call(), alternatives));
  trial.add(of_readings(trial.call()));
  return {trial.checks(), trial.judge()};
}

}  // namespace maskctl::attention
