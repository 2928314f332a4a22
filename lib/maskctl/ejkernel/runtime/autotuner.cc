#include "maskctl/ejkernel/runtime/autotuner.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/base/stopwatch.h"

namespace maskctl::attention {
namespace {

/// Computes the median of the runs after the first `warmup` runs; of the last run if there are no
/// more.
void summarise(const std::vector<double>& times, int warmup, Timing& out) {
  if (times.empty()) return;
  const std::size_t skipped =
      std::min(static_cast<std::size_t>(std::max(warmup, 0)), times.size() - 1);
  std::vector<double> counted(times.begin() + static_cast<std::ptrdiff_t>(skipped), times.end());
  const auto middle = counted.begin() + static_cast<std::ptrdiff_t>(counted.size() / 2);
  std::nth_element(counted.begin(), middle, counted.end());
  out.seconds = *middle;
  out.runs = static_cast<int>(counted.size());
}

}  // namespace

std::vector<Timing> time_in_turn(std::span<const std::function<void()>> functions,
                                 const TunerOptions& options, const Clock& given) {
  const Clock clock = given ? given : [watch = Stopwatch()] { return watch.seconds(); };
  std::vector<Timing> timings(functions.size());
  std::vector<std::vector<double>> times(functions.size());
  const auto run_one = [&](std::size_t i) {
    if (!timings[i].error.empty()) return;
    try {
      const double start = clock();
      functions[i]();
      times[i].push_back(clock() - start);
    } catch (const std::exception& error) {
      timings[i].error = error.what();
      times[i].clear();
    }
  };
  const double end = clock() + options.budget_seconds;
  const int rounds = std::max(options.warmup, 0) + std::max(options.iters, 1);
  for (int round = 0; round < rounds; ++round) {
    if (round > 0 && clock() >= end) break;
    for (std::size_t i = 0; i < functions.size(); ++i) run_one(i);
  }
  for (std::size_t i = 0; i < functions.size(); ++i) {
    summarise(times[i], options.warmup, timings[i]);
  }
  return timings;
}

std::size_t quickest(std::span<const Timing> timings) {
  std::size_t best = timings.size();
  for (std::size_t i = 0; i < timings.size(); ++i) {
    const bool better = best == timings.size() || timings[i].seconds < timings[best].seconds;
    if (timings[i].runs > 0 && better) best = i;
  }
  if (best < timings.size()) return best;
  throw Error(
      Errc::kUnsupported,
      timings.empty()
          ? "there are no candidate configs to measure; give one or use heuristics"
          : fmt::format("every candidate config failed, the first with: {}", timings[0].error));
}

double benchmark(const std::function<void()>& f, int warmup, int iters, const Clock& clock) {
  std::exception_ptr failure;
  const std::function<void()> guarded = [&] {
    try {
      f();
    } catch (...) {
      failure = std::current_exception();
      throw;
    }
  };
  const TunerOptions options{warmup, iters, std::numeric_limits<double>::infinity()};
  const Timing timing = time_in_turn({&guarded, 1}, options, clock).front();
  if (failure) std::rethrow_exception(failure);
  return timing.seconds;
}

}  // namespace maskctl::attention
