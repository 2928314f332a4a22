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
      const bool milder = now == Outcome::kObeys || now == Outcome::kUndecided ||
                          now == Outcome::kRefuses;  // no crash, hang or wrong result is
      if (!milder && then != now) CHECK(seen == Change::kWorse);
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
  CHECK(change(of(Outcome::kWrong, "lse to base 2"), of(Outcome::kWrong, "rows of zeros")) ==
        Change::kWorse);
  CHECK(change(of(Outcome::kRefuses, "no"), of(Outcome::kRefuses, "never")) == Change::kAsBefore);
  CHECK(change({}, of(Outcome::kObeys, "")) == Change::kAsBefore);
  CHECK(change({}, of(Outcome::kRefuses, "no")) == Change::kWorse);
}

TEST_CASE("kit: a lower precision than before is worse, and a higher one better") {
  const CaseVerdict full{Outcome::kObeys, "", ""}, low{Outcome::kObeys, "", "out holds float16"};
  CHECK(change(full, low) == Change::kWorse);
  CHECK(change(low, full) == Change::kBetter);
  CHECK(change(low, low) == Change::kAsBefore);
  CHECK(change({}, low) == Change::kAsBefore);
}

TEST_CASE("kit: the cause of a verdict has no numbers and no places") {
  CHECK(cause_of("obeys its mask, in another call: softmax_scale 0.25 instead of 1.5e-3 (head 0, "
                 "queries 0-3, 7)") ==
        "obeys its mask, in another call: softmax_scale # instead of #");
  CHECK(cause_of("lse to base 2 (lse / ln 2)") == "lse to base #");
  CHECK(cause_of("rows of NaN (all of lse)") == "rows of NaN (all of lse)");
  CHECK(cause_of("lse times -1") == "lse times -#");
  CHECK(cause_of("3-17, and 4.") == "#, and #.");
}

}  // namespace
}  // namespace maskctl::kit
