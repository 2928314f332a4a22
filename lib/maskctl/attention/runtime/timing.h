// Timing of functions in turn.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace maskctl::attention {

/// Seconds since some moment.
using Clock = std::function<double()>;

struct TunerOptions {
  int warmup = 1;              // runs of each function that do not count
  int iters = 3;               // runs that do, 1 or more
  double budget_seconds = 10;  // no round begins after it; every function runs once at least
};

/// What a function took. One that threw has runs == 0 and the message in `error`.
struct Timing {
  double seconds = 0;  // median of the timed runs
  int runs = 0;
  std::string error;
};

/// Runs the functions in turn, round by round, so that all see the same machine. Without a clock:
/// the steady one.
std::vector<Timing> time_in_turn(std::span<const std::function<void()>> functions,
                                 const TunerOptions& options = {}, const Clock& clock = {});

/// The number of the quickest; the earlier one among equals. Throws Error(kUnsupported) when all
/// failed or there are none, with the first reason.
std::size_t quickest(std::span<const Timing> timings);

/// ejkernel's benchmark: the median seconds of one call. Throws what f throws.
double benchmark(const std::function<void()>& f, int warmup = 1, int iters = 5,
                 const Clock& clock = {});

}  // namespace maskctl::attention
