// Transforms as data: a step is one rule with its arguments; a chain is a list of steps.
#pragma once

#include <any>
#include <concepts>
#include <initializer_list>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "maskctl/mask/mask.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl {

/// One rule with its arguments (row.h), for example `Step(step::Window{.left = 127})`.
class Step {
 public:
  template <step::Rule Rule>
  Step(Rule rule)  // NOLINT: a rule is a step
      : row_(&step::row_of<Rule>()), rule_(std::move(rule)) {}

  /// The table entry of the rule (rule.h, private), for code that treats all rules alike.
  const RuleInfo& row() const { return *row_; }

  template <step::Rule Rule>
  bool is() const {
    return get_if<Rule>() != nullptr;
  }
  /// The rule of the step if it is of type Rule, else null.
  template <step::Rule Rule>
  const Rule* get_if() const {
    return std::any_cast<Rule>(&rule_);
  }
  template <step::Rule Rule>
  Rule* get_if() {
    return std::any_cast<Rule>(&rule_);
  }
  /// The rule of the step. Throws std::bad_any_cast if it is not of type Rule.
  template <step::Rule Rule>
  const Rule& as() const {
    return std::any_cast<const Rule&>(rule_);
  }
  template <step::Rule Rule>
  Rule& as() {
    return std::any_cast<Rule&>(rule_);
  }

  friend bool operator==(const Step& a, const Step& b);

 private:
  const RuleInfo* row_;
  std::any rule_;
};

/// Calls f with the rule of the step if it is one of `Rules`; returns false for other steps.
template <step::Rule... Rules, typename F>
bool visit_rule(const Step& step, const F& f) {
  const auto call = [&f](const auto* rule) {
    if (rule) f(*rule);
    return rule != nullptr;
  };
  return (call(step.get_if<Rules>()) || ...);
}

/// Applies one step, or the steps of a chain in order. Errors name the rule and what does not fit.
/// Throws Error(kShape, kInvalidArgument).
Mask apply(const Mask& mask, const Step& step);
Mask apply(Mask mask, std::span<const Step> chain);
inline Mask apply(Mask mask, std::initializer_list<Step> chain) {
  return maskctl::apply(std::move(mask), std::span<const Step>(chain.begin(), chain.size()));
}

template <typename M, typename T>
concept MaskAndStep =
    std::same_as<std::remove_cvref_t<M>, Mask> && std::convertible_to<const T&, Step>;
/// A mask and a Chain, or what else converts to a span of steps.
template <typename M, typename T>
concept MaskAndChain = std::same_as<std::remove_cvref_t<M>, Mask> &&
    std::convertible_to<const T&, std::span<const Step>>;

// A call of apply() without `maskctl::` finds std::apply too, since a Chain is a std::vector. These
// two take the same arguments and are more constrained, so they are chosen.
template <typename M, typename T>
requires MaskAndStep<M, T> Mask apply(M&& mask, T&& step) {
  const Mask& before = mask;
  const Step& one = step;
  return maskctl::apply(before, one);
}
template <typename M, typename T>
requires MaskAndChain<M, T> Mask apply(M&& mask, T&& chain) {
  const std::span<const Step> steps(chain);
  return maskctl::apply(Mask(std::forward<M>(mask)), steps);
}

}  // namespace maskctl
