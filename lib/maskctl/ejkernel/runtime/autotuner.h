// Timing of functions in turn, and tuning of any function: ejkernel's Autotuner and FNAutotuner.
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

/// One candidate and what it took.
template <class Config>
struct Measured : Timing {
  Config config;
};

/// The quickest; the earlier one among equals. Throws what `quickest` throws.
template <class Config>
const Measured<Config>& best_of(const std::vector<Measured<Config>>& measurements) {
  const std::vector<Timing> timings(measurements.begin(), measurements.end());
  return measurements[quickest(timings)];
}

/// All candidates that were measured, in order.
template <class Config>
struct AutotuneData {
  std::vector<Measured<Config>> measurements;

  /// Throws what `quickest` throws.
  const Config& fastest_config() const { return best_of(measurements).config; }
};

/// Measures candidate configs of any type: time_in_turn of what each runs.
template <class Config>
class Autotuner {
 public:
  explicit Autotuner(TunerOptions options = {}, Clock clock = {})
      : options_(options), clock_(std::move(clock)) {}

  /// `make_fn(config)` gives the function to run, which is called with `args`; making it is not
  /// timed. A candidate whose making or running throws is measured as failed.
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
  /// Measures one function of the config in the same way.
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
  std::size_t cache_size_limit = 1000;  // keys that are remembered; the oldest ones go
  Clock clock = {};                     // empty: the steady clock
};

/// A function of a config (hyperparameters) and arguments, called with the arguments alone: the
/// first call with a new key runs it with every candidate, later ones with the quickest. The
/// function is called more than once, so it must not depend on how often. Safe for several threads:
/// a call waits while another one tunes.
template <class Config, class Result, class... Args>
class FNAutotuner {
 public:
  using Function = std::function<Result(const Config&, const Args&...)>;
  /// Arguments of equal keys, as shapes and types, get equal configs.
  using Key = std::function<std::string(const Args&...)>;

  FNAutotuner(Function function, std::vector<Config> candidates, Key key,
              FNAutotunerOptions options = {})
      : function_(std::move(function)),
        candidates_(std::move(candidates)),
        key_(std::move(key)),
        options_(std::move(options)) {}

  /// Throws what the function throws, and Error(kUnsupported) when it throws for all candidates.
  Result operator()(const Args&... args) { return function_(config_for(args...), args...); }

  /// The config of such a call; tunes where none is remembered.
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

/// Every combination of some values of hyperparameters, the last one changing fastest.
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
