#include "maskctl/verify/solve/row_solver.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "maskctl/verify/rounding.h"
#include "maskctl/verify/solve/least_squares.h"
#include "maskctl/verify/solve/sphere.h"

namespace maskctl::attention::solving {
namespace {

/// A cost is twice a negative log-likelihood. A key is decided if flipping it raises the cost by at
/// least kDecided. If flipping a key lowers the cost by kAnother, the supposed keys are wrong.
constexpr double kDecided = 64, kAnother = 40;
/// By chance, the cost of the right keys exceeds enough() as rarely as a normal variable exceeds
/// kRare standard deviations.
constexpr double kRare = 7;
constexpr double kCostSlack = 1.1;
/// Keys that were found by trying many sets of keys are accepted only if the log odds that they do
/// not fit by chance exceed kEvident.
constexpr double kEvident = 20;
constexpr std::size_t kMostSwaps = 64;

std::vector<Index> differing(const OpenKeys& a, const OpenKeys& b) {
  std::vector<Index> out;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (a[j] != b[j]) out.push_back(static_cast<Index>(j));
  }
  return out;
}

/// The logarithm of the number of sets that consist of as many single keys and as many runs of keys
/// as this set. `all`: the number of keys.
double description(const std::vector<Index>& keys, double all) {
  double out = 0;
  for (std::size_t n = 0; n < keys.size();) {
    std::size_t end = n + 1;
    while (end < keys.size() && keys[end] == keys[end - 1] + 1) ++end;
    out += (end - n > 1 ? 2 : 1) * std::log(all);
    n = end;
  }
  return out;
}

/// Runs a method, unless `attempts` says that it has hardly ever found an answer.
template <class Way>
std::optional<RowAnswer> tried(Attempts& attempts, Way&& way) {
  if (!attempts.promise()) return {};
  auto answer = way();
  attempts.count(answer ? 1 : 0, 1);
  return answer;
}

}  // namespace

OpenKeys RowAnswer::decided(const OpenKeys& supposed) const {
  OpenKeys out = open;
  for (const std::vector<Index>* undecided : {&light, &alike}) {
    for (const Index j : *undecided) out[as_size(j)] = supposed[as_size(j)];
  }
  return out;
}

/// The search for the keys of one row.
struct RowSolver::Search {
  const RowProblem& problem;  // its base are the supposed keys
  const OpenKeys& supposed;
  State base;  // the supposed keys, and their cost
  /// A state that costs more is wrong. State::cost assumes that rounding is equal in all
  /// directions, so keys that cost up to twice enough() may still be right.
  double cheap;
};

double RowSolver::enough(Index equations) const {
  const double n = static_cast<double>(std::max<Index>(equations, 1));
  return n * noise_ * kCostSlack * rare_mean_square(n, kRare);
}

bool RowSolver::is_off(Head head, const RowReport& report, std::size_t n) const {
  return report.head_cost[n] > enough(call_.dim(head)) || report.head_least[n] < -kAnother * noise_;
}

std::optional<RowAnswer> RowSolver::judge(std::span<const Head> heads, Index row,
                                          const OpenKeys& open) const {
  return judge(heads, row, open, row_reports(call_, heads, {row, row + 1}, open.data())[0]);
}

std::optional<RowAnswer> RowSolver::judge(std::span<const Head> heads, Index row,
                                          const OpenKeys& open, const RowReport& report) const {
  RowAnswer out{open, {}, {}, kImpossible};
  std::vector<Index> close;
  for (Index j = 0; j < std::ssize(open); ++j) {
    const double rise = report.rise[as_size(j)];
    if (rise < kDecided * noise_ * (1 + report.spread)) {
      close.push_back(j);
    } else {
      out.margin = std::min(out.margin, rise / (1 + report.spread));
    }
  }
  bool off = report.cost > enough(report.equations);
  for (std::size_t n = 0; n < heads.size(); ++n) off = off || is_off(heads[n], report, n);
  if (!off && close.empty()) return out;
  // RowReport::cost takes rounding to be equal in all directions of the output. The cost of an
  // ExactReport can be lower, at most by the factor 1 + spread; the other factors of `far` are
  // slack.
  const double far = 4 * (1 + report.spread) * static_cast<double>(1 + call_.widest());
  if (report.cost > far * enough(report.equations)) return {};
  const double most = enough(report.equations);
  const double another = kAnother * noise_, heads_count = static_cast<double>(heads.size());
  // The rise of a cell (of the cost when the cell is flipped) is the sum of its rises in all heads,
  // each of which may be as low as -`another`. So with several heads, a lower bound in one head
  // must exceed the limit by `another` for each other head, and upper bounds are never used.
  const RiseLimits limits{kDecided * noise_ + (heads_count - 1) * another,
                          heads.size() == 1 ? kDecided * noise_ : -another, -another};
  const ExactReport exact = exact_report(call_, heads, row, open, close, most, limits);
  if (exact.cost() > most) return {};
  for (std::size_t n = 0; n < heads.size(); ++n) {
    if (exact.head_cost[n] > enough(call_.dim(heads[n]))) return {};
    for (const double rise : exact.rises[n]) {
      if (rise < -kAnother * noise_) return {};
    }
  }
  for (std::size_t n = 0; n < close.size(); ++n) {
    const double rise = exact.rise(n);
    if (rise < -kAnother * noise_) return {};
    if (rise < kDecided * noise_) {
      out.light.push_back(close[n]);
    } else {
      out.margin = std::min(out.margin, rise);
    }
  }
  return out;
}

