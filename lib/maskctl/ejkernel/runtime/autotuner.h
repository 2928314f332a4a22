// Times several functions in turn, and tunes any function: ejkernel's Autotuner and FNAutotuner.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace maskctl::attention {

/// Returns seconds since a fixed but arbitrary moment.
using Clock = std::function<double()>;

struct TunerOptions {
  int warmup = 1;  // runs of each function that are not counted
  int iters = 3;   // runs that are counted; at least 1
  /// no round begins after this time; each function runs at least once
  double budget_seconds = 10;
};

/// The time that a function took. If it threw, runs == 0 and `error` is the message.
struct Timing {
  double seconds = 0;  // median of the timed runs
  int runs = 0;
  std::string error;
};

/// Times the functions in rounds: each round runs every function once, so that all of them run
/// under the same conditions. Without a clock, uses the steady clock.
std::vector<Timing> time_in_turn(std::span<const std::function<void()>> functions,
                                 const TunerOptions& options = {}, const Clock& clock = {});

/// The index of the fastest function; of equal ones the first. Throws Error(kUnsupported) with the
/// first error message if all of them failed, or if there are none.
std::size_t quickest(std::span<const Timing> timings);

/// ejkernel's benchmark(): the median time of one call, in seconds. Throws what f throws.
double benchmark(const std::function<void()>& f, int warmup = 1, int iters = 5,
                 const Clock& clock = {});

/// A candidate config and its time.
template <class Config>
struct Measured : Timing {
  Config config;
};

/// The fastest candidate; of equal ones the first. Throws what quickest() throws.
template <class Config>
const Measured<Config>& best_of(const std::vector<Measured<Config>>& measurements) {
  const std::vector<Timing> timings(measurements.begin(), measurements.end());
  return measurements[quickest(timings)];
}

/// All candidates that were measured, in order.
template <class Config>
struct AutotuneData {
  std::vector<Measured<Config>> measurements;

  /// Throws what quickest() throws.
  const Config& fastest_config() const { return best_of(measurements).config; }
};

/// Measures candidate configs of any type with time_in_turn().
template <class Config>
class Autotuner {
 public:
  explicit Autotuner(TunerOptions options = {}, Clock clock = {})
      : options_(options), clock_(std::move(clock)) {}

  /// `make_fn(config)` returns the function to time, which is called with `args`; make_fn itself is
  /// not timed. If either throws, the candidate counts as failed.
  template <class MakeFn, class... Args>
  AutotuneData<Config> autotune(MakeFn&& make_fn, std::span<const Config> candidates,
                                const Args&... args) const {
    std::vector<std::function<void()>> runs;
    for (const Config& config : candidates) {
      try {
        runs.emplace_back([f = make_fn(config), &args...] { f(args...); });
      } catch (...) {
        runs.emplace_back([e = std::current_exception()] { std::rethrow_exception(e); });
      }
    }
    AutotuneData<Config> data;
    for (Timing& timing : time_in_turn(runs, options_, clock_)) {
      data.measurements.push_back({std::move(timing), candidates[data.measurements.size()]});
    }
    return data;
  }
  /// Times run(config) for each candidate config.
  std::vector<Measured<Config>> measure(std::span<const Config> candidates,
                                        const std::function<void(const Config&)>& run) const {
    const auto bind = [&run](const Config& config) { return [&run, &config] { run(config); }; };
    return autotune(bind, candidates).measurements;
  }

 private:
  TunerOptions options_;
  Clock clock_;
};

struct FNAutotunerOptions {
  TunerOptions tuner = {.warmup = 2, .iters = 15, .budget_seconds = 10};
  std::size_t cache_size_limit = 1000;  // number of keys to remember; the oldest are dropped
  Clock clock = {};                     // empty: the steady clock
};

/// Wraps a function of a config (hyperparameters) and arguments, so that it can be called with the
/// arguments alone. The first call with a new key runs the function with every candidate config;
/// later calls use the fastest one. Since the function may run more often than it is called, it
/// must not have side effects. Thread-safe: a call waits while another call tunes.
template <class Config, class Result, class... Args>
class FNAutotuner {
 public:
  using Function = std::function<Result(const Config&, const Args&...)>;
  /// Returns the key of a call, such as its shapes and dtypes. Calls with equal keys get the same
  /// config.
  using Key = std::function<std::string(const Args&...)>;

  FNAutotuner(Function function, std::vector<Config> candidates, Key key,
              FNAutotunerOptions options = {})
      : function_(std::move(function)),
        candidates_(std::move(candidates)),
        key_(std::move(key)),
        options_(std::move(options)) {}

  /// Throws what the function throws, and Error(kUnsupported) if it throws for every candidate.
  Result operator()(const Args&... args) { return function_(config_for(args...), args...); }

  /// The config for a call with these arguments; tunes if none is remembered.
  Config config_for(const Args&... args) {
    const std::lock_guard lock(mutex_);
    const std::string key = key_(args...);
    const auto found = configs_.find(key);
    if (found != configs_.end()) return found->second;
    const auto bind = [this](const Config& config) {
      return [this, &config](const Args&... a) { static_cast<void>(function_(config, a...)); };
    };
    const Autotuner<Config> tuner(options_.tuner, options_.clock);
    const Config best =
        tuner.autotune(bind, std::span<const Config>(candidates_), args...).fastest_config();
    remember(key, best);
    return best;
  }

 private:
  void remember(const std::string& key, const Config& config) {
    configs_.emplace(key, config);
    order_.push_back(key);
    if (order_.size() <= options_.cache_size_limit) return;
    configs_.erase(order_.front());
    order_.pop_front();
  }

  Function function_;
  std::vector<Config> candidates_;
  Key key_;
  FNAutotunerOptions options_;
  std::mutex mutex_;
  std::map<std::string, Config> configs_;
  std::deque<std::string> order_;
};

/// Every combination of the given values of hyperparameters; the last one varies fastest.
template <class First>
std::vector<std::tuple<First>> combinations(const std::vector<First>& values) {
  return {values.begin(), values.end()};
}
template <class First, class... Rest>
std::vector<std::tuple<First, Rest...>> combinations(const std::vector<First>& values,
                                                     const std::vector<Rest>&... rest) {
  std::vector<std::tuple<First, Rest...>> all;
  for (const First& value : values) {
    for (const auto& tail : combinations(rest...)) {
      all.push_back(std::tuple_cat(std::tuple(value), tail));
    }
  }
  return all;
}

}  // namespace maskctl::attention
