// Whether the causes that diff names hold when they are applied, and name all that moved, for
// random masks with random edits: diff_cause_rate [--count N] [--seed N] [--first N] [--show].
#include <fmt/format.h>

#include <chrono>
#include <string>

#include "../support/edited_pair.h"
#include "maskctl/base/text.h"
#include "maskctl/pipeline/parse/values.h"
#include "maskctl/pipeline/steps/bind.h"

namespace {

using namespace maskctl;

double share(Index part, Index whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<Index>(whole, 1));
}

}  // namespace

int main(int argc, char** argv) {
  Index count = 2000;
  Index first = 0;
  std::uint64_t seed = 1;
  bool show = false;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    show |= name == "--show";
    if (name == "--count" && i + 1 < argc) count = integer_from(argv[i + 1]).value_or(count);
    if (name == "--first" && i + 1 < argc) first = integer_from(argv[i + 1]).value_or(first);
    if (name == "--seed" && i + 1 < argc)
      seed = number_from<std::uint64_t>(argv[i + 1]).value_or(seed);
  }
  Index are_true = 0, are_small = 0, are_complete = 0;
  double slowest = 0, slowest_large = 0;
  for (Index i = first; i < first + count; ++i) {
    const auto pair = twin::Editor(seed * 1000003 + static_cast<std::uint64_t>(i)).draw();
    const auto start = std::chrono::steady_clock::now();
    const auto cause = diff_cause(pair.a, pair.b);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    double& its_slowest = pair.a.keys() > 100'000 ? slowest_large : slowest;
    its_slowest = std::max(its_slowest, spent.count());
    const twin::Verdict verdict = twin::judged(pair, cause);
    are_true += verdict.is_true;
    are_small += verdict.small;
    are_complete += verdict.complete;
    if (show && spent.count() > 0.2) {
      fmt::print("{} took {:.0f} ms, {} tokens: {} -> {}\n", i, spent.count() * 1e3, pair.a.keys(),
                 to_text(pair.before), to_text(pair.after));
    }
    if (!show || (verdict.is_true && verdict.small && verdict.complete)) continue;
    fmt::print("{} [{} {} {} {}] {}: {} -> {} ({} cells): {}{}{}\n    {}: {}\n", i, pair.a.batch(),
               pair.a.heads(), pair.a.queries(), pair.a.keys(), pair.what, to_text(pair.before),
               to_text(pair.after), pair.cells, verdict.is_true ? "" : "FALSE ",
               verdict.small ? "" : "residue ", verdict.complete ? "" : "incomplete",
               cause ? cause->kind : "", cause ? cause->text : "nothing");
  }
  fmt::print(
      "{} pairs: {:.2f} % true, {:.2f} % with no more residue than cells, {:.2f} % name all "
      "that moved; slowest {:.0f} ms, of a million tokens {:.0f} ms\n",
      count, share(are_true, count), share(are_small, count), share(are_complete, count),
      slowest * 1e3, slowest_large * 1e3);
  const bool good =
      are_true == count && share(are_small, count) >= 95 && share(are_complete, count) >= 95;
  return good ? 0 : 1;
}
