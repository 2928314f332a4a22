// How often diff names the cause of random single mutations of random chains:
// diff_cause_rate [--count N] [--seed N] [--show].
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <string>

#include "../support/mutated_chain.h"
#include "maskctl/inspect/diff.h"
#include "maskctl/pipeline/bind.h"
#include "maskctl/pipeline/values.h"

namespace {

using namespace maskctl;

struct Counts {
  Index all = 0, right = 0, other = 0, none = 0;
};

}  // namespace

int main(int argc, char** argv) {
  Index count = 2000;
  std::uint64_t seed = 1;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    show |= name == "--show";
    if (name == "--count" && i + 1 < argc) count = integer_from(argv[i + 1]).value_or(count);
    if (name == "--seed" && i + 1 < argc) seed = seed_from(argv[i + 1]).value_or(seed);
  }
  std::map<std::string, Counts> counts;
  double slowest = 0;
  for (Index i = 0; i < count; ++i) {
    const auto pair = twin::Mutator(seed * 1000003 + static_cast<std::uint64_t>(i)).draw();
    const auto start = std::chrono::steady_clock::now();
    const auto cause = diff_cause(pair.a, pair.b);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    slowest = std::max(slowest, spent.count());
    for (Counts* sum : {&counts[pair.what], &counts["all"]}) {
      ++sum->all;
      if (twin::is_right(pair, cause)) {
        ++sum->right;
      } else {
        ++(cause ? sum->other : sum->none);
      }
    }
    if (!show || (twin::is_right(pair, cause) && spent.count() < 0.2)) continue;
    if (spent.count() >= 0.2) fmt::print("slow, {:.2f} s: ", spent.count());
    fmt::print("{} {} {}x{}: {} -> {}: {}\n", i, pair.what, pair.a.queries(), pair.a.keys(),
               to_text(pair.before), to_text(pair.after),
               cause ? cause->kind + ": " + cause->text : "nothing");
  }
  for (const auto& [what, sum] : counts) {
    fmt::print("{:10} {:6} pairs: {:6.2f} % right, {:6.2f} % another answer, {:6.2f} % none\n",
               what, sum.all, 100.0 * static_cast<double>(sum.right) / static_cast<double>(sum.all),
               100.0 * static_cast<double>(sum.other) / static_cast<double>(sum.all),
               100.0 * static_cast<double>(sum.none) / static_cast<double>(sum.all));
  }
  fmt::print("slowest {:.1f} ms\n", slowest * 1e3);
  const Counts& all = counts["all"];
  return all.right * 100 >= all.all * 95 ? 0 : 1;
}
