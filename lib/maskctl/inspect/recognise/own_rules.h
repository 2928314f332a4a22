// Documents of which each has a rule of its own; private to inspect.
#pragma once

#include <optional>
#include <vector>

#include "maskctl/mask/plane.h"
#include "maskctl/mask/steps/step.h"

namespace maskctl::recognition {

/// A document in which each token sees those before it, and the first `prefix` ones see each other:
/// 1 if it is causal, `length` if all see all.
struct OwnRule {
  Index length = 0, prefix = 0;

  bool is_causal() const { return prefix == 1; }
  bool is_full() const { return prefix == length; }
};

/// The rule of a square plane; nothing if it has another.
std::optional<OwnRule> rule_of(const PlanePtr& plane);

/// The documents of a plane, each with its rule; empty for other planes, and where one rule is that
/// of all: all are causal, all see all, or all have one prefix.
std::vector<OwnRule> documents_with_rules(const PlanePtr& plane);

/// The chain of documents_with_rules(): a prefix per document, or causal for some of them.
std::optional<Chain> chain_of_own_rules(const PlanePtr& plane);

}  // namespace maskctl::recognition
