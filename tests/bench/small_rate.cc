// Measures how often recognise names small masks of the kinds that libraries make: small_rate
// [--count N] [--seed N] [--first N] [--show].
#include <fmt/format.h>

#include "../support/small_masks.h"
#include "draws.h"

int main(int argc, char** argv) {
  using namespace maskctl;
  const Draws draws = draws_from(argc, argv, {.count = 500});
  bool good = true;
  for (std::size_t kind = 0; kind < std::size(twin::kSmallKinds); ++kind) {
    Index right = 0;
    for (Index i = draws.first; i < draws.first + draws.count; ++i) {
      const twin::SmallMask made =
          twin::SmallMaker(draws.seed_of(i)).draw(static_cast<twin::SmallKind>(kind));
      const Recognised found = recognise(made.mask);
      const bool named = twin::names_small(made, found);
      right += named;
      if (!draws.show || named) continue;
      fmt::print("{} {}\n    {} steps, {} cells{}\n", i, made.text, twin::leaf_steps(found.chain),
                 found.residue.cells,
                 twin::reads_arrays(found.chain) ? ", arrays" : ": " + to_text(found.chain));
    }
    fmt::print("{}: {} of {}\n", twin::kSmallKinds[kind], right, draws.count);
    good = good && right * 100 >= draws.count * 97;
  }
  return good ? 0 : 1;
}
