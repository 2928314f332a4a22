#include "maskctl/attention/runtime/tuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "maskctl/base/error.h"

namespace maskctl::attention {
namespace {

double steady_seconds() {
  using Seconds = std::chrono::duration<double>;
  return Seconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Of the runs after the first `warmup` ones; of the last run when there are no others.
void summarise(const std::vector<double>& times, int warmup, Measurement& out) {
  if (times.empty()) return;
  const std::size_t skipped = std::min(static_cast<std::size_t>(warmup), times.size() - 1);
  std::vector<double> counted(times.begin() + static_cast<std::ptrdiff_t>(skipped), times.end());
  const auto middle = counted.begin() + static_cast<std::ptrdiff_t>(counted.size() / 2);
  std::nth_element(counted.begin(), middle, counted.end());
  out.seconds = *middle;
  out.runs = static_cast<int>(counted.size());
}

}  // namespace

Tuner::Tuner(TunerOptions options, Clock clock)
    : options_{std::max(options.warmup, 0), std::max(options.iters, 1), options.budget_seconds},
      clock_(clock ? std::move(clock) : steady_seconds) {}

std::vector<Measurement> Tuner::measure(std::span<const AnyConfig> candidates,
                                        const std::function<void(const AnyConfig&)>& run) const {
  std::vector<Measurement> measured;
  for (const AnyConfig& config : candidates) measured.push_back({config, 0, 0, ""});
  std::vector<std::vector<double>> times(candidates.size());
  const auto run_one = [&](std::size_t i) {
    if (!measured[i].error.empty()) return;
    try {
      const double start = clock_();
      run(measured[i].config);
      times[i].push_back(clock_() - start);
    } catch (const std::exception& error) {
      measured[i].error = error.what();
      times[i].clear();
    }
  };
  const double end = clock_() + options_.budget_seconds;
  for (int round = 0; round < options_.warmup + options_.iters; ++round) {
    if (round > 0 && clock_() >= end) break;
    for (std::size_t i = 0; i < candidates.size(); ++i) run_one(i);
  }
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    summarise(times[i], options_.warmup, measured[i]);
  }
  return measured;
}

const Measurement& best_of(std::span<const Measurement> measurements) {
  const Measurement* best = nullptr;
  for (const Measurement& one : measurements) {
    if (one.runs > 0 && (!best || one.seconds < best->seconds)) best = &one;
  }
  if (best) return *best;
  throw Error(Errc::kUnsupported,
              measurements.empty()
                  ? "there are no candidate configs to measure; give one or use heuristics"
                  : fmt::format("every candidate config failed, the first with: {}",
                                measurements[0].error));
}

}  // namespace maskctl::attention
