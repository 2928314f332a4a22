// What a run of attention may have done instead of the declared call; private to verify.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "maskctl/attention/by_name.h"
#include "maskctl/mask/mask.h"

namespace maskctl::attention {

/// One mistake, as a row: the words for it, and the results that it gives.
struct Candidate {
  std::string text;          // how the run differs: "without softmax_aux", "without causal"
  std::optional<Mask> mask;  // the mask that it applies; absent: the declared one, in another call
  /// Makes the results. A candidate may leave out results that it says nothing of.
  std::function<NamedResults()> results;
  /// It explains noise: each row has numbers of its own, or inputs are rounded to a grid.
  bool explains_noise = false;
};
using Candidates = std::vector<Candidate>;

}  // namespace maskctl::attention
