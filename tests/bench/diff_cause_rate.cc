// Measures how often the causes that diff names for random edits of random masks are right:
// applying a cause must explain the edit, and it must name every step whose number was changed:
// diff_cause_rate [--count N] [--seed N] [--first N] [--show].
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <string>

#include "../support/edited_pair.h"
#include "draws.h"
#include "maskctl/base/error.h"
#include "maskctl/mask/steps/chain_text.h"

namespace {

using namespace maskctl;

double share(Index part, Index whole) {
  return 100.0 * static_cast<double>(part) / static_cast<double>(std::max<Index>(whole, 1));
}

/// Returns the cause that diff names. If the masks are beyond diff's limit, returns none and sets
/// `is_refused`.
std::optional<DiffCause> cause_of(const twin::EditedPair& pair, bool& is_refused) {
  try {
    return diff_cause(pair.a, pair.b);
  } catch (const Error& error) {
    is_refused = error.code() == Errc::kLimit;
    if (!is_refused) throw;
    return std::nullopt;
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Draws draws = draws_from(argc, argv);
  Index are_true = 0, are_small = 0, are_complete = 0, refused = 0;
  double slowest = 0, slowest_large = 0;
  for (Index i = draws.first; i < draws.first + draws.count; ++i) {
    const auto pair = twin::Editor(draws.seed_of(i)).draw();
    const auto start = std::chrono::steady_clock::now();
    bool is_refused = false;
    const auto cause = cause_of(pair, is_refused);
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    double& its_slowest = pair.a.keys() > 100'000 ? slowest_large : slowest;
    its_slowest = std::max(its_slowest, spent.count());
    refused += is_refused;
    if (is_refused) continue;
    const twin::Verdict verdict = twin::judged(pair, cause);
    are_true += verdict.is_true;
    are_small += verdict.small;
    are_complete += verdict.complete;
    if (draws.show && spent.count() > 0.2) {
      fmt::print("{} took {:.0f} ms, {} tokens: {} -> {}\n", i, spent.count() * 1e3, pair.a.keys(),
                 to_text(pair.before), to_text(pair.after));
    }
    if (!draws.show || (verdict.is_true && verdict.small && verdict.complete)) continue;
    fmt::print("{} [{} {} {} {}] {}: {} -> {} ({} cells): {}{}{}\n    {}: {}\n", i, pair.a.batch(),
               pair.a.heads(), pair.a.queries(), pair.a.keys(), pair.what, to_text(pair.before),
               to_text(pair.after), pair.cells, verdict.is_true ? "" : "FALSE ",
               verdict.small ? "" : "residue ", verdict.complete ? "" : "incomplete",
               cause ? cause->kind : "", cause ? cause->text : "nothing");
  }
  const Index judged = draws.count - refused;
  fmt::print(
      "{} pairs: {:.2f} % true, {:.2f} % with no more residue than cells, {:.2f} % name all "
      "that moved; {} more beyond a limit; slowest {:.0f} ms, of a million tokens {:.0f} ms\n",
      judged, share(are_true, judged), share(are_small, judged), share(are_complete, judged),
      refused, slowest * 1e3, slowest_large * 1e3);
  const bool good =
      are_true == judged && share(are_small, judged) >= 95 && share(are_complete, judged) >= 95;
  return good ? 0 : 1;
}
