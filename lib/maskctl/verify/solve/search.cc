#include "maskctl/verify/solve/search.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include "maskctl/base/work_scope.h"
#include "maskctl/verify/solve/dense.h"

namespace maskctl::attention::solving {
namespace {

/// How many times the ends of runs are moved at most.
constexpr int kMostMoves = 12;
/// A cost counts as lower only if it is below this multiple of the other cost.
constexpr double kLower = 1 - 1e-6;

/// Opens or closes keys one after another, and keeps the cheapest state that it passes.
class Walk {
 public:
  Walk(const RowProblem& problem, const State& start, State& best)
      : problem_(problem), state_(start), best_(best) {}

  void set(Index key, bool open) {
    if (static_cast<bool>(state_.open[as_size(key)]) != open) problem_.flip(state_, key);
  }
  void keep() {
    if (state_.cost < best_.cost * kLower) best_ = state_;
  }

 private:
  const RowProblem& problem_;
  State state_;
  State& best_;
};

/// Returns the ends of runs of open keys: each j such that exactly one of the keys j - 1 and j is
/// open.
std::vector<Index> ends_of(const OpenKeys& open) {
  std::vector<Index> out;
  std::uint8_t before = 0;
  for (Index j = 0; j < std::ssize(open); ++j) {
    if (open[as_size(j)] != std::exchange(before, open[as_size(j)])) out.push_back(j);
  }
  if (before) out.push_back(std::ssize(open));
  return out;
}

/// Moves the end of a run from key `at` to where the cost is lowest.
void move_end(const RowProblem& problem, const State& state, Index at, State& best) {
  const bool opens_right = at > 0 ? state.open[as_size(at - 1)] : !state.open[0];
  for (const bool right : {true, false}) {
    Walk walk(problem, state, best);
    const bool open = right == opens_right;
    const Index stop = right ? problem.keys() : -1, step = right ? 1 : -1;
    for (Index j = right ? at : at - 1; j != stop; j += step) {
      walk.set(j, open);
      walk.keep();
    }
  }
}

}  // namespace

State move_ends(const RowProblem& problem, State state, double enough) {
  // a row with more changes between open and closed keys does not consist of a few runs
  constexpr std::size_t kMostEnds = 18;
  if (problem.keys() == 0) return state;
  const StopPoll poll;
  for (int n = 0; n < kMostMoves && state.cost > enough; ++n) {
    std::vector<Index> ends = ends_of(state.open);
    // If no key is open, there are no ends to move: try runs of open keys that begin at the first
    // key, and runs that end at the last one.
    if (ends.empty()) ends = {0, problem.keys()};
    if (ends.size() > kMostEnds) return state;
    State best = state;
    for (const Index at : ends) {
      poll();
      move_end(problem, state, at, best);
    }
    if (best.cost >= state.cost * kLower) return state;
    state = std::move(best);
  }
  return state;
}

State align_ends(const RowProblem& problem, State state, double less) {
  const Index tile = problem.call().tile();
  const std::vector<Index> supposed = ends_of(problem.base());
  for (const Index at : ends_of(state.open)) {
    if (std::ranges::binary_search(supposed, at)) continue;
    const Index edge = std::min((at + tile / 2) / tile * tile, problem.keys());
    State moved = state;
    for (Index j = std::min(at, edge); j < std::max(at, edge); ++j) problem.flip(moved, j);
    if (moved.cost - state.cost < less) state = std::move(moved);
  }
  return state;
}

namespace {

/// Prefix sums over keys: the sum over a run of keys is the difference of two of them.
struct Prefixes {
  Prefixes(const RowProblem& problem, std::size_t head)
      : dim(problem.dim(head)), count(problem.keys() + 1) {
    const RowProblem::HeadTerms& terms = problem.terms(head);
    const double* const values = problem.call().values(problem.heads()[head]);
    const double* const out = problem.call().out(problem.heads()[head], problem.row()).data();
    const double unit = 1 / std::sqrt(terms.variance);
    vectors.resize(as_size(count * dim)), squares.resize(as_size(count));
    sums.resize(as_size(count));
    for (Index j = 0; j + 1 < count; ++j) {
      double* const next = &vectors[as_size((j + 1) * dim)];
      const double w = terms.weights[as_size(j)];
      std::copy_n(next - dim, dim, next);
      add_scaled(next, terms.moved[as_size(j)] * unit, values + j * dim, dim);
      squares[as_size(j + 1)] = add_scaled(next, -w * unit, out, dim);
      sums[as_size(j + 1)] = sums[as_size(j)] + w;
    }
  }

