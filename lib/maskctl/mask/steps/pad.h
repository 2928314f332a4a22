// pad: closes padding, given flags or lengths.
#pragma once

#include "maskctl/mask/steps/named_array.h"
#include "maskctl/mask/steps/row.h"

namespace maskctl::step {

/// Keeps valid positions. `valid` is [S] or [B,S] flags if bool or 2-D; otherwise it is [B] lengths
/// of the valid part at the start (right padding) or the end (left).
struct Pad {
  NamedArray valid = {};
  bool is_lengths = false;
  bool left = false;
  bool both = false;  // queries must be valid too
  friend bool operator==(const Pad&, const Pad&) = default;
};
const RuleInfo& row(const Pad*);

}  // namespace maskctl::step
