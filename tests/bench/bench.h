// Times code: the least and the median time of repeated runs, and two sides that take turns.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

namespace bench {

/// Keeps the optimiser from removing the computation of `value`.
template <typename T>
void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

/// Ends the program unless `holds`: a benchmark of a wrong result is worthless.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "wrong result: %s\n", what);
  std::exit(1);
}

/// Calls f `repeats` times; returns the mean seconds of one call.
template <typename F>
double seconds(F&& f, int repeats = 1) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repeats; ++i) f();
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
  return spent.count() / repeats;
}

/// How often to call f in one timed run, so that the clock's resolution does not matter.
template <typename F>
int repeats_for(F&& f, double least_seconds = 20e-6) {
  f();
  int repeats = 1;
  while (seconds(f, repeats) * repeats < least_seconds) repeats *= 2;
  return repeats;
}

inline double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

struct Times {
  std::vector<double> runs;
  double least() const { return *std::min_element(runs.begin(), runs.end()); }
  double median() const { return bench::median(runs); }
};

/// The times of two sides that interleave() ran in turn, so that both saw the same machine.
struct Pair {
  Times a, b;
  /// The median over the runs of b's time divided by a's.
  double median_ratio() const {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < a.runs.size(); ++i) ratios.push_back(b.runs[i] / a.runs[i]);
    return median(std::move(ratios));
  }
};
template <typename A, typename B>
Pair interleave(A&& a, B&& b, int runs, int repeats = 1) {
  Pair pair;
  for (int i = 0; i < runs; ++i) {
    pair.a.runs.push_back(seconds(a, repeats));
    pair.b.runs.push_back(seconds(b, repeats));
  }
  return pair;
}

/// Prints a line that tests/bench/run.py reads: name, least and median seconds.
inline void report(const char* name, const Times& times) {
  std::printf("%s\t%.9f\t%.9f\n", name, times.least(), times.median());
}

}  // namespace bench