  Index dim, count;
  std::vector<double> vectors, squares, sums;
};

}  // namespace

State one_run(const RowProblem& problem, State state) {
  constexpr double kMost = 2e8;  // at most this many multiplications
  constexpr Index kStarts = 32;
  const Index count = problem.keys() + 1;
  const double n = static_cast<double>(count);
  if (n * n * static_cast<double>(problem.equations()) > kMost) return state;
  std::vector<Prefixes> heads;
  for (std::size_t h = 0; h < problem.heads().size(); ++h) {
    if (problem.terms(h).sink > 0) return state;
    heads.emplace_back(problem, h);
  }
  double least = kImpossible;
  Range best;
  std::vector<double> costs(as_size(kStarts * count)), products(as_size(kStarts * count));
  for (Index from = 0; from + 1 < count; from += kStarts) {
    const Index starts = std::min(kStarts, count - from);
    std::ranges::fill(costs, 0);
    for (const Prefixes& p : heads) {
      multiply_transposed(&p.vectors[as_size(from * p.dim)], p.vectors.data(), starts, p.dim, count,
                          products.data());
      for (Index a = from; a < from + starts; ++a) {
        for (Index b = a + 1; b < count; ++b) {
          const double sum = p.sums[as_size(b)] - p.sums[as_size(a)];
          const std::size_t at = as_size((a - from) * count + b);
          const double square = p.squares[as_size(a)] + p.squares[as_size(b)] - 2 * products[at];
          costs[at] += square / std::max(sum * sum, 1e-26);
        }
      }
    }
    for (Index a = from; a < from + starts; ++a) {
      for (Index b = a + 1; b < count; ++b) {
        const double cost = costs[as_size((a - from) * count + b)];
        if (cost < least) least = cost, best = {a, b};
      }
    }
  }
  OpenKeys open(as_size(problem.keys()));
  std::fill(open.begin() + best.begin, open.begin() + best.end, 1);
  State found = problem.at(open);
  return found.cost < state.cost ? found : state;
}

State change_tiles(const RowProblem& problem, State state, double enough) {
  const StopPoll poll;
  const Index tile = problem.call().tile();
  while (state.cost > enough) {
    State best = state;
    for (Index from = 0; from < problem.keys(); from += tile) {
      poll();
      for (const bool open : {true, false}) {
        Walk walk(problem, state, best);
        for (Index j = from; j < std::min(from + tile, problem.keys()); ++j) walk.set(j, open);
        walk.keep();
      }
    }
    if (best.cost >= state.cost * kLower) return state;
    state = std::move(best);
  }
  return state;
}

namespace {

/// The cheapest states with the same number of flips. States with the same keys are recognised by a
/// hash.
class Beam {
 public:
  Beam(const RowProblem& problem, const State& start, Index width)
      : problem_(problem), width_(width), start_(start), states_{start}, hashes_{0} {}

  const std::vector<State>& states() const { return states_; }

  /// Flips one more key in each state, and keeps the cheapest results.
  void extend() {
    const std::vector<double> costs = problem_.costs_of_flips(states_);
    std::vector<State> next;
    std::vector<std::uint64_t> hashes;
    std::unordered_set<std::uint64_t> seen;
    for (const std::size_t at : cheapest(costs)) {
      const std::size_t n = at / keys(), j = at % keys();
      // Key j was flipped before in this state.
      if (states_[n].open[j] != start_.open[j]) continue;
      const std::uint64_t hash = hashes_[n] ^ number(j);
      if (!seen.insert(hash).second) continue;
      next.push_back(states_[n]);
      problem_.flip(next.back(), static_cast<Index>(j));
      hashes.push_back(hash);
      if (std::ssize(next) == width_) break;
    }
    states_ = std::move(next), hashes_ = std::move(hashes);
  }

 private:
  std::size_t keys() const { return as_size(problem_.keys()); }
  static std::uint64_t number(std::size_t key) {
    std::uint64_t x = (key + 1) * 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    return x ^ (x >> 27);
  }
  /// Returns the indices of the lowest costs: more than `width_`, because several of them may
  /// belong to the same set of keys.
  std::vector<std::size_t> cheapest(const std::vector<double>& costs) const {
    std::vector<std::size_t> order(costs.size());
    for (std::size_t n = 0; n < order.size(); ++n) order[n] = n;
    const auto middle =
        order.begin() + std::min<std::ptrdiff_t>(std::ssize(order), 64 + 4 * width_);
    std::partial_sort(order.begin(), middle, order.end(),
                      [&costs](std::size_t a, std::size_t b) { return costs[a] < costs[b]; });
    order.erase(middle, order.end());
    return order;
  }

  const RowProblem& problem_;
  Index width_;
  const State& start_;
  std::vector<State> states_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

State flip_keys(const RowProblem& problem, const State& start, Index width, Index most,
                double enough) {
  const StopPoll poll;
  Beam beam(problem, start, width);
  State best = start;
  for (Index n = 0; n < most && best.cost > enough; ++n) {
    poll();
    beam.extend();
    if (beam.states().empty()) return best;
    const State& first = *std::ranges::min_element(beam.states(), {}, &State::cost);
    if (first.cost < best.cost) best = first;
  }
  return best;
}

}  // namespace maskctl::attention::solving
