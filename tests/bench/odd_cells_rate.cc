// Measures how often recognise, and diff in both orders, name the fault that was put into a packed
// mask, and nothing else: odd_cells_rate [--count N] [--seed N] [--first N] [--show].
#include <fmt/format.h>

#include <string>

#include "../support/odd_masks.h"
#include "draws.h"
#include "maskctl/mask/steps/block.h"
#include "maskctl/mask/steps/chain_text.h"
#include "maskctl/mask/steps/document.h"
#include "maskctl/mask/steps/scoped.h"
#include "maskctl/mask/steps/tokens.h"

namespace {

using namespace maskctl;

/// The chain as text. Its arrays come from no file, so they get names for it.
std::string text_of(Chain chain) {
  const auto name = [](const auto& self, Chain& some) -> void {
    for (Step& step : some) {
      if (auto* ids = step.get_if<step::Document>()) ids->q.text = ids->kv.text = "(ids)";
      if (auto* types = step.get_if<step::Tokens>()) {
        types->q.text = types->kv.text = "(types)";
      }
      if (auto* map = step.get_if<step::Block>()) map->map.text = "(map)";
      if (auto* scoped = step.get_if<step::Scoped>()) self(self, scoped->chain);
    }
  };
  name(name, chain);
  return to_text(chain);
}

}  // namespace

int main(int argc, char** argv) {
  const Draws draws = draws_from(argc, argv);
  Rate recognised{"recognise"}, forth{"diff"}, back{"diff, other order"};
  for (Index i = draws.first; i < draws.first + draws.count; ++i) {
    const twin::OddMask made = twin::OddMaskMaker(draws.seed_of(i)).draw();
    const Recognised found = recognised.timed([&] { return recognise(made.odd); });
    const bool named = twin::names_odd(made, found);
    recognised.right += named;
    if (draws.show && !named) {
      fmt::print("{} {}\n    recognise: {} and {} cells\n", i, made.text, text_of(found.chain),
                 found.residue.cells);
    }
    const auto compare = [&](Rate& rate, const Mask& a, const Mask& b) {
      const auto cause = rate.timed([&] { return diff_cause(a, b); });
      const bool right = cause && twin::names_odd(made, a, b, *cause);
      rate.right += right;
      if (draws.show && !right)
        fmt::print("{} {}\n    {}: {}\n", i, made.text, rate.name, cause->text);
    };
    compare(forth, made.odd, made.sound);
    compare(back, made.sound, made.odd);
  }
  for (const Rate& rate : {recognised, forth, back}) {
    fmt::print("{}: {} of {} name what is odd and nothing else; {:.1f} ms, at most {:.0f} ms\n",
               rate.name, rate.right, draws.count,
               rate.all_seconds * 1e3 / static_cast<double>(draws.count),
               rate.slowest_seconds * 1e3);
  }
}
