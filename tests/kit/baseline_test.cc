// Tests what counts as better and as worse than an earlier run, for all pairs of outcomes.
#include "maskctl/kit/baseline.h"

#include "support/catch_compat.h"

namespace maskctl::kit {
namespace {

TEST_CASE("kit: only what was so before, or is milder, is allowed by a baseline") {
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    const auto then = static_cast<Outcome>(i);
    CHECK(outcome_named(name(then)) == then);
    for (std::size_t k = 0; k < kOutcomes; ++k) {
      const auto now = static_cast<Outcome>(k);
      INFO(name(then) << ", now " << name(now));
      const Change seen = change(CaseVerdict{then, "a"}, {now, "a"});
      CHECK((seen == Change::kAsBefore) == (then == now));
      if (now == Outcome::kObeys && then != now) CHECK(seen == Change::kBetter);
      if (then == Outcome::kObeys && then != now) CHECK(seen == Change::kWorse);
      if (now == Outcome::kSkipped && then != now) CHECK(seen == Change::kWorse);
      const bool wrong = now == Outcome::kWrong || now == Outcome::kAnother;
      if (wrong && then != now) CHECK(seen == Change::kWorse);
      // What is better one way is worse the other way.
      const Change back = change(CaseVerdict{now, "a"}, {then, "a"});
      if (seen == Change::kBetter) CHECK(back == Change::kWorse);
    }
  }
  CHECK_FALSE(outcome_named("fine"));
}

TEST_CASE("kit: another mask than before is worse, and a case without a baseline has to obey") {
  const auto of = [](Outcome outcome, const char* text) { return CaseVerdict{outcome, text}; };
  CHECK(change(of(Outcome::kAnother, "left 3"), of(Outcome::kAnother, "left 2")) == Change::kWorse);
  CHECK(change(of(Outcome::kWrong, "9 rows"), of(Outcome::kWrong, "8 rows")) == Change::kAsBefore);
  CHECK(change(of(Outcome::kRefuses, "no"), of(Outcome::kRefuses, "never")) == Change::kAsBefore);
  CHECK(change({}, of(Outcome::kObeys, "")) == Change::kAsBefore);
  CHECK(change({}, of(Outcome::kRefuses, "no")) == Change::kWorse);
}

}  // namespace
}  // namespace maskctl::kit
