// Measures how often solve_mask finds the mask of a random attention call in its inputs and
// outputs: solve_rate [--count N] [--seed N] [--longest T] [--only N] [--gradients] [--show].
// "Heavy" cells weigh more than the rounding of the outputs: at most 1 % of them may be undecided.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>

#include "../support/solved_problem.h"
#include "maskctl/base/error.h"
#include "maskctl/base/text.h"

int main(int argc, char** argv) {
  using namespace maskctl;
  Index count = 100, longest = 1024, only = -1;
  std::uint64_t seed = 1;
  bool show = false, gradients = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    show |= name == "--show";
    gradients |= name == "--gradients";
    if (i + 1 == argc) break;
    if (name == "--count") count = number_from<Index>(argv[i + 1]).value_or(count);
    if (name == "--longest") longest = number_from<Index>(argv[i + 1]).value_or(longest);
    if (name == "--only") only = number_from<Index>(argv[i + 1]).value_or(only);
    if (name == "--seed") seed = number_from<std::uint64_t>(argv[i + 1]).value_or(seed);
  }
  std::map<std::string, twin::SolvedScore> sums;
  twin::SolvedScore all;
  double slowest = 0, spent = 0;
  Index refused = 0;
  for (Index i = 0; i < count; ++i) {
    if (only >= 0 && i != only) continue;
    const auto problem =
        twin::SolvedProblemMaker(seed * 1000003 + static_cast<std::uint64_t>(i), longest, gradients)
            .draw();
    const auto start = std::chrono::steady_clock::now();
    const std::string kind =
        fmt::format("{} {}x{} {} heads of {}{}, {}", name(problem.dtype), problem.applied.queries,
                    problem.applied.keys, problem.heads, problem.dim,
                    problem.applied.heads > 1 ? ", apart" : "", problem.what);
    attention::SolvedMask solved;
    try {
      solved = attention::solve_mask(problem.request, problem.given);
    } catch (const Error& error) {
      fmt::print("{} {}: {}\n", i, kind, error.what());
      ++refused;
      continue;
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, took.count()), spent += took.count();
    const twin::SolvedScore one = score(problem, solved);
    for (twin::SolvedScore* sum : {&all, &sums[problem.what]}) {
      sum->cells += one.cells, sum->decided += one.decided, sum->wrong += one.wrong;
      sum->heavy_undecided += one.heavy_undecided, sum->differing += one.differing;
      sum->found += one.found, sum->heavy += one.heavy;
    }
    if (!show && one.wrong == 0 && 1000 * one.heavy_undecided <= one.heavy && took.count() < 60) {
      continue;
    }
    fmt::print(
        "{}{} {}: {} cells, {} of {} differing found, {} wrong, {} undecided ({} heavy), {} "
        "unsolved rows, noise {:.2f}, margin {:.1f}, {:.2f} s\n",
        one.wrong > 0 ? "WRONG " : "", i, kind, one.cells, one.found, one.differing, one.wrong,
        one.cells - one.decided, one.heavy_undecided, solved.unsolved_rows, solved.noise,
        solved.margin, took.count());
    for (const Cell& cell : one.first_wrong) {
      fmt::print("  wrong: batch {}, head {}, query {}, key {}\n", cell.batch, cell.head,
                 cell.query, cell.key);
    }
  }
  const auto share = [](const twin::SolvedScore& sum) {
    return 100 * static_cast<double>(sum.heavy_undecided) /
           static_cast<double>(std::max<Index>(sum.heavy, 1));
  };
  for (const auto& [what, sum] : sums) {
    fmt::print(
        "{:10} {} cells, {} of {} differing found, {} wrong, {} undecided, {} of them heavy: "
        "{:.3f} % of heavy cells\n",
        what, sum.cells, sum.found, sum.differing, sum.wrong, sum.cells - sum.decided,
        sum.heavy_undecided, share(sum));
  }
  fmt::print(
      "{} wrong; {} of {} heavy cells undecided, {:.3f} %; {} refused; {:.1f} s, slowest {:.1f} "
      "s\n",
      all.wrong, all.heavy_undecided, all.heavy, share(all), refused, spent, slowest);
  return all.wrong == 0 && 100 * all.heavy_undecided <= all.heavy ? 0 : 1;
}
