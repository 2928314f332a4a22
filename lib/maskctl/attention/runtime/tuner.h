// Times candidate configs of a call.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/attention/runtime/configs.h"

namespace maskctl::attention {

/// One candidate and what it took. Candidates that threw have runs == 0 and the message in `error`.
struct Measurement {
  AnyConfig config;
  double seconds = 0;  // median of the timed runs
  int runs = 0;
  std::string error;
};

struct TunerOptions {
  int warmup = 1;              // runs of each candidate that do not count
  int iters = 3;               // runs that do, 1 or more
  double budget_seconds = 10;  // no round begins after it; every candidate runs once at least
};

/// Seconds since some moment.
using Clock = std::function<double()>;

/// Runs the candidates in turn, round by round, so that all see the same machine.
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
