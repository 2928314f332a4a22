// Tests that verify names mistakes of a call of attention, from outputs made by plain loops.
#include "maskctl/verify/verdict.h"
#include "support/catch_compat.h"
#include "support/mistaken_call.h"
#include "support/rounds.h"

namespace mistake_cases {
namespace {

using namespace maskctl;
using attention::Verdict;

TEST_CASE("mistakes: each is judged as itself or as one with the same results, a right call never",
          "[values]") {
  Index told = 0, undecided = 0;
  for (std::uint64_t seed = 1; seed <= test::rounds(16U); ++seed) {
    twin::MistakeMaker made(seed);
    const auto right = judge_results(made.judged(), made.given(made.right())).judgement;
    INFO("seed " << seed << ", " << made.family() << ": " << to_text(right));
    CHECK((right.verdict == Verdict::kObeys || right.verdict == Verdict::kUnclear));
    const std::vector<twin::Mistake> all = made.mistakes();
    for (const twin::Mistake& mistake : all) {
      const auto judgement = judge_results(made.judged(), made.given(mistake.results)).judgement;
      const twin::Answer answer = twin::answer_to(made, mistake, all, judgement);
      INFO("made: " << mistake.words << "; " << to_text(judgement));
      CHECK((answer == twin::Answer::kNamed || answer == twin::Answer::kUndecided));
      ++(answer == twin::Answer::kNamed ? told : undecided);
    }
  }
  CHECK(undecided <= told / 20);
}

}  // namespace
}  // namespace mistake_cases
