// The ways to merge partial results of attention, right and wrong, as rows of tables; private to
// verify.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "maskctl/base/index.h"

namespace maskctl::attention {

/// The lse of each part in one row, as natural logarithms; -inf: the part has no keys.
using RowLses = std::span<const double>;

/// The rows whose lse a merge reads or writes in the place of a row's own.
enum class LseRows : std::uint8_t { kOwn, kReadAsBth, kWrittenAsBth };

/// A way to weigh the parts.
struct WeightRule {
  std::string text;
  std::function<void(RowLses lses, std::span<double> weights)> weigh;
  LseRows rows = LseRows::kOwn;
  /// Whether the rule differs from the right merge only in rows that hardly any call has.
  bool seldom_seen = false;
};

/// A way to compute the merged lse, as a number to the base of the call.
struct LseRule {
  std::string text;
  std::function<double(RowLses lses)> lse;
  LseRows rows = LseRows::kOwn;
  bool seldom_seen = false;
};

/// What a merge makes of parts without keys.
struct EmptyRule {
  std::string text;
  bool if_none = false;         // where no part has keys, out is NaN, or the lse is `lse`
  bool multiplies = false;      // multiplies the output of an empty part, which may be NaN, by 0
  bool takes_infinity = false;  // computes with an lse of +inf: out is NaN, the lse is `lse`
  double lse = 0;
};

/// The first row of each table is the right one.
std::vector<WeightRule> weight_rules(Index parts, bool base_2);
std::vector<LseRule> lse_rules(Index parts, bool base_2);
std::vector<EmptyRule> empty_rules_of_out();
std::vector<EmptyRule> empty_rules_of_lse();

}  // namespace maskctl::attention
