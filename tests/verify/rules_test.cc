// Tests the rules that accept or refuse kernels, on numbers computed by hand, and their scores.
#include "maskctl/verify/mutants/rules.h"

#include <limits>

#include "maskctl/base/error.h"
#include "maskctl/mask/steps/causal.h"
#include "maskctl/verify/mutants/score.h"
#include "support/catch_compat.h"

namespace rule_cases {
namespace {

using namespace maskctl;
using namespace maskctl::attention;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor numbers(const std::vector<float>& values) {
  Tensor out(DType::kFloat32, {static_cast<Index>(values.size())});
  std::ranges::copy(values, out.as<float>().begin());
  return out;
}

TEST_CASE("rules: allclose adds the absolute and the relative tolerance per element", "[mutants]") {
  const auto close = [](float a, float b) {
    return all_close(numbers({1, a}), numbers({1, b}), 0.01, 0.1);
  };
  CHECK(close(2.11F, 2));  // 0.11 <= 0.1 + 0.02
  CHECK_FALSE(close(2.125F, 2));
  CHECK(close(0.0625F, 0));
  CHECK_FALSE(close(0.125F, 0));
  CHECK(close(-kInfinity, -kInfinity));
  CHECK_FALSE(close(-kInfinity, kInfinity));
  CHECK_FALSE(close(1, kInfinity));
  CHECK_FALSE(close(kNan, 1));
  CHECK_FALSE(close(kNan, kNan));
  CHECK_THROWS_AS(all_close(numbers({1}), numbers({1, 2}), 1, 1), Error);
}

TEST_CASE("rules: flashinfer-bench refuses an element if both of its errors are too large",
          "[mutants]") {
  const auto within = [](float a, float b) {
    return within_either(numbers({a}), numbers({b}), 0.01, 0.01);
  };
  CHECK(within(100.5F, 100));     // 0.5 off, and 0.5 %
  CHECK(within(0.005F, 0.001F));  // 0.004 off, and 400 %
  CHECK_FALSE(within(0.5F, 0.48F));
  CHECK_FALSE(within(kNan, 1));
  CHECK_FALSE(within(1, kInfinity));
  CHECK(within(-kInfinity, -kInfinity));
}

TEST_CASE("rules: the rule of flash-attention compares the largest errors", "[mutants]") {
  // In float32, adding 0.3 to numbers below 1 loses at most 2^-24, so only twice the error counts.
  const Tensor exact = numbers({0.5F, -0.25F}), low = numbers({0.5F, -0.2578125F});
  const auto within = [&](float a, float b) {
    return within_twice(numbers({a, b}), low, exact, DType::kFloat32);
  };
  CHECK(within(0.515F, -0.25F));  // 0.015 <= 2 * 0.0078125
  CHECK_FALSE(within(0.516F, -0.25F));
  CHECK(within(0.5F, -0.235F));
  CHECK_FALSE(within(0.5F, kNan));
  // In bfloat16 0.01001 + 0.3 - 0.3 is 0.01056: 0.00055 are lost, so that 0.0011 may be.
  const Tensor small = numbers({0.01F});
  CHECK(within_twice(numbers({0.011F}), small, small, DType::kBFloat16));
  CHECK_FALSE(within_twice(numbers({0.011F}), small, small, DType::kFloat32));
}

TEST_CASE("rules are found by name; the error about another name lists them", "[mutants]") {
  for (const char* const name : {"kernelbench", "flashinfer-bench", "fa", "verify"}) {
    CHECK(rule_named(name).name == name);
  }
  CHECK(rule_named("allclose:0.05,1e-3").name == "allclose:0.05,1e-3");
  CHECK_THROWS_WITH(rule_named("kernel"), Catch::Contains("flashinfer-bench"));
  for (const char* const text : {"allclose:", "allclose:1", "allclose:1,2,3", "allclose:-1,0",
                                 "allclose:nan,0", "allclose:inf,0", "allclose:a,b"}) {
    CHECK_THROWS_WITH(rule_named(text), Catch::Contains("allclose:R,A"));
  }
}

MutantCall causal_call(Index tokens) {
  MutantCall call;
  call.base = full_mask(1, 1, tokens, tokens);
  call.steps = {step::Causal{}};
  call.dim = 32;
  return call;
}

TEST_CASE("rules: all rules refuse gross mistakes, and none refuses right kernels", "[mutants]") {
  const std::vector<std::string> kinds = {"mask-dropped", "head-missing", "rows-reversed",
                                          "right-rounded", "right-tiles"};
  const Mutants mutants(causal_call(128), 2, {.only = kinds});
  for (Index number = 0; number < 10; ++number) {
    const Mutant mutant = mutants.make(number);
    for (const char* const name :
         {"kernelbench", "flashinfer-bench", "fa", "allclose:0.05,0.05", "verify"}) {
      CAPTURE(mutant.truth.kind, name);
      const RuleVerdict verdict = rule_named(name).judge(mutants, mutant);
      CHECK(verdict.answer ==
            (is_right(mutant.truth.group) ? RuleAnswer::kAccepts : RuleAnswer::kRefuses));
    }
  }
}

TEST_CASE("rules: a tolerance accepts a wrong cell of little weight; verify states its bound",
          "[mutants]") {
  const std::vector<std::string> kinds = {"cell-closed"};
  const Mutants mutants(causal_call(256), 4, {.only = kinds});
  const AcceptanceRule wide = rule_named("allclose:1,10"), own = rule_named("verify");
  for (Index number = 0; number < 6; ++number) {
    const Mutant mutant = mutants.make(number);
    CAPTURE(mutant.truth.text, mutant.truth.weight);
    CHECK(wide.judge(mutants, mutant).answer == RuleAnswer::kAccepts);
    CHECK(wide.judge(mutants, mutant).bound == 0);
    const RuleVerdict verdict = own.judge(mutants, mutant);
    if (verdict.answer == RuleAnswer::kAccepts) CHECK(verdict.bound > mutant.truth.weight);
  }
}

Mutant with_truth(std::string_view kind, MutantGroup group, double weight) {
  Mutant out;
  out.truth.kind = kind;
  out.truth.group = group;
  out.truth.weight = weight;
  return out;
}

TEST_CASE("scores count answers by kind, and cells below the bound that a rule states",
          "[mutants]") {
  RuleScore score;
  const auto add = [&score](const Mutant& mutant, RuleVerdict verdict, bool reads_lse = true) {
    score.add("mask", mutant, verdict, reads_lse);
  };
  const Mutant light = with_truth("cell-opened", MutantGroup::kMask, 0.01);
  const Mutant heavy = with_truth("cell-opened", MutantGroup::kMask, 0.5);
  Mutant lse = with_truth("lse-base-2", MutantGroup::kResult, 0);
  lse.truth.lse_only = true;
  add(light, {RuleAnswer::kAccepts, 0.02});
  CHECK_FALSE(score.fails());
  add(heavy, {RuleAnswer::kRefuses});
  add(heavy, {RuleAnswer::kUndecided});
  add(heavy, {RuleAnswer::kError, 0, "exit status 9"});
  add(lse, {RuleAnswer::kAccepts}, false);
  add(with_truth("right-exact", MutantGroup::kRight, 0), {RuleAnswer::kAccepts});
  CHECK_FALSE(score.fails());
  CHECK(score.errors() == 1);
  CHECK(score.first_error == "exit status 9");
  add(heavy, {RuleAnswer::kAccepts, 0.02});
  CHECK(score.fails());
  REQUIRE(score.kinds.size() == 3);
  const KindScore& cells = score.kinds[0];
  CHECK(cells.kind == "cell-opened");
  CHECK(cells.made == 5);
  CHECK(cells.accepted == 2);
  CHECK(cells.refused == 1);
  CHECK(cells.undecided == 1);
  CHECK(cells.above_bound == 1);
  CHECK(cells.least_passed == 0.01);
  CHECK(cells.most_passed == 0.5);
  CHECK(score.kinds[1].unread == 1);
  CHECK(score.accepted.front().truth.weight == 0.5);
  CHECK(score.sum(&KindScore::accepted, of_wrong) == 2);
  RuleScore of_lse;
  of_lse.add("mask", lse, {RuleAnswer::kAccepts, 1}, true);
  CHECK(of_lse.fails());
  RuleScore strict;
  strict.add("mask", with_truth("cache-fp8", MutantGroup::kCoarse, 0), {}, true);
  CHECK(strict.fails());
  CHECK(strict.refused.size() == 1);
}

}  // namespace
}  // namespace rule_cases
