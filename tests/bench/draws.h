// Shared by the benchmarks that judge answers about random masks: their command line, and rates of
// right answers.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>

#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"

namespace maskctl {

/// Which random draws to judge: `count` of them from `first` on. A seed and a number always give
/// the same draw.
struct Draws {
  Index count = 2000, first = 0;
  std::uint64_t seed = 1;
  bool show = false, flips = false;

  std::uint64_t seed_of(Index draw) const {
    return seed * 1000003 + static_cast<std::uint64_t>(draw);
  }
};

/// Reads [--count N] [--first N] [--seed N] [--show] [--flips]; a value that is no number is
/// ignored.
inline Draws draws_from(int argc, char** argv, Draws out = {}) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    out.show |= name == "--show";
    out.flips |= name == "--flips";
    if (i + 1 == argc) break;
    if (name == "--count") out.count = integer_from(argv[i + 1]).value_or(out.count);
    if (name == "--first") out.first = integer_from(argv[i + 1]).value_or(out.first);
    if (name == "--seed") out.seed = number_from<std::uint64_t>(argv[i + 1]).value_or(out.seed);
  }
  return out;
}

/// Counts right answers, and keeps the time that all answers and the slowest one took.
struct Rate {
  const char* name;
  Index right = 0;
  double slowest_seconds = 0, all_seconds = 0;

  template <typename F>
  auto timed(F&& f) {
    const auto start = std::chrono::steady_clock::now();
    auto out = f();
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    slowest_seconds = std::max(slowest_seconds, spent.count());
    all_seconds += spent.count();
    return out;
  }
};

}  // namespace maskctl
