// Measures how often recognise names ragged documents, each with its own numbers of queries and
// keys, and how often diff, in both orders, names what is wrong with them: ragged_rate [--count N]
// [--seed N] [--first N] [--show].
#include <fmt/format.h>

#include "../support/ragged_masks.h"
#include "draws.h"

using namespace maskctl;

int main(int argc, char** argv) {
  const Draws draws = draws_from(argc, argv);
  Rate recognised{"recognise"}, forth{"diff"}, back{"diff, other order"};
  for (Index i = draws.first; i < draws.first + draws.count; ++i) {
    const twin::RaggedPair made = twin::RaggedMaker(draws.seed_of(i)).draw();
    const Recognised found = recognised.timed([&] { return recognise(made.sound); });
    const bool named = twin::names_ragged(made, found);
    recognised.right += named;
    if (draws.show && !named) {
      fmt::print("{} {}\n    recognise: {} steps, {} cells{}\n", i, made.text,
                 twin::leaf_steps(found.chain), found.residue.cells,
                 twin::reads_arrays(found.chain) ? ", arrays" : ": " + to_text(found.chain));
    }
    const auto compare = [&](Rate& rate, const Mask& a, const Mask& b) {
      const auto cause = rate.timed([&] { return diff_cause(a, b); });
      const bool right = cause && twin::names_bug(made, a, b, *cause);
      rate.right += right;
      if (draws.show && !right) {
        fmt::print("{} {} ({} cells)\n    {}: {}\n", i, made.text, made.cells, rate.name,
                   cause->text);
      }
    };
    compare(forth, made.sound, made.wrong);
    compare(back, made.wrong, made.sound);
  }
  bool good = true;
  for (const Rate& rate : {recognised, forth, back}) {
    fmt::print("{}: {} of {} right; at most {:.0f} ms\n", rate.name, rate.right, draws.count,
               rate.slowest_seconds * 1e3);
    good = good && rate.right * 100 >= draws.count * 99;
  }
  return good ? 0 : 1;
}
