// What a run of attention may have done instead of the declared call; private to verify.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/attention/calls/by_name.h"
#include "maskctl/mask/mask.h"
#include "maskctl/verify/call_variants.h"

namespace maskctl::attention {

/// One mistake that may have been made: a text that names it, and the results that it gives.
struct Candidate {
  std::string text;          // how the run differs: "without softmax_aux", "without causal"
  std::optional<Mask> mask;  // the mask that it applies; absent: the declared one, in another call
  /// Makes the results. Results about which the candidate says nothing may be missing.
  std::function<NamedResults()> results;
  /// Makes the results for values of random signs (CallVariants::randomly_signed()), which show how
  /// noisy each row is. Null: not known, or as in the declared call.
  std::function<NamedResults()> signed_results = {};
  /// Whether the candidate explains noise: it fits numbers to each row, or rounds inputs to a grid.
  bool explains_noise = false;
};
using Candidates = std::vector<Candidate>;

/// A candidate that runs the call with arguments that `change` has changed.
Candidate with_arguments(const std::shared_ptr<const CallVariants>& call, std::string text,
                         std::optional<Mask> mask, std::function<void(NamedArguments&)> change);

}  // namespace maskctl::attention