OpenKeys RowSolver::polished(const Search& search, const OpenKeys& open) const {
  const RowProblem problem(call_, {search.problem.heads().begin(), search.problem.heads().end()},
                           search.problem.row(), open);
  State state = problem.at(open);
  for (Index n = 0; n < problem.keys(); ++n) {
    const std::vector<double> costs = problem.costs_of_flips({&state, 1});
    const auto least = std::ranges::min_element(costs);
    if (least == costs.end() || state.cost - *least < kAnother * noise_) break;
    problem.flip(state, least - costs.begin());
  }
  return state.open;
}

/// Whether the keys fit better than chance allows. If many sets of keys are tried, one of them may
/// fit a few equations by chance.
bool RowSolver::is_evident(const Search& search, const State& state) const {
  const double n = static_cast<double>(search.problem.equations());
  const double keys = static_cast<double>(std::max<Index>(search.problem.keys(), 2));
  const double gain = n / 2 * std::log(search.base.cost / std::max(state.cost, n * noise_ / 4));
  return gain > description(differing(state.open, search.supposed), keys) + kEvident;
}

/// Finds keys that differ from the supposed ones although another key in their place would fit
/// about as well. Makes both keys undecided.
void RowSolver::add_alike(const Search& search, RowAnswer& answer) const {
  const std::vector<Index> flips = differing(answer.open, search.supposed);
  if (flips.size() > kMostSwaps) return;
  const RowProblem problem(call_, {search.problem.heads().begin(), search.problem.heads().end()},
                           search.problem.row(), answer.open);
  const State state = problem.at(answer.open);
  std::vector<std::uint8_t> alike(as_size(problem.keys()));
  for (const Index flip : flips) {
    State other = state;
    problem.flip(other, flip);
    const std::vector<double> costs = problem.costs_of_flips({&other, 1});
    for (Index j = 0; j < problem.keys(); ++j) {
      if (j == flip || costs[as_size(j)] - state.cost >= kDecided * noise_) continue;
      alike[as_size(j)] = alike[as_size(flip)] = 1;
    }
  }
  for (Index j = 0; j < problem.keys(); ++j) {
    if (!alike[as_size(j)] || std::ranges::binary_search(answer.light, j)) continue;
    answer.alike.push_back(j);
  }
}

std::optional<RowAnswer> RowSolver::settled(const Search& search, const State& state,
                                            bool any) const {
  if (state.cost > search.cheap) return {};
  if (!any && !is_evident(search, state)) return {};
  const OpenKeys open = polished(search, state.open);
  auto answer = judge(search.problem.heads(), search.problem.row(), open);
  if (!answer) return {};
  if (!any) add_alike(search, *answer);
  return answer;
}

/// Returns the cheapest of `base` and the states of `starts`. Each start is first tried on only
/// some of the heads, and left out if its cost is too high there.
State RowSolver::cheapest(const RowProblem& problem, const State& base,
                          std::span<const OpenKeys> starts) const {
  constexpr Index kChannels = 128;
  constexpr double kPromising = 4;
  const Index dim = std::max<Index>(call_.dims().value_dim, 1);
  const auto some =
      problem.heads().first(std::min(problem.heads().size(), as_size(ceil_div(kChannels, dim))));
  const RowProblem sample(call_, {some.begin(), some.end()}, problem.row(), problem.base());
  State best = base;
  double least = sample.at(base.open).cost;
  for (const OpenKeys& start : starts) {
    const double cost = sample.at(start).cost;
    if (cost >= least && cost > kPromising * enough(sample.equations())) continue;
    least = std::min(cost, least);
    State state = problem.at(start);
    if (state.cost < best.cost) best = std::move(state);
  }
  return best;
}

/// The row of a search with a base in which all keys are open. If keys of large weight are wrongly
/// supposed to be open, rounding is overestimated under the supposed base.
RowProblem RowSolver::all_open(const RowProblem& problem) const {
  const OpenKeys all(as_size(problem.keys()), 1);
  return {call_, {problem.heads().begin(), problem.heads().end()}, problem.row(), all};
}

