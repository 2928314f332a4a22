// Measures how often verify finds which mask a kernel applied, from random inputs and its output:
// verify_rate [--count N] [--seed N] [--longest T] [--show].
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <string>

#include "../support/judged_problem.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/tensor/dtype.h"

namespace {

using namespace maskctl;
using attention::Verdict;

/// Counts the answers for outputs of one kind.
struct Counts {
  std::map<std::string, Index> verdicts;
  Index all = 0, wrong_answers = 0, named = 0;
};

/// Whether the answer names the mask that was applied.
bool names(const twin::JudgedProblem& problem, const attention::Judgement& judgement) {
  if (judgement.verdict != Verdict::kAnother) return false;
  for (const Neighbour& other : neighbours(problem.declared)) {
    if (other.text != judgement.text) continue;
    return zip(Op::kXor, other.mask, problem.applied).count() == 0;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  Index count = 500, longest = 4400;
  std::uint64_t seed = 1;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    show |= name == "--show";
    if (i + 1 == argc) break;
    if (name == "--count") count = integer_from(argv[i + 1]).value_or(count);
    if (name == "--longest") longest = integer_from(argv[i + 1]).value_or(longest);
    if (name == "--seed") seed = number_from<std::uint64_t>(argv[i + 1]).value_or(seed);
  }
  std::map<std::string, Counts> counts;
  Index false_answers = 0, unclear_f32 = 0, f32 = 0;
  double slowest = 0;
  for (Index i = 0; i < count; ++i) {
    const auto problem =
        twin::ProblemMaker(seed * 1000003 + static_cast<std::uint64_t>(i), longest).draw();
    const auto start = std::chrono::steady_clock::now();
    const attention::Judgement judgement = twin::judged(problem);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, spent.count());
    const bool is_false = twin::is_false(problem, judgement.verdict);
    const bool unclear = judgement.verdict == Verdict::kUnclear;
    false_answers += is_false;
    f32 += problem.dtype == DType::kFloat32;
    unclear_f32 += unclear && problem.dtype == DType::kFloat32;
    const std::string dtype(name(problem.dtype));
    for (const std::string& kind :
         {dtype + (problem.wrong() ? " wrong" : " right"), "applied: " + problem.what}) {
      Counts& sum = counts[kind];
      ++sum.all;
      ++sum.verdicts[std::string(name(judgement.verdict))];
      sum.wrong_answers += is_false;
      sum.named += names(problem, judgement);
    }
    if (!show && !is_false && !unclear) continue;
    fmt::print(
        "{}{} {} {}x{} {} heads, applied: {} ({:.3g} roundings apart): {}: {} ({}), {:.2f} s\n",
        is_false ? "FALSE " : "", i, dtype, problem.declared.queries(), problem.declared.keys(),
        problem.declared.heads(), problem.what, problem.apart, name(judgement.verdict),
        judgement.text, judgement.where, spent.count());
  }
  for (const auto& [kind, sum] : counts) {
    fmt::print("{:28} {:5}:", kind, sum.all);
    for (const auto& [verdict, n] : sum.verdicts) fmt::print(" {} {}", verdict, n);
    fmt::print(", false {}, named rightly {}\n", sum.wrong_answers, sum.named);
  }
  fmt::print("{} problems: {} false answers; undecided: {} of {} in f32; slowest {:.1f} s\n", count,
             false_answers, unclear_f32, f32, slowest);
  return false_answers == 0 && 20 * unclear_f32 <= f32 ? 0 : 1;
}
