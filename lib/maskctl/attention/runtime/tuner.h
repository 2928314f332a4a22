// Times candidate configs of a call.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "maskctl/attention/runtime/configs.h"
#include "maskctl/attention/runtime/timing.h"

namespace maskctl::attention {

/// One candidate and what it took.
struct Measurement : Timing {
  AnyConfig config;
};

/// Times the candidates of a call: time_in_turn of `run` with each.
class Tuner {
 public:
  explicit Tuner(TunerOptions options = {}, Clock clock = {});  // the steady clock
  std::vector<Measurement> measure(std::span<const AnyConfig> candidates,
                                   const std::function<void(const AnyConfig&)>& run) const;

 private:
  TunerOptions options_;
  Clock clock_;
};

/// The quickest; the earlier one among equals. Throws Error(kUnsupported) when all failed or there
/// are none, with the first reason.
const Measurement& best_of(std::span<const Measurement> measurements);

}  // namespace maskctl::attention
