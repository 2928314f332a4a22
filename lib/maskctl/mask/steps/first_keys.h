// prefix and sinks: open the first keys for every query.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Opens keys [0, n) for every query, as a shared prefix (prefix-LM) or as attention sinks.
struct Prefix {
  Index n = 0;
  NamedArray each = {};  // [B], one per batch, replaces `n` unless empty
  friend bool operator==(const Prefix&, const Prefix&) = default;
};
const RuleInfo& row(const Prefix*);
struct Sinks {
  Index n = 0;
  NamedArray each = {};
  friend bool operator==(const Sinks&, const Sinks&) = default;
};
const RuleInfo& row(const Sinks*);

}  // namespace maskctl::step