/// The answer with the keys `found`, some of which are uncertain; these are then as supposed, and
/// undecided.
std::optional<RowAnswer> RowSolver::with_uncertain(const Search& search,
                                                   const std::optional<LeastSquares>& found) const {
  if (!found) return {};
  auto answer = settled(search, search.problem.at(found->open), true);
  if (!answer) return {};
  // settled() may have changed some of the keys. Keys that are uncertain may change, and so may
  // light keys (of too little weight to be decided), but no others.
  for (const Index j : differing(answer->open, found->open)) {
    const bool free = std::ranges::binary_search(found->uncertain, j) ||
                      std::ranges::binary_search(answer->light, j);
    if (!free) return {};
  }
  for (const Index j : found->uncertain) {
    if (!std::ranges::binary_search(answer->light, j)) answer->alike.push_back(j);
    answer->open[as_size(j)] = search.supposed[as_size(j)];
  }
  return answer;
}

/// Finds all keys at once, as the numbers that fit the outputs best, from either base.
std::optional<RowAnswer> RowSolver::by_least_squares(const Search& search) const {
  // Of the keys that least squares leaves uncertain, only a few sets may fit the row.
  const auto refined = [&](std::optional<LeastSquares> all) {
    if (!all || all->uncertain.empty()) return all;
    const auto heads = search.problem.heads();
    const RowProblem near(call_, {heads.begin(), heads.end()}, search.problem.row(), all->open);
    auto sets = solve_sets(near, all->uncertain, noise_, search.cheap);
    return sets ? sets : all;
  };
  auto answer = with_uncertain(search, refined(solve_all(search.problem, noise_)));
  if (answer) return answer;
  return with_uncertain(search, refined(solve_all(all_open(search.problem), noise_)));
}

/// Finds keys in runs: moves the ends of those of `best` and of the base, then tries a single run
/// and whole tiles. Leaves the last two states in `ends` and `tiles`.
std::optional<RowAnswer> RowSolver::by_runs(const Search& search, const State& best, State& ends,
                                            State& tiles) const {
  const RowProblem& problem = search.problem;
  // The cheapest start may have more wrong ends of runs of open keys than the problem's base (its
  // first guess), so the search moves the ends of runs in both.
  for (const State* from : {&best, &search.base}) {
    if (from == &search.base && best.open == search.base.open) break;
    ends = align_ends(problem, move_ends(problem, *from, search.cheap / 2), kDecided * noise_);
    if (auto answer = settled(search, ends, false)) return answer;
  }
  if (auto answer = settled(search, one_run(problem, search.base), false)) return answer;
  tiles = change_tiles(problem, search.base, search.cheap / 2);
  return settled(search, tiles, false);
}

/// Finds any set of keys that fits, in the order of cost.
std::optional<RowAnswer> RowSolver::by_sets(const Search& search) const {
  std::vector<Index> keys(as_size(search.problem.keys()));
  std::iota(keys.begin(), keys.end(), Index{0});
  return with_uncertain(search, solve_sets(all_open(search.problem), keys, noise_, search.cheap));
}

std::optional<RowAnswer> RowSolver::solve(std::span<const Head> heads, Index row,
                                          const OpenKeys& supposed,
                                          std::span<const OpenKeys> starts) {
  const auto is_nan = [&](Head head) { return call_.is_nan(head, row); };
  if (std::ranges::any_of(heads, is_nan)) return judge(heads, row, OpenKeys(supposed.size()));
  const RowProblem problem(call_, {heads.begin(), heads.end()}, row, supposed);
  const Search search{problem, supposed, problem.at(supposed), 2 * enough(problem.equations())};
  const State best = cheapest(problem, search.base, starts);
  if (auto answer = settled(search, best, false)) return answer;
  constexpr Index kFew = 8;
  const State flipped = flip_keys(problem, search.base, 1, kFew, search.cheap / 2);
  if (auto answer = settled(search, flipped, false)) return answer;
  if (problem.equations() + 1 >= problem.keys()) {
    if (auto answer = tried(all_, [&] { return by_least_squares(search); })) return answer;
  }
  State ends = search.base, tiles = search.base;
  if (auto answer = tried(runs_, [&] { return by_runs(search, best, ends, tiles); })) return answer;
  if (auto answer = tried(sets_, [&] { return by_sets(search); })) return answer;
  return tried(many_, [&] {
    return by_many_flips(search, std::array<const State*, 3>{&search.base, &ends, &tiles});
  });
}

/// Searches for sets that differ in many keys from one of the states `from`.
std::optional<RowAnswer> RowSolver::by_many_flips(const Search& search,
                                                  std::span<const State* const> from) const {
  constexpr double kMostFlipProducts = 4e9;
  const RowProblem& problem = search.problem;
  const Index equations = problem.equations();
  const Index most = std::min<Index>(equations / 6 + 2, 40);
  const double products = static_cast<double>(equations * problem.keys() * most);
  for (const Index width : {Index{8}, Index{64}, Index{256}}) {
    if (static_cast<double>(width) * products > kMostFlipProducts) break;
    for (const State* start : from) {
      const bool first = start == from.front();
      if (!first && (width != 8 || start->cost >= from.front()->cost)) continue;
      const State found = flip_keys(problem, *start, width, most, search.cheap / 2);
      if (auto answer = settled(search, found, false)) return answer;
    }
  }
  return {};
}

}  // namespace maskctl::attention::solving
