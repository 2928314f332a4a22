// Tests that verify names mistakes of a call of attention, from outputs made by plain loops.
#include "maskctl/base/ranges.h"
#include "maskctl/verify/verdict.h"
#include "support/catch_compat.h"
#include "support/mistaken_call.h"
#include "support/rounds.h"

namespace mistake_cases {
namespace {

using namespace maskctl;
using attention::Verdict;

TEST_CASE("mistakes: each is named, or one with the same results; a right call never is",
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

TEST_CASE("mistakes: a scale of some heads is said of these, with its numbers", "[values]") {
  Index told = 0, untold = 0;
  for (std::uint64_t seed = 1; seed <= test::rounds(40U); ++seed) {
    twin::MistakeMaker made(seed);
    twin::MistakenCall call = made.call();
    if (call.heads < 2 || call.batch * call.queries < 8) continue;
    const Index some = 1 + static_cast<Index>(seed) % ((Index{1} << call.heads) - 2);
    std::vector<Index> heads;
    for (Index h = 0; h < call.heads; ++h) {
      if ((some >> h & 1) == 0) continue;
      heads.push_back(h);
      call.head_scales[h] = call.scale * (seed % 3 == 0 ? 0.5 + 0.4 * static_cast<double>(h) : 1.6);
    }
    const twin::MistakenResult results = attend(call);
    const auto judgement =
        judge_results(made.judged(), {{"out", made.given(results).at("out")}}).judgement;
    INFO("seed " << seed << ", " << made.family() << ", heads " << some << ": "
                 << to_text(judgement));
    const bool named = judgement.text.starts_with("softmax_scale ");
    const bool obeys = judgement.verdict == Verdict::kObeys;
    CHECK((named || judgement.verdict == Verdict::kNone || judgement.verdict == Verdict::kUnclear ||
           (obeys && made.apart(results, made.right()) <= 40)));
    ++(named ? told : untold);
    if (!named) continue;
    CHECK(judgement.verdict == Verdict::kOtherCall);
    CHECK(judgement.where.find(range_words(ranges_of(heads), "head") + ", quer") !=
          std::string::npos);
    double least = 1e9;
    for (const Index h : heads) least = std::min(least, call.head_scales.at(h));
    CHECK(std::stod(judgement.text.substr(14)) == Catch::Approx(least).epsilon(0.01));
  }
  CHECK(untold <= told / 8);
}

}  // namespace
}  // namespace mistake_cases
