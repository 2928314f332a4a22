// What makes a type a rule: the table entry that its header declares.
#pragma once

#include <concepts>
#include <vector>

namespace maskctl {

struct RuleInfo;  // rule.h
class Step;       // step.h
using Chain = std::vector<Step>;

namespace step {

/// The struct of a rule's arguments, such as Causal. Beside it stands `const RuleInfo& row(const
/// Causal*)`, which the rule's file defines.
template <typename T>
concept Rule = requires(const T* rule) {
  { row(rule) } -> std::same_as<const RuleInfo&>;
};

/// The table entry of a rule.
template <Rule T>
const RuleInfo& row_of() {
  return row(static_cast<const T*>(nullptr));
}

}  // namespace step
}  // namespace maskctl
