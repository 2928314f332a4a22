// apply(mask, ...) as programs write it: Chain is a std::vector, so that std::apply is found too.
#include <array>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "maskctl/mask/steps/causal.h"
#include "maskctl/mask/steps/step.h"
#include "maskctl/mask/steps/window.h"
#include "support/catch_compat.h"

namespace {

using Masks = std::vector<maskctl::Mask>;

// Each function spells the same application of `causal` to a mask in every way that it can.

namespace with_using {
using namespace maskctl;  // NOLINT: what programs write

Masks spelled(Mask mask, const Mask& fixed, Chain chain, const Chain& steps) {
  const Step step = steps[0];
  const std::array<Step, 1> array = {step};
  Step raw[] = {step};
  return {
      apply(mask, chain),
      apply(mask, steps),
      apply(fixed, chain),
      apply(fixed, steps),
      apply(Mask(mask), chain),
      apply(Mask(mask), Chain(steps)),
      apply(std::as_const(mask), std::move(chain)),
      apply(mask, std::span(steps)),
      apply(mask, std::span(raw)),
      apply(mask, raw),
      apply(mask, array),
      apply(mask, {step}),
      apply(mask, {step::Causal()}),
      apply(mask, {step::Causal(), step::Causal()}),
      apply(Mask(mask), {step, step}),
      apply(mask, step),
      apply(mask, raw[0]),
      apply(mask, step::Causal()),
      apply(std::move(mask), step),
  };
}
}  // namespace with_using

namespace without_using {
Masks spelled(maskctl::Mask mask, const maskctl::Mask& fixed, maskctl::Chain chain,
              const maskctl::Chain& steps) {
  return {
      apply(mask, chain),
      apply(fixed, steps),
      apply(maskctl::Mask(mask), steps),
      apply(mask, {maskctl::step::Causal()}),
      apply(mask, steps[0]),
      apply(mask, maskctl::step::Causal()),
      maskctl::apply(mask, chain),
      maskctl::apply(fixed, steps),
      maskctl::apply(mask, std::span<const maskctl::Step>(steps)),
      maskctl::apply(std::move(mask), std::move(chain)),
  };
}
}  // namespace without_using

namespace with_both {
using namespace maskctl;  // NOLINT
using namespace std;      // NOLINT: std::apply is found for every argument

Masks spelled(Mask mask, const Mask& fixed, Chain chain, const Chain& steps) {
  Step step = steps[0];
  return {
      apply(mask, chain),  apply(fixed, steps),         apply(mask, step),       apply(fixed, step),
      apply(mask, {step}), apply(mask, step::Causal()), apply(mask, Step(step)),
  };
}
int sum() {
  return apply([](int a, int b) { return a + b; }, tuple(1, 2));
}
}  // namespace with_both

}  // namespace

namespace maskctl {
namespace {

TEST_CASE("apply: every way to call it applies the steps, and std::apply can be called too") {
  const Mask open = full_mask(1, 1, 5, 5);
  const Chain steps = {step::Causal()};
  const Mask causal = maskctl::apply(open, steps[0]);
  REQUIRE(causal.count() == 15);
  const auto spelled = GENERATE(with_using::spelled, without_using::spelled, with_both::spelled);
  for (const Mask& mask : spelled(open, open, steps, steps)) {
    CHECK(differing_cells(mask, causal) == 0);
  }
  CHECK(with_both::sum() == 3);
}

TEST_CASE("apply: steps are applied in order") {
  const Mask open = full_mask(1, 1, 5, 5);
  CHECK(apply(open, {step::Causal(), step::Window{.left = 0}}).count() == 5);
  CHECK(apply(open, std::vector<Step>()).count() == 25);
}

}  // namespace
}  // namespace maskctl
