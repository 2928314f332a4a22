#include "maskctl/attention/runtime/tuner.h"

namespace maskctl::attention {

Tuner::Tuner(TunerOptions options, Clock clock) : options_(options), clock_(std::move(clock)) {}

std::vector<Measurement> Tuner::measure(std::span<const AnyConfig> candidates,
                                        const std::function<void(const AnyConfig&)>& run) const {
  std::vector<std::function<void()>> runs;
  for (const AnyConfig& config : candidates) {
    runs.emplace_back([&run, &config] { run(config); });
  }
  std::vector<Measurement> measured;
  for (Timing& timing : time_in_turn(runs, options_, clock_)) {
    measured.push_back({std::move(timing), candidates[measured.size()]});
  }
  return measured;
}

const Measurement& best_of(std::span<const Measurement> measurements) {
  const std::vector<Timing> timings(measurements.begin(), measurements.end());
  return measurements[quickest(timings)];
}

}  // namespace maskctl::attention
